# SPDX-License-Identifier: BSD-3-Clause
"""Strict mode: set, scoped, inherited from the environment."""

import asyncio
import contextvars
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.base import clone

import skprivate
from skprivate._config import are_seeds_allowed_for


def test_context_restores_even_after_an_error():
    before = skprivate.get_config()
    inside = []

    @skprivate.config_context(strict=not before["strict"])
    def broken():
        inside.append(skprivate.get_config()["strict"])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert inside == [not before["strict"]]
    assert skprivate.get_config() == before


def test_none_changes_nothing():
    with skprivate.config_context(strict=True):
        skprivate.set_config(strict=None)
        assert skprivate.get_config() == {"strict": True, "allow_seeds": False}


def test_returned_config_is_a_copy():
    skprivate.get_config()["strict"] = "broken"
    assert skprivate.get_config()["strict"] in (True, False)


def test_set_config_in_a_block_lasts_to_its_end():
    with skprivate.config_context(strict=False):
        skprivate.set_config(strict=True)
        assert skprivate.get_config()["strict"]
    assert not skprivate.get_config()["strict"]


def test_overlapping_contexts_of_threads_do_not_undo_each_other():
    opened, closed, seen = threading.Event(), threading.Event(), []

    def other():
        with skprivate.config_context(strict=True):
            opened.set()
            closed.wait(10)
            seen.append(skprivate.get_config()["strict"])

    with skprivate.config_context(strict=False):
        thread = threading.Thread(target=other)
        thread.start()
        opened.wait(10)
        assert not skprivate.get_config()["strict"], "this thread's own context counts"
    assert skprivate.get_config()["strict"], "another thread relies on it"
    closed.set()
    thread.join()
    assert seen == [True]
    assert not skprivate.get_config()["strict"]


def test_threads_obey_the_context_of_the_one_that_feeds_them():
    with skprivate.config_context(strict=True), ThreadPoolExecutor(1) as pool:
        assert pool.submit(skprivate.get_config).result()["strict"]


def in_a_thread_that_inherits_the_context(function, *args, **kwargs):
    """Threads without the GIL inherit it by default, since Python 3.14; this one does everywhere."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, function, *args, **kwargs).result()


def test_a_thread_does_not_switch_off_the_context_that_it_inherits():
    with skprivate.config_context(strict=True):
        in_a_thread_that_inherits_the_context(skprivate.set_config, strict=False)
        assert skprivate.get_config()["strict"]


def test_a_thread_obeys_what_became_stricter_than_the_context_that_it_inherits():
    with skprivate.config_context(strict=True, allow_seeds=True):
        inherited = contextvars.copy_context()
        with skprivate.config_context(allow_seeds=False), ThreadPoolExecutor(1) as pool:
            found = pool.submit(inherited.run, skprivate.get_config).result()
    assert found == {"strict": True, "allow_seeds": False}


def test_only_booleans():
    with pytest.raises(TypeError, match="strict must be"):
        skprivate.set_config(strict="yes")


@pytest.mark.parametrize(
    ("value", "strict"),
    [("1", True), ("0", False), ("", False), ("off", False), ("NO", False), ("ture", True)],
)
def test_environment_variable(value, strict):
    code = "import skprivate; print(skprivate.get_config()['strict'])"
    environment = {**os.environ, "SKPRIVATE_STRICT": value}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == str(strict)


def test_seeds_are_allowed_by_a_context_and_by_all_that_are_strict():
    with skprivate.config_context(strict=True, allow_seeds=True), ThreadPoolExecutor(1) as pool:
        assert pool.submit(skprivate.get_config).result() == {"strict": True, "allow_seeds": True}
        with skprivate.config_context(allow_seeds=False):
            assert skprivate.get_config() == {"strict": True, "allow_seeds": False}
            assert not pool.submit(skprivate.get_config).result()["allow_seeds"]
        assert skprivate.get_config()["allow_seeds"]
    assert not skprivate.get_config()["allow_seeds"]
    with pytest.raises(TypeError, match="allow_seeds must be"):
        skprivate.set_config(allow_seeds="yes")


def test_seeds_are_refused_where_one_of_two_strict_blocks_refuses_them():
    entered, leave = threading.Event(), threading.Event()

    def refuse_seeds():
        with skprivate.config_context(strict=True, allow_seeds=False):
            entered.set()
            leave.wait(60)

    with skprivate.config_context(strict=True, allow_seeds=True), ThreadPoolExecutor(2) as pool:
        other = pool.submit(refuse_seeds)
        entered.wait(60)
        found = pool.submit(skprivate.get_config).result()
        leave.set()
        other.result()
    assert found == {"strict": True, "allow_seeds": False}


@pytest.mark.parametrize("seeds", [False, True])
def test_clones_of_what_was_pickled_in_strict_mode_are_strict(seeds):
    with skprivate.config_context(strict=True, allow_seeds=seeds):
        pickled = pickle.dumps(skprivate.BoundsScaler())
    copy = clone(clone(pickle.loads(pickled)))
    assert copy.is_strict()
    assert are_seeds_allowed_for(copy) == seeds


def test_overlapping_contexts_of_tasks_do_not_undo_each_other():
    inside = []

    async def run(strict, mine, other):
        with skprivate.config_context(strict=strict):
            mine.set()
            await other.wait()
            inside.append(skprivate.get_config()["strict"] is strict)

    async def main():
        first, second = asyncio.Event(), asyncio.Event()
        await asyncio.gather(run(True, first, second), run(False, second, first))

    before = skprivate.get_config()
    asyncio.run(main())
    assert inside == [True, True]
    assert skprivate.get_config() == before


@pytest.mark.parametrize("strict", [False, True])
def test_a_context_that_ends_inside_another_leaves_it_alone(strict):
    before = skprivate.get_config()
    outer = skprivate.config_context(strict=not strict)
    outer.__enter__()
    with skprivate.config_context(strict=strict):
        outer.__exit__(None, None, None)
        assert skprivate.get_config()["strict"] is strict
    assert skprivate.get_config() == before


def test_a_task_does_not_speak_for_the_one_that_started_it():
    async def simulate(opened, done):
        with skprivate.config_context(strict=False):
            opened.set()
            await done.wait()

    async def main():
        opened, done = asyncio.Event(), asyncio.Event()
        with skprivate.config_context(strict=True):
            task = asyncio.create_task(simulate(opened, done))
            await opened.wait()
            seen = await asyncio.to_thread(skprivate.get_config)
            done.set()
            await task
        return seen

    assert asyncio.run(main())["strict"]
