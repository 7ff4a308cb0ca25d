# SPDX-License-Identifier: BSD-3-Clause
"""The Bayes adversary: the exact posterior of the players' types given all broadcasts."""

import copy
from typing import Any

import numpy as np

from ..._typing import FloatArray
from ...games._broadcast_round import Dynamics, replay
from ...utils._public_module import public_module
from .inputs import check_observations
from .type_posteriors import BayesResult, type_posterior


@public_module("skprivate.audit")
class BayesAdversary:
    """Compute the posterior of the players' private vectors from the broadcasts of a run.

    Parameters
    ----------
    prior : TypePrior, JointPrior or TwoTypePrior
        What the adversary knows before: finitely many types.

    See Also
    --------
    GradientMatchingAdversary : An attack that knows no prior.
    skprivate.PrivateNashSolver : What this attacks.

    Notes
    -----
    Given the broadcasts o, a player's path depends on its own costs alone. With every type in turn for all
    players, the updates are replayed on o, which gives the estimates v that a player of that type would have
    had, and the log of its likelihood up to a constant, ``-sum_k |o_k - v_k|_1 / M_k``. The likelihood of a
    profile is the product over players. That is exact up to the grid of the noise, which is at least 2^-40
    times as fine as its scale.

    **Privacy**: this is a simulation by someone who may see the broadcasts; it reads the public part of the
    game and the prior, not the private vectors. No attack does better: `leakage`, of any broadcasts, is at
    most the guarantee ``solver.privacy_guarantee(prior)``, a `leakages` at most that of the individual view,
    and so is the log of the ratio of gains to blind gains of any adversary.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Pointwise maximal leakage", IEEE Transactions on Information
    Theory 2023.

    Examples
    --------
    >>> from skprivate import PrivateNashSolver, QuadraticAggregativeGame
    >>> from skprivate.audit import BayesAdversary
    >>> from skprivate.games import TypePrior
    >>> prior = TypePrior([-1.0, 1.0], [0.5, 0.5])
    >>> game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-1.0, 1.0, 1.0, -1.0], r_bounds=(-1, 1))
    >>> solver = PrivateNashSolver(max_iter=50, noise_scale=20.0, store="observations", random_state=0)
    >>> solver = solver.fit(game)
    >>> result = BayesAdversary(prior).run(game, solver)
    >>> result.leakage <= solver.privacy_guarantee(prior).epsilon
    True
    """

    def __init__(self, prior: Any) -> None:
        self.prior = prior

    def run(self, game: Any, solver: Any) -> BayesResult:
        """Compute the posterior given the broadcasts of one run.

        Parameters
        ----------
        game : QuadraticAggregativeGame or VaccinationGame
            The game that was played, of which r alone is private. Its r is not read.
        solver : PrivateNashSolver
            Fitted with ``store="observations"`` or "all".

        Returns
        -------
        result : BayesResult

        Raises
        ------
        TypeError, ValueError
            The prior has another kind or does not fit the game; the game keeps something else private; the
            solver stored no broadcasts, or a round had no noise.
        """
        posterior = type_posterior(self.prior, game.n_players)
        observations = check_observations(game, solver)
        if game.private != {"r"}:
            raise ValueError("the game must keep r alone private, of an affine pseudo-gradient.")
        if (solver.noise_scales_ == 0).any():
            raise ValueError("a round had no noise: its broadcasts have no likelihood.")
        self.prior.check(solver.mechanism_)
        likelihood = _log_likelihoods(game, solver, observations, posterior.types)
        return posterior.result(likelihood)


def _log_likelihoods(game: Any, solver: Any, observations: FloatArray, types: FloatArray) -> FloatArray:
    """Return log-likelihoods of shape (n_players, m), up to one constant per player."""
    model, out = solver.mechanism_, np.zeros(types.shape[:2])
    for j in range(types.shape[1]):
        trial = copy.copy(game)
        trial.r_ = np.ascontiguousarray(types[:, j])
        dynamics = Dynamics(trial, solver.mixing_, model.algorithm, model.clip_norm)
        paths = replay(dynamics, solver.start_, observations, solver.steps_, solver.consensus_steps_)
        for o, v, scale in zip(observations, paths, solver.noise_scales_, strict=True):
            out[:, j] -= np.abs(o - v).sum(axis=1) / scale
    # Of ratios alone something is asked: a constant keeps them from overflowing.
    return out - out.max(axis=1, keepdims=True)
