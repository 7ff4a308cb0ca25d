# SPDX-License-Identifier: BSD-3-Clause
"""Pointwise maximal leakage of channels, of local privacy, of Laplace noise and of whole runs."""

import math
import sys
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..._typing import FloatArray
from ...utils import check_epsilon, check_positive, check_probability
from .channels import check_channel, check_prior, describe_prior, envelope, minus_log, on_support
from .laplace import uniform_log_mean, worst_log_mean, worst_log_mean_of

Kind = Literal["almost_sure", "envelope", "average"]

_NO_TAIL = (
    "kind 'tail', the smallest eps with P(leakage > eps) <= delta, is not closed under post-processing: "
    "merging outputs can raise that probability. Use kind='envelope', which holds after any post-processing."
)
_MOST_VALUES = 10**6  # of a discrete prior: a table of 8 MB


def pointwise_maximal_leakage(channel: ArrayLike, prior: ArrayLike) -> FloatArray:
    """Return what every output of a finite channel leaks about its input.

    The leakage of y is ``log max_x P(y | x) / P(y)`` over the inputs x of positive probability: y raises the
    best success probability of any guess about any function of x, random ones included, by at most the factor
    e to this.

    Parameters
    ----------
    channel : array-like of shape (n_inputs, n_outputs)
        P(y | x); every row sums to 1.
    prior : array-like of shape (n_inputs,)
        Probabilities of the inputs; sums to 1.

    Returns
    -------
    leakage : ndarray of shape (n_outputs,)
        In nats, from 0 to ``max_information(prior)``; nan where the output has probability 0.

    Raises
    ------
    TypeError, ValueError
        Another shape, a negative or infinite entry, or a sum that is not 1 within 1e-9.

    See Also
    --------
    pml_guarantee : One number for all outputs.
    joint_channel : Several releases about one secret; their leakages do not add up.

    Notes
    -----
    **Privacy**: a function of public things alone. It holds for adversaries with this prior; under another
    prior see `PrivacyGuarantee.under_prior`.

    Proof: :doc:`/proofs/leakage`.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, Pointwise maximal leakage, IEEE Transactions on Information Theory
    2023.

    Examples
    --------
    >>> from skprivate.accounting import pointwise_maximal_leakage
    >>> pointwise_maximal_leakage([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]], [0.5, 0.5]).round(3)
    array([0.47, 0.47,  nan])
    """
    rows, probabilities = on_support(channel, prior)
    largest = rows.max(axis=0)
    # Relative to the largest: what is summed cannot underflow.
    relative = rows / np.where(largest > 0, largest, 1.0)
    leakage = minus_log(probabilities @ relative, probabilities @ (1 - relative))
    return np.where(largest > 0, leakage, np.nan)


def pml_guarantee(
    channel: ArrayLike, prior: ArrayLike, kind: Kind = "almost_sure", delta: float | Fraction | None = None
) -> float:
    """Return one number for the pointwise maximal leakage of a finite channel.

    Parameters
    ----------
    channel : array-like of shape (n_inputs, n_outputs)
        P(y | x); every row sums to 1.
    prior : array-like of shape (n_inputs,)
        Probabilities of the inputs; sums to 1.
    kind : {"almost_sure", "envelope", "average"}, default="almost_sure"
        "almost_sure": the largest leakage of an output of positive probability. "envelope": the smallest eps
        such that after any post-processing of the output, the leakage exceeds eps with probability delta at
        most. "average": the maximal leakage, ``log sum_y max_x P(y | x)`` over the possible x: the logarithm
        of the mean of e to the leakage.
    delta : float, Fraction or None, default=None
        In (0, 1), for "envelope" alone.

    Returns
    -------
    eps : float
        In nats. "envelope": at least the true one, and about 1e-10 above it.

    Raises
    ------
    TypeError, ValueError
        As `pointwise_maximal_leakage`; or an unknown kind ("tail" among them: the smallest eps with
        P(leakage > eps) <= delta does not survive post-processing), or a delta that is missing, out of range
        or not asked for.

    Notes
    -----
    "almost_sure" is closed under post-processing: the leakage of merged outputs is at most the largest of
    theirs. "envelope" is the closure of the tail. Proof that it is computed: let t = e^eps and give every
    output z of a post-processing that leaks more than eps to an x with P(z | x) > t P(z). With w_x(y) the sum
    of P(z | y) over the z of x, sum_x w_x(y) <= 1, and ``sum_y w_x(y) (P(y | x) - t P(y)) >= 0`` for every x,
    and the bad mass is ``sum w_x(y) P(y)``: at most the value V(t) of that linear programme. Conversely, a
    feasible w for a larger t is a post-processing whose bad mass at eps is its value. So the smallest eps is
    the infimum of those with V <= delta, found by bisection; what is returned is proven by a solution of the
    dual programme, whatever the solver's tolerances.

    **Privacy**: a function of public things alone. The numbers do not add up over releases about one secret:
    see `joint_channel`.

    References
    ----------
    Information leakage envelopes, arXiv 2605.21185. Issa, Wagner, Kamath, An operational approach to
    information leakage, IEEE Transactions on Information Theory 2020, for the average.

    Examples
    --------
    >>> from skprivate.accounting import pml_guarantee
    >>> channel, prior = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], [0.5, 0.5]
    >>> round(pml_guarantee(channel, prior), 3)
    0.575
    >>> round(pml_guarantee(channel, prior, "average"), 3)
    0.531
    >>> round(pml_guarantee(channel, prior, "envelope", delta=0.95), 3)
    0.552
    """
    if kind not in get_args(Kind):
        if str(kind) == "tail":
            raise ValueError(_NO_TAIL)
        raise ValueError(f"kind must be one of {', '.join(map(repr, get_args(Kind)))}.")
    if (kind == "envelope") != (delta is not None):
        raise ValueError("delta belongs to kind='envelope', which needs one.")
    if kind == "average":
        return maximal_leakage(channel, prior)
    if kind == "almost_sure":
        return float(np.nanmax(pointwise_maximal_leakage(channel, prior)))
    level = _open_probability(delta, "delta")
    rows, probabilities = on_support(channel, prior)
    masses = probabilities @ rows
    seen = masses > 0
    return envelope(rows[:, seen] / masses[seen], masses[seen], level)


def maximal_leakage(channel: ArrayLike, prior: ArrayLike | None = None) -> float:
    """Return the maximal leakage of a finite channel, ``log sum_y max_x P(y | x)``.

    Parameters
    ----------
    channel : array-like of shape (n_inputs, n_outputs)
        P(y | x); every row sums to 1.
    prior : array-like of shape (n_inputs,), default=None
        Probabilities of the inputs, of which only it matters which are positive. None: all of them.

    Returns
    -------
    leakage : float
        In nats: the average kind of `pml_guarantee`.

    Raises
    ------
    TypeError, ValueError
        As `pointwise_maximal_leakage`.

    Notes
    -----
    **Privacy**: an average over the outputs. A rare output may leak far more; `pml_guarantee` bounds each.

    Examples
    --------
    >>> from skprivate.accounting import maximal_leakage
    >>> round(maximal_leakage([[0.8, 0.2], [0.2, 0.8]]), 3)
    0.47
    """
    rows = check_channel(channel) if prior is None else on_support(channel, prior)[0]
    # Rows sum to 1: what the others add to the first keeps the digits of a leakage near 0.
    return float(np.log1p((rows - rows[0]).max(axis=0).sum()))


def max_information(prior: ArrayLike) -> float:
    """Return what any release can leak about a secret with this prior at most: ``log 1 / p_min``.

    Parameters
    ----------
    prior : array-like of shape (n_inputs,)
        Probabilities; p_min is the smallest positive one.

    Returns
    -------
    eps : float
        In nats: the pointwise maximal leakage of telling the secret.

    Raises
    ------
    TypeError, ValueError
        The prior does not sum to 1, or is not one of finite probabilities.

    Notes
    -----
    **Privacy**: a bound for every mechanism, private or not.

    Examples
    --------
    >>> from skprivate.accounting import max_information
    >>> round(max_information([0.7, 0.3, 0.0]), 3)
    1.204
    """
    probabilities = check_prior(prior)
    return max(0.0, -math.log(probabilities[probabilities > 0].min()))


def pml_from_ldp(epsilon: float | Fraction, p_min: float | Fraction) -> float:
    """Return the pointwise maximal leakage that local differential privacy allows at most.

    Parameters
    ----------
    epsilon : float or Fraction
        Of local differential privacy, at least 0; may be infinite. For several reports about one secret,
        drawn independently given it: the sum of their epsilons.
    p_min : float or Fraction
        Smallest positive probability of the prior, in (0, 1].

    Returns
    -------
    eps : float
        ``log(e^epsilon / (1 + p_min (e^epsilon - 1)))`` in nats, at most ``epsilon`` and ``log 1 / p_min``.
        Randomised response attains it.

    Raises
    ------
    TypeError, ValueError
        A number is out of its range.

    Notes
    -----
    Proof: let x attain the largest P(y | x) = a. Then P(y) >= p(x) a + (1 - p(x)) a e^-epsilon, which is
    least for p(x) = p_min; if no other x is possible, p_min = 1.

    **Privacy**: a bound for every mechanism of that epsilon, and every prior of that smallest probability.

    Proof: :doc:`/proofs/leakage`.

    Examples
    --------
    >>> from skprivate.accounting import pml_from_ldp
    >>> [round(pml_from_ldp(epsilon, 0.3), 3) for epsilon in (0.5, 1, 8)]
    [0.322, 0.584, 1.203]
    """
    given: Any = epsilon
    is_limit = not isinstance(given, bool) and np.ndim(given) == 0 and given in (0, math.inf)
    nats = float(given if is_limit else check_epsilon(given))
    least = check_share(p_min, "p_min")
    others = float(1 - least)
    mean = float(least) + others * math.exp(-nats)
    # Both underflow for probabilities below all floats; epsilon is a bound too.
    return float(minus_log(mean, -others * math.expm1(-nats))) if mean else nats


def pml_laplace(scale: float | Fraction, prior: Any) -> float:
    """Return the pointwise maximal leakage, almost surely, of a number with Laplace noise.

    Parameters
    ----------
    scale : float or Fraction
        Of the noise, above 0, in the units of the number; its variance is ``2 scale^2``.
    prior : tuple or frozen distribution of scipy.stats
        Of the number X: ``(values, probabilities)``, two arrays of one length; ``(lower, upper)``, two
        numbers: uniform in between; or a frozen distribution, continuous, or discrete on at most 10^6
        integers.

    Returns
    -------
    eps : float
        In nats. Exact for values and for the uniform prior; for another continuous one at most 1e-9 above
        the truth (relative to it, where it exceeds 1), for a scale of at least about 10^-4 of the support;
        infinite for an unbounded support.

    Raises
    ------
    TypeError, ValueError
        The prior is none of these, does not sum to 1, or the scale is not positive, or so small that floats
        cannot hold 1 / scale.

    Notes
    -----
    The leakage of y is ``-log E exp((|y - a| - |y - X|) / scale)`` for the possible value a nearest to y.
    ``|y - X| <= |y - a| + |a - X|``, with equality at y = a, so the largest is that of
    ``-log E exp(-|X - a| / scale)`` over the possible a. For a log-concave density it is at an end of the
    support; nothing of the kind is assumed here: for Beta(.2, .2) it is inside, and the ends alone would give
    less than half of it. All a are searched, with a bound on what lies between those tried. In a gap of the
    density, where X cannot be, they are searched too: an upper bound then.

    **Privacy**: for noise that is exactly Laplace; on a grid (`DiscreteLaplaceMechanism`) it is the same for
    values on the grid.

    Proof: :doc:`/proofs/leakage`.

    Examples
    --------
    >>> from scipy import stats
    >>> from skprivate.accounting import pml_laplace
    >>> round(pml_laplace(0.5, ([0, 1], [0.7, 0.3])), 3)
    0.93
    >>> round(pml_laplace(0.5, (0, 1)), 3)  # uniform
    0.839
    >>> round(pml_laplace(0.1, stats.beta(0.2, 0.2)), 3), round(pml_laplace(0.1, stats.beta(5, 5)), 3)
    (2.626, 3.947)
    """
    inverse = 1 / check_positive(scale, "scale")
    if inverse > Fraction(sys.float_info.max):
        raise ValueError("scale is too small: floats cannot hold 1 / scale.")
    rate = float(inverse)
    if hasattr(prior, "ppf"):
        if not np.isfinite(prior.support()).all():
            return math.inf
        return worst_log_mean(prior, rate)[0] if hasattr(prior, "pdf") else _discrete(prior, rate)
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise TypeError("prior must be (values, probabilities), (lower, upper), or a frozen distribution.")
    first, second = (np.asarray(part, dtype=np.float64) for part in prior)
    if not np.isfinite(first).all() or first.ndim > 1 or first.shape != second.shape:
        raise ValueError("prior must hold two finite numbers, or two one-dimensional arrays of one length.")
    if first.ndim:
        return worst_log_mean_of(first, check_prior(prior[1]), rate)[0]
    if not first < second < math.inf:
        raise ValueError("prior: lower must be below upper, and both finite.")
    return uniform_log_mean(rate * float(second - first))


def prior_ratio(counts: ArrayLike, confidence: float | Fraction) -> float:
    """Return how much less than estimated a prior may be, anywhere, with a given confidence.

    With n independent draws from an unknown prior P', of which ``counts[x]`` were x, let P be the observed
    frequencies. With this confidence P'(x) >= rho P(x) for all x; the leakage of P plus ``log 1 / rho`` then
    bounds the leakage under P' (`PrivacyGuarantee.under_prior`).

    Parameters
    ----------
    counts : array-like of int of shape (k,)
        How often every value was seen, all at least 1. P' must be known to have no other value: merge those
        that were never seen with others, and leave out what is impossible.
    confidence : float or Fraction
        In (0, 1).

    Returns
    -------
    rho : float
        In (0, 1].

    Raises
    ------
    TypeError, ValueError
        Counts are not integers of at least 1, or the confidence is out of range.

    Notes
    -----
    Each P'(x) exceeds its one-sided Clopper-Pearson bound L(x) at level (1 - confidence) / k but with that
    probability; so all do but with probability 1 - confidence, whatever the dependence between counts. rho is
    the least L(x) / P(x).

    **Privacy**: counts of private rows are not public: take them from public rows, or pay for them.

    Proof: :doc:`/proofs/leakage`.

    References
    ----------
    Clopper, Pearson, Biometrika 1934. Estimated priors: arXiv 2509.22428.

    Examples
    --------
    >>> from skprivate.accounting import PrivacyGuarantee, pml_from_ldp, prior_ratio
    >>> counts = [7000, 3000]
    >>> guarantee = PrivacyGuarantee(
    ...     epsilon=pml_from_ldp(1.0, 0.3), status="upper_bound", criterion="pml", subject="your report",
    ...     prior="the frequencies of 10,000 public rows",
    ... )
    >>> print(guarantee.under_prior(prior_ratio(counts, 0.99), confidence=0.99))
    Guarantee: pointwise maximal leakage of your report
      epsilon: 0.624241 nats
      status: estimate: right with confidence 0.99
      prior: at least 0.961 times this one, within its support: the frequencies of 10,000 public rows
    """
    from scipy.special import betaincinv

    seen = np.asarray(counts)
    if seen.ndim != 1 or seen.dtype.kind not in "iu" or not seen.size:
        raise TypeError("counts must be a one-dimensional array of integers.")
    if (seen < 1).any():
        raise ValueError(
            "nothing bounds the probability of a value that was never seen: merge it with others, or leave "
            "it out if it is impossible."
        )
    error = 1 - _open_probability(confidence, "confidence")
    if len(seen) == 1:
        return 1.0
    total = float(seen.sum())
    least = betaincinv(seen.astype(np.float64), total - seen + 1, error / len(seen))
    # The inverse is accurate to about 1e-14; rounded down.
    return float((least * total / seen).min() * (1 - 1e-12))


def _open_probability(value: Any, name: str) -> float:
    number = check_probability(value, name)
    if not number:
        raise ValueError(f"{name} must be above 0 and below 1.")
    return float(number)


def check_share(value: Any, name: str) -> Fraction:
    """Return a number in (0, 1] as the Fraction equal to it."""
    number = check_positive(value, name)
    if number > 1:
        raise ValueError(f"{name} must be above 0 and at most 1.")
    return number


def _discrete(distribution: Any, rate: float) -> float:
    """`pml_laplace` of a frozen distribution on integers."""
    lower, upper = distribution.support()
    if upper - lower >= _MOST_VALUES:
        raise ValueError("prior: a discrete distribution must have at most 10^6 values.")
    values = np.arange(lower, upper + 1, dtype=np.float64)
    return worst_log_mean_of(values, check_prior(distribution.pmf(values)), rate)[0]


# What a run of some epsilon leaks about one unit, under one prior or all with a floor.

_ASSUMED = {
    "local": "",
    "replace-one": " (and for whom the units are independent)",
    "add-remove": " (and for whom the units are independent)",
    "joint": " (and for whom the units are independent)",
    "label": " over labels (and for whom the units' labels are independent given the features)",
}
# What the replacement of one unit's value costs, in epsilons.
_STEPS = {"local": 1, "replace-one": 1, "add-remove": 2, "label": 1, "joint": 1}
# A player's broadcasts depend on those of others.
_PLAYERS = " (and for whom the players are independent)"


def leakage_of_run(run: Any, prior: ArrayLike | Fraction) -> dict[str, Any]:
    """Return the bound for every mechanism of a run's epsilon, and a prior or all priors with this floor.

    Parameters
    ----------
    run : PrivacySpent
    prior : array-like of shape (n_values,), float or Fraction

    Returns
    -------
    fields : dict
        Of a `PrivacyGuarantee`: the bound in nats, what leaks, under which prior, and the method.
    """
    if isinstance(prior, Fraction) or np.ndim(prior) == 0:
        p_min = check_share(prior, "prior")
        known = f"any that gives every possible value a probability of at least {float(p_min)!r}"
        largest = pml_from_ldp(math.inf, p_min)
    else:
        probabilities = check_prior(prior)
        p_min = check_share(probabilities[probabilities > 0].min(), "prior")
        known, largest = describe_prior(probabilities), max_information(probabilities)
    bound, method = _bound_of_run(run, p_min, largest)
    assumed = _PLAYERS if run.unit == "player" else _ASSUMED[run.relation]
    subject = "your report" if run.relation == "local" else "this release"
    if run.unit == "player":
        subject = "this run"
    return {"epsilon": bound, "subject": subject, "prior": known + assumed, "method": method}


def _bound_of_run(run: Any, p_min: Fraction, largest: float) -> tuple[float, str]:
    if not run.private:
        return largest, "log 1 / p_min, the most that the prior allows: the run is not private"
    if run.delta:
        return largest, "log 1 / p_min, the most that the prior allows: delta is above 0"
    steps = _STEPS[run.relation]
    epsilon = "epsilon" if steps == 1 else f"{steps} epsilon"
    bound = pml_from_ldp(steps * run.epsilon, p_min)
    return min(bound, largest), f"every mechanism of this epsilon: c({epsilon}, p_min)"
