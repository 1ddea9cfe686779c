# SPDX-License-Identifier: Apache-2.0
"""Numbers, sizes and objects from which calls are generated."""

import numpy as np
from hypothesis import strategies as st

from sycl_dnn import onednn as dnnl

#: Sizes of tensors: zero, one, odd, around the widths of vectors and blocks.
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65, 100)
#: Sizes beyond any memory, and numbers that overflow 32 or 64 bits.
ABSURD = (-1, 2**31 - 1, 2**31, 2**32 + 1, 2**40, 2**55, 2**62, 2**63 - 1, -(2**63))
WRONG = (
    None, True, -1, 3, 2.5, float("nan"), 2**70, "", "nchw", "no such name", b"bytes", (), [], {},
    (1, 2), ("a",), object(), np.float32(1), np.zeros((2, 3), "f4"), dnnl, len, dnnl.data_type.f32,
    dnnl.MemoryDesc(), dnnl.MemoryDesc((2, 3), dnnl.data_type.f32), dnnl.PrimitiveAttr(),
)  # fmt: skip

size = st.sampled_from(SIZES)
absurd = st.sampled_from(ABSURD)
wrong = st.sampled_from(WRONG)
data_type = st.sampled_from(list(dnnl.data_type))
algorithm = st.sampled_from(list(dnnl.algorithm))
tag_name = st.sampled_from([name for name, _ in dnnl._core.format_tags()])
small = st.integers(-2, 9)
real = st.sampled_from((0.0, 1.0, -1.0, 0.5, 1e-5, 3.0, 1e30, float("inf"), float("nan")))


#: Callbacks that receive each action before it runs.
listeners = []


def note(*parts):
    """Pass the next action to the listeners."""
    for listener in listeners:
        listener(*parts)


def chance(draw, percent):
    """Return True with a probability in percent."""
    return draw(st.integers(0, 99)) < percent


def number(draw, old):
    """A number to replace ``old``: mostly close to it, occasionally absurd."""
    if isinstance(old, float):
        return draw(real)
    return draw(absurd) if chance(draw, 10) else draw(small)


def mutated(draw, value):
    """A parameter with one of its numbers changed, or replaced altogether."""
    if chance(draw, 15):
        return draw(wrong)
    if isinstance(value, (tuple, list)) and value:
        items = list(value)
        at = draw(st.integers(0, len(items) - 1))
        items[at] = mutated(draw, items[at])
        return type(value)(items)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(draw, value)
    return draw(wrong) if chance(draw, 30) else value


def renamed_sizes(draw, shapes):
    """Shapes with some of their sizes replaced, each by the same one wherever it occurs."""
    if chance(draw, 35):
        return shapes
    known = sorted({n for shape in shapes.values() for n in shape})
    names = {}
    for n in known:
        if chance(draw, 25):
            names[n] = draw(absurd) if chance(draw, 2) else draw(size)
    result = {key: tuple(names.get(n, n) for n in shape) for key, shape in shapes.items()}
    if chance(draw, 4):
        key = draw(st.sampled_from(sorted(result)))
        result[key] = tuple(draw(st.lists(size, min_size=0, max_size=6)))
    return result
