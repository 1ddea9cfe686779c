# SPDX-License-Identifier: Apache-2.0
"""Lines with indices: gather, scatter, embedding tables, one-hot."""

from __future__ import annotations

from differential.drawing import Drawing, Unsuitable


def _index(d: Drawing, shape: tuple[int, ...], below: int, dtype: str = "int64") -> str:
    if not below:
        raise Unsuitable("no elements to index")
    return d.input(shape, f"index {below}", d.choice((dtype, "int64")))


def indexed(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    axis = d.int(0, len(shape) - 1)
    size = shape[axis]
    kind = d.choice(("index_select", "gather", "take_along", "scatter", "scatter_add", "index_add",
                     "index_put", "array", "flat", "where"))  # fmt: skip
    if kind == "index_select":
        d.line(f"F.index_select({x}, {axis}, {_index(d, (d.int(1, 5),), size, 'int32')})")
    elif kind in ("gather", "take_along"):
        other = tuple(
            d.int(1, max(n, 1)) if i != axis else d.int(1, 5) for i, n in enumerate(shape)
        )
        if kind == "gather":
            d.line(f"F.gather({x}, {axis}, {_index(d, other, size)})")
        else:
            other = tuple(n if i != axis else d.int(1, 4) for i, n in enumerate(shape))
            d.line(f"F.take_along_dim({x}, {_index(d, other, size)}, {axis})")
    elif kind in ("scatter", "scatter_add"):
        other = tuple(d.int(1, max(n, 1)) for n in shape)
        if kind == "scatter":
            # Each element is written once: the order of several writes is undefined.
            order = f"F.argsort({d.operand(shape)}, {axis})"
            d.line(f"F.scatter({x}, {axis}, {order}, {d.choice(('0.5', d.operand(shape)))})")
        else:
            index = _index(d, other, size)
            d.line(f"F.scatter_add({x}, {axis}, {index}, {d.operand(other)})")
    elif kind == "index_add":
        many = d.int(1, 4)
        other = tuple(n if i != axis else many for i, n in enumerate(shape))
        alpha = d.choice(("", ", alpha=2", ", alpha=-0.5"))
        index = _index(d, (many,), size, "int32")
        d.line(f"F.index_add({x}, {axis}, {index}, {d.operand(other)}{alpha})")
    elif kind == "index_put":
        many = d.int(1, 4)
        index = _index(d, (many,), shape[0])
        source = d.operand((many, *shape[1:]))
        d.line(f"F.index_put({x}, ({index},), {source}, accumulate=True)")
    elif kind == "array":
        index = _index(d, d.choice(((3,), (2, 2), ())), shape[0])
        d.line(f"{x}[{index}]")
    elif kind == "flat":
        index = _index(d, (d.int(1, 5),), max(1, d.value(x).numel()))
        d.line(f"F.take_along_dim({x}, {index})")
    else:
        d.line(f"F.where({d.input(shape, 'bool', 'bool')}, {x}, {d.operand(shape)})")


def embedded(d: Drawing) -> None:
    rows, size = d.int(1, 8), d.int(1, 6)
    index = _index(d, d.choice(((3,), (2, 4), (1, 3, 2), ())), rows, "int32")
    end = d.choice(("", "", f", padding_idx={d.int(0, rows - 1)}", ", scale_grad_by_freq=True"))
    d.line(f"F.embedding({index}, {d.operand((rows, size))}{end})")


def hot(d: Drawing) -> None:
    classes = d.int(2, 5)
    index = _index(d, d.choice(((3,), (2, 3))), classes)
    result = d.line(f"F.astype(F.one_hot({index}, {classes}), 'float32')")
    d.line(f"F.matmul({result}, {d.operand((classes, d.int(1, 4)))})")


def masked(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    mask = d.input(tuple(n if d.chance(0.7) else 1 for n in shape), "bool", "bool")
    d.line(d.choice((f"F.masked_fill({x}, {mask}, 0.5)", f"F.where({mask}, {x}, 0.0)",
                     f"{x} * F.astype({mask}, 'float32')",
                     f"F.where(F.logical_not({mask}), {x}, -1.5)",
                     f"F.astype({mask}, 'int32')", f"F.any({mask})",
                     f"F.sum({mask})")))  # fmt: skip
