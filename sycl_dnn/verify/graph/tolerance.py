# SPDX-License-Identifier: Apache-2.0
"""How close the results of a fused chain have to be.

The chain is computed several times with a random rounding error after each operation. How far
these results spread says what the errors of the operations come to at the end, whatever happens
in between: cancellation, exponentials, values near the edge of a quantisation step.
"""

from __future__ import annotations

import numpy as np

from sycl_dnn.verify import encoding
from sycl_dnn.verify.compare import Verdict

#: Chains with errors that are computed.
RUNS = 3
#: Results may be so many times further off than the furthest of these.
_MARGIN = 4.0
#: Distance between the smallest numbers of short floats.
_LEAST = {"f16": 2.0**-24, "f8_e5m2": 2.0**-16, "f8_e4m3": 2.0**-9}
#: Share of zeros beyond which a comparison says nothing.
_ZEROS = 0.95


def _spread(raw: np.ndarray, others: list[np.ndarray]) -> float:
    with np.errstate(invalid="ignore"):
        far = [np.abs(other - raw) for other in others]
    return max((float(d[np.isfinite(d)].max(initial=0.0)) for d in far), default=0.0)


def _allowed(raw: np.ndarray, dtype: str, spread: float) -> np.ndarray:
    """Return how far each element may be off."""
    finite = np.abs(np.where(np.isfinite(raw), raw, 0.0))
    slack = _MARGIN * spread + 16 * encoding.epsilon("f32") * finite.max(initial=0.0)
    if dtype in encoding.INTEGERS:
        return np.full(raw.shape, 0.5 + slack)
    return encoding.epsilon(dtype) * finite + slack + _LEAST.get(dtype, 0.0)


def check(name: str, got: np.ndarray, raw: np.ndarray, others: list, dtype: str) -> Verdict:
    """Compare one result.

    Parameters
    ----------
    got : what the device wrote
    raw : reference, neither rounded nor saturated
    others : references with errors
    """
    dtype = "u8" if dtype == "boolean" else dtype
    top = encoding.largest(dtype)
    low, high = encoding.smallest(dtype), top
    # A chain that overflows may do so one rounding earlier or later.
    want = np.clip(raw, low, high) if dtype in encoding.INTEGERS else raw
    others = [np.clip(o, low, high) for o in others] if dtype in encoding.INTEGERS else others
    allowed = _allowed(want, dtype, _spread(want, others))
    with np.errstate(invalid="ignore"):
        diff = np.abs(got - want)
        good = (diff <= allowed) | (got == want) | (np.isnan(got) & np.isnan(want))
        good |= ~np.isfinite(got) & (np.abs(want) + allowed >= top)
        good |= np.logical_or.reduce([np.isfinite(o) != np.isfinite(want) for o in others])
    score = np.where(good & ~np.isfinite(diff), 0.0, diff / np.maximum(np.abs(want), 1e-5))
    if not good.all():
        worst = np.unravel_index(np.argmax(np.where(good, -1.0, diff)), diff.shape)
        at = ",".join(map(str, worst))
        text = (
            f"{name}: {int((~good).sum())} of {good.size} wrong, most at ({at}): got "
            f"{got[worst]:.9g}, expected {want[worst]:.9g} within {allowed[worst]:.3g}"
        )
        return Verdict(text, float(diff[worst]))
    trusted = bool(got.size < 10 or np.count_nonzero(got == 0) <= _ZEROS * got.size)
    return Verdict(error=float(np.max(score, initial=0.0)), trusted=trusted)
