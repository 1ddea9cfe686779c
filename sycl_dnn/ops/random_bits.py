# SPDX-License-Identifier: Apache-2.0
"""Random numbers that are functions of a counter and a key: Philox4x32-10.

Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Operation, Shape, number
from sycl_dnn.ops.arithmetic import BITWISE_XOR, MINIMUM, RIGHT_SHIFT, cast
from sycl_dnn.ops.shape import broadcast_shape

_FACTORS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_WORD = "uint32"


def _infer(inputs: tuple[Node, ...], *, word: int) -> tuple[Shape, str]:
    for operand in inputs:
        if operand.dtype not in ("int32", _WORD):
            raise TypeError(f"philox: words must be of int32 or uint32, got {operand.dtype}")
    return broadcast_shape(*[operand.shape for operand in inputs]), _WORD


def _product(a: Node, factor: int) -> tuple[Node, Node]:
    """Return the high and the low word of a product."""
    wide = cast(a, "uint64") * factor
    return cast(RIGHT_SHIFT(wide, number(32, "uint64")), _WORD), cast(wide, _WORD)


def _philox(*words: Node, word: int) -> Node:
    """Compute ten rounds; kernels drop what the requested word does not need."""
    a, b, c, d, *key = [cast(operand, _WORD) for operand in words]
    for _ in range(_ROUNDS):
        (high, low), (high_c, low_c) = _product(a, _FACTORS[0]), _product(c, _FACTORS[1])
        a, b = BITWISE_XOR(BITWISE_XOR(high_c, b), key[0]), low_c
        c, d = BITWISE_XOR(BITWISE_XOR(high, d), key[1]), low
        key = [k + step for k, step in zip(key, _KEY_STEPS, strict=True)]
    return (a, b, c, d)[word]


#: One of the four words, of uint32, that belong to a counter of four words and a key of two.
PHILOX = Operation("philox", _infer, definition=_philox)


def philox(counter: Sequence[Node], key: Sequence[Node], word: int = 0) -> Node:
    """Return a word of uint32 for each counter of up to four words and key of up to two."""
    zero = number(0, _WORD)
    words = [*counter, *[zero] * (4 - len(counter)), *key, *[zero] * (2 - len(key))]
    return PHILOX(*words, word=word)


def unit_interval(bits: Node) -> Node:
    """Map words of uint32 to float32 in (0, 1), with all digits of small numbers."""
    middle = (cast(bits, "float32") + 0.5) * 2.0**-32
    # The largest words round to 1.
    return MINIMUM(middle, number(1 - 2.0**-24, "float32"))
