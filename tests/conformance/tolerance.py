# SPDX-License-Identifier: Apache-2.0
"""Whether a result is right: benchdnn's rules of tolerance.

An element passes if any rule accepts it: it is equal when rounded to the type; it is tiny; its
relative (for tiny numbers absolute) difference is within the driver's threshold; or an attribute
allows the difference. Source: benchdnn's documentation and the thresholds of its drivers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from sycl_dnn.tools.cases import storage
from sycl_dnn.tools.cases.call import Call

_TINY = 1e-5


@dataclass(frozen=True)
class Rule:
    """How accurate a driver's result must be.

    threshold : for the difference relative to the expected value, or absolute if that is tiny
    zeros : percentage of zeros above which a comparison says nothing
    absolute : smaller differences are accepted
    norm : a small relative L2 norm of all differences is also accepted
    nan_ok : a NaN may replace an expected number, and a number an expected NaN
    """

    threshold: float = 0.0
    zeros: float = 30.0
    absolute: float = 0.0
    norm: bool = False
    nan_ok: bool = False


@dataclass(frozen=True)
class Verdict:
    """The result of one comparison; ``problem`` is empty if it passed."""

    problem: str = ""
    trusted: bool = True


def _attribute_slack(call: Call, dtype: str, want: np.ndarray, diff: np.ndarray, rel: np.ndarray):
    """Mask of the elements that rules about attributes accept."""
    accepted = np.zeros(want.shape, dtype=bool)
    eps = storage.epsilon(dtype)
    kinds = {op.kind for op in call.attr.post_ops}
    algorithms = {op.algorithm for op in call.attr.post_ops}
    if "eltwise" in kinds or call.driver == "eltwise":
        accepted |= (diff <= max(eps, 2e-5)) | (rel <= max(eps, 8e-6))
    if any(s.arg == "dst" for s in call.attr.scales):
        accepted |= rel <= max(eps, 1e-5)
    if algorithms & {"binary_add", "binary_sub", "binary_mul", "binary_div"} or "sum" in kinds:
        limit = {"f16": 5e-3, "f32": 4e-6}.get(dtype, 0.0)
        accepted |= (diff <= limit) | (rel <= (1e-5 if dtype == "f32" else 0.0))
    if kinds and dtype in ("bf16", "f16") and len(call.attr.post_ops) > 1:
        accepted |= rel <= eps
    return accepted


def _stochastic(call: Call, name: str) -> bool:
    return any(arg == name and mode == "stochastic" for arg, mode in call.attr.rounding_mode)


def _near_half(want: np.ndarray, margin: float) -> np.ndarray:
    """Elements so close to a half that f32 may have rounded them in the other direction."""
    return np.abs(np.abs(want - np.floor(want)) - 0.5) <= 9e-6 + margin + 4e-7 * np.abs(want)


def _accept(call: Call, name: str, actual: np.ndarray, want: np.ndarray, dtype: str, rule: Rule):
    exact = storage.rounded(want, dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        diff = np.abs(actual - exact)
        rel = diff / np.abs(exact)
        score = np.where(np.abs(exact) > _TINY, rel, diff)
        good = (actual == exact) | (np.isnan(actual) & np.isnan(exact))
        good |= (np.abs(exact) <= _TINY) & (diff < storage.epsilon("f32"))
        good |= score <= rule.threshold
        good |= diff <= rule.absolute
    if dtype in storage.INTEGERS:
        # The result for a NaN is undefined.
        good |= np.isnan(want)
        good |= _near_half(want, rule.absolute) & (diff <= 1)
        if dtype == "s32":
            # The largest f32 below 2**31 is 127 less.
            good |= (np.abs(exact) > 2.0**31 - 256) & (diff <= 256)
    good |= _attribute_slack(call, dtype, want, diff, rel)
    if rule.nan_ok:
        good |= np.isnan(actual) | np.isnan(exact)
    if _stochastic(call, name):
        good |= rel <= 2 * storage.epsilon(dtype)
    score = np.where((actual == exact) | (np.isnan(actual) & good), 0.0, score)
    return good, np.where(np.isnan(score), np.inf, score), exact


def _norm_passes(actual: np.ndarray, exact: np.ndarray, rule: Rule) -> bool:
    if not rule.norm or not np.isfinite(actual).all():
        return False
    size = float(np.linalg.norm(exact.ravel()))
    limit = max(rule.threshold, 1e-7) * max(size, _TINY)
    return float(np.linalg.norm((actual - exact).ravel())) <= limit


def check(
    call: Call, name: str, actual: np.ndarray, want: np.ndarray, rule: Rule, dtype: str
) -> Verdict:
    """Compare one output with its reference.

    Parameters
    ----------
    dtype : of the output; a fused convolution may write a different one than its case names
    got : what the device wrote, float64
    want : reference, not rounded
    """
    want = want.reshape(actual.shape)
    good, score, exact = _accept(call, name, actual, want, dtype, rule)
    if not good.all() and not _norm_passes(actual, exact, rule):
        worst = np.unravel_index(np.argmax(np.where(good, -1.0, score)), score.shape)
        at = ",".join(map(str, worst))
        text = (
            f"{int((~good).sum())} of {good.size} wrong, most at ({at}): "
            f"got {actual[worst]:.9g}, expected {exact[worst]:.9g}"
        )
        return Verdict(text)
    zeros = 100.0 * np.count_nonzero(actual == 0) / max(actual.size, 1)
    # Without any input elements the result must be zeros.
    empty = any(0 in t.dims for t in call.tensors.values())
    all_dropped = call.attr.dropout is not None and call.attr.dropout.p == 1
    trusted = bool(actual.size < 10 or zeros <= rule.zeros or empty or all_dropped)
    return Verdict(trusted=trusted)


def amplification(call: Call) -> float:
    """Return the factor by which common scales multiply a result, and so its error."""
    factor = 1.0
    for scale in call.attr.scales:
        value = 2.0 if scale.value is None else scale.value
        factor *= max(value, 1.0) if scale.arg != "dst" else max(1 / value, 1.0)
    for op in call.attr.post_ops:
        factor *= max(abs(op.alpha), 1.0) if op.kind == "eltwise" else 4.0
    return factor


def log2_ceil(number: int) -> int:
    """Return the logarithm, at least 1."""
    return max(1, ceil(np.log2(max(number, 1))))
