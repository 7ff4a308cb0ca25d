# SPDX-License-Identifier: BSD-3-Clause
"""Locks of objects: one for all threads, none in a copy, free in a forked process."""

import copy
import gc
import multiprocessing
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from skprivate.utils import _private_fit
from skprivate.utils._private_fit import lock_of, one_thread_at_a_time


class Slow:
    """Reads and writes its state in two steps, between which others may come."""

    def __init__(self):
        self.count, self.inside = 0, threading.Event()

    @one_thread_at_a_time
    def add(self):
        count = self.count
        # The second thread, if it is let in, sets it.
        self.inside.wait(0.05)
        self.inside.set()
        self.count = count + 1

    @one_thread_at_a_time
    def add_twice(self):
        self.add()
        self.add()


class Plain:
    pass


def test_threads_wait_for_each_other():
    slow = Slow()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: slow.add_twice(), range(2)))
    assert slow.count == 4


def test_threads_get_one_lock():
    target, barrier = Plain(), threading.Barrier(4)

    def ask(_):
        barrier.wait()
        return lock_of(target)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(map(id, pool.map(ask, range(4))))) == 1


def test_a_copy_has_a_lock_of_its_own():
    target = Plain()
    lock = lock_of(target)
    for other in (copy.copy(target), copy.deepcopy(target), pickle.loads(pickle.dumps(target))):
        assert lock_of(other) is not lock
        assert vars(other) == {}


def test_locks_go_with_their_objects():
    gc.collect()
    before = len(_private_fit._LOCKS)
    target = Plain()
    with lock_of(target):
        assert len(_private_fit._LOCKS) == before + 1
    del target
    gc.collect()
    assert len(_private_fit._LOCKS) == before


def take(target):
    with lock_of(target):
        pass


@pytest.mark.process
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_fork_does_not_wait_for_a_thread_that_it_does_not_have():
    target, held, leave = Plain(), threading.Event(), threading.Event()

    def hold():
        with lock_of(target):
            held.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = multiprocessing.get_context("fork").Process(target=take, args=(target,))
    child.start()
    child.join(20)
    code = child.exitcode
    child.kill()
    leave.set()
    thread.join()
    assert code == 0
