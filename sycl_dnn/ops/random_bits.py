# SPDX-License-Identifier: Apache-2.0
"""Random numbers that are functions of a counter and a key, or of a place and a seed.

They are those of Philox4x32-10.

Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.ir.node import Node, Operation, Shape, number
from sycl_dnn.ops.arithmetic import (
    BITWISE_XOR,
    COS,
    COS_OF_SMALL,
    LOG,
    LT,
    MINIMUM,
    REMAINDER,
    RIGHT_SHIFT,
    SQRT,
    cast,
)
from sycl_dnn.ops.creation import IOTA
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


# --- Arrays of random numbers, from a seed of 64 bits; all are constants to gradients


def words(seed: Node, shape: Shape, count: int) -> list[Node]:
    """Return up to four words of uint32 for each element of an array, from an integer."""
    wide = cast(seed, "int64")
    key = [cast(wide, _WORD), cast(RIGHT_SHIFT(wide, number(32, "int64")), _WORD)]
    # One sequence over all axes: a kernel of dense arrays has a single axis for any shape.
    place = IOTA(shape=shape, dtype="int32")
    return [philox([place], key, word) for word in range(count)]


def _shifted(bits: Node, count: int, dtype: str) -> Node:
    """Return the first bits of words as integers of a dtype."""
    return cast(RIGHT_SHIFT(bits, number(32 - count, _WORD)), dtype)


def trials(seed: Node, shape: Shape, p: float) -> Node:
    """Draw true with probability ``p``, in steps of 2**-32 and at most one of these below 1."""
    limit = min(int(p * 2.0**32), 2**32 - 1)
    return LT(words(seed, shape, 1)[0], number(limit, _WORD))


#: Random bits of a number in [0, 1): more would round up to 1.
_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24}


def uniform(seed: Node, shape: Shape, dtype: str) -> Node:
    """Draw from [0, 1), for a dtype, in its wide one."""
    if dtype == "float64":
        return _unit_interval64(*words(seed, shape, 2))
    digits = _DIGITS[dtype]
    return _shifted(words(seed, shape, 1)[0], digits, "float32") * 2.0**-digits


def _unit_interval64(high: Node, low: Node) -> Node:
    """Map pairs of words to float64 in [0, 1)."""
    return (_shifted(high, 26, "float64") * 2.0**27 + _shifted(low, 27, "float64")) * 2.0**-53


def normal(seed: Node, shape: Shape, dtype: str) -> Node:
    """Draw from the standard normal distribution, in the wide dtype, by the Box-Muller method."""
    if dtype == "float64":
        a, b, c, d = words(seed, shape, 4)
        radius, turn, wave = _unit_interval64(a, b) + 2.0**-54, _unit_interval64(c, d), COS
    else:
        a, b = words(seed, shape, 2)
        radius, turn = unit_interval(a), _shifted(b, 24, "float32") * 2.0**-24
        wave = COS_OF_SMALL
    return SQRT(LOG(radius) * -2) * wave(turn * (2 * math.pi))


def gumbel(seed: Node, shape: Shape) -> Node:
    """Draw from the standard Gumbel distribution, in float32."""
    return -LOG(-LOG(unit_interval(words(seed, shape, 1)[0])))


def integers(seed: Node, shape: Shape, low: int, n: int) -> Node:
    """Draw from ``n`` integers, at most 2**48, of int64, from ``low``."""
    high, rest = (_shifted(word, 24, "int64") for word in words(seed, shape, 2))
    return REMAINDER(high * 2**24 + rest, number(n, "int64")) + low
