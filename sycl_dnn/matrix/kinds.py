# SPDX-License-Identifier: Apache-2.0
"""What the name of an implementation says of it: family, and how good that is."""

from __future__ import annotations

#: Family -> parts of names that belong to it; the first family that fits counts.
FAMILIES: dict[str, tuple[str, ...]] = {
    "ref": ("ref",),
    "simple": ("simple", "ncsp_", "nspc_", "rnn_data_reorder"),
    "brgemm": ("brg", "brdgmm"),
    "gemm": ("gemm",),
    "wino": ("wino",),
    "jit": ("jit",),
    "ocl": ("ocl", "xe:"),
    "reorder": ("reorder", "direct_copy"),
}
#: How much a family is worth; comparing tables means comparing these.
RANKS = {"died": 0, "invalid": 1, "refused": 1, "ref": 2, "simple": 3}
OPTIMISED = 4


def family(impl: str) -> str:
    """Return the family of an implementation.

    Parameters
    ----------
    impl : str
        oneDNN's name, such as ``"brg_conv_fwd:avx512_core"``.

    Returns
    -------
    str
        A key of `FAMILIES`; ``"other"`` for a name that none of them has.
    """
    return next((f for f, parts in FAMILIES.items() if any(p in impl for p in parts)), "other")


def state(impl: str) -> str:
    """Return ``"ref"``, ``"simple"`` or ``"optimised"``."""
    found = family(impl)
    return found if found in ("ref", "simple") else "optimised"


def rank(state_: str) -> int:
    """Return how much a state is worth: 0 (the process died) to 4 (optimised)."""
    return RANKS.get(state_, OPTIMISED)
