# SPDX-License-Identifier: Apache-2.0
"""Lines of products: matrices of any rank, einsum, attention, recurrent layers."""

from __future__ import annotations

from differential.drawing import Drawing, Unsuitable


def multiplied(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    kind = d.int(0, 4)
    other: tuple[int, ...]
    if kind == 0:
        other = (shape[-1],)
    elif kind == 1:
        other = (shape[-1], d.int(1, 6))
    else:
        lead = [n if d.chance(0.6) else 1 for n in shape[:-2]]
        if d.chance(0.2):
            lead.insert(0, d.int(1, 3))
        other = (*lead, shape[-1], d.int(1, 6))
    y = d.operand(other)
    if d.chance(0.25):
        y = (
            f"F.transpose({d.operand((*other[:-2], *other[-2:][::-1]))}, -1, -2)"
            if len(other) > 1
            else y
        )
    d.line(d.choice((f"F.matmul({x}, {y})", d.product(x, y))))
    if d.chance(0.2) and len(other) > 1:
        d.line(f"F.matmul({d.operand((d.int(1, 4), other[-2]))}, {y})")


def linear(d: Drawing) -> None:
    x = d.float(least=1)
    size = d.value(x).shape[-1]
    if d.chance(0.15):
        weight = d.operand((size,))
        d.line(f"F.linear({x}, {weight})")
        return
    out = d.int(1, 6)
    bias = d.operand((out,)) if d.chance(0.6) else "None"
    result = d.line(f"F.linear({x}, {d.operand((out, size), 'spread')}, {bias})")
    if d.chance(0.4):
        result = d.line(f"F.{d.choice(('relu', 'gelu', 'silu', 'tanh', 'sigmoid'))}({result})")
    if d.chance(0.3) and tuple(d.value(result).shape) == tuple(d.value(x).shape):
        d.line(f"{result} + {x}")


def small(d: Drawing) -> None:
    """mm, mv, dot, bmm, addmm, baddbmm, outer, tensordot, bilinear."""
    kind = d.int(0, 6)
    if kind == 0:
        x = d.float(1)
        y = d.operand(d.value(x).shape)
        d.line(d.choice((f"F.dot({x}, {y})", f"F.outer({x}, {y})", f"F.matmul({x}, {y})")))
    elif kind == 1:
        x = d.float(2)
        n, k = d.value(x).shape
        columns = d.int(1, 5)
        y = d.operand((k, columns))
        d.line(d.choice((f"F.mm({x}, {y})", f"F.mv({x}, {d.operand((k,))})",
                         f"F.addmm({d.operand((n, columns))}, {x}, {y}, beta=0.5, alpha=2)",
                         f"F.addmm({d.operand((d.value(y).shape[1],))}, {x}, {y})")))  # fmt: skip
    elif kind == 2:
        x = d.float(3)
        b, n, k = d.value(x).shape
        m = d.int(1, 5)
        y = d.operand((b, k, m))
        d.line(d.choice((f"F.bmm({x}, {y})",
                         f"F.baddbmm({d.operand((b, n, m))}, {x}, {y}, beta=-1, alpha=0.5)",
                         f"F.baddbmm({d.operand((n, 1))}, {x}, {y})")))  # fmt: skip
    elif kind == 3:
        x = d.float(least=2)
        shape = tuple(d.value(x).shape)
        d.line(d.choice((f"F.tensordot({x}, {d.operand((shape[-1], 3))}, 1)",
                         f"F.tensordot({x}, {d.operand((2, shape[0]))}, ((0,), (1,)))",
                         )))  # fmt: skip
    elif kind == 4:
        x = d.float(2)
        n, k = d.value(x).shape
        y = d.operand((n, d.int(1, 4)))
        weight = d.operand((d.int(1, 3), k, d.value(y).shape[1]))
        d.line(f"F.bilinear({x}, {y}, {weight})")
    else:
        einsum(d)


def einsum(d: Drawing) -> None:
    """Random subscripts over one to three operands."""
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    letters = "abcdefgh"[: len(shape)]
    sizes = dict(zip(letters, shape, strict=True))
    terms, names = [letters], [x]
    for _ in range(d.int(0, 2)):
        pool = [*letters, "x", "y"]
        d.rng.shuffle(pool)
        term = "".join(pool[: d.int(1, 3)])
        for letter in term:
            sizes.setdefault(letter, d.int(1, 4))
        terms.append(term)
        names.append(d.operand(tuple(sizes[c] for c in term)))
    kept = sorted({c for t in terms for c in t})
    d.rng.shuffle(kept)
    out = "".join(kept[: d.int(0, min(4, len(kept)))])
    d.line(f"F.einsum('{','.join(terms)}->{out}', {', '.join(names)})")


def attention(d: Drawing) -> None:
    x = d.float(4)
    b, h, n, e = d.value(x).shape
    keys, out = d.choice((n, d.int(1, 6))), d.choice((e, d.int(1, 5)))
    groups = d.choice([g for g in range(1, h + 1) if h % g == 0] or [1])
    is_grouped = groups != h
    key = d.operand((b, groups if is_grouped else h, keys, e))
    value = d.operand((b, groups if is_grouped else h, keys, out))
    end = ", enable_gqa=True" if is_grouped else ""
    kind = d.int(0, 3)
    if kind == 1:
        end += ", is_causal=True"
    elif kind == 2:
        shape = d.choice(((n, keys), (b, 1, n, keys), (1, h, n, keys), (b, h, n, keys), (1, keys)))
        end += f", attn_mask={d.operand(shape)}"
    elif kind == 3 and keys:
        mask = d.input(d.choice(((n, keys), (b, 1, 1, keys))), "bool", "bool")
        end += f", attn_mask={mask}"
        if not bool(d.value(mask).any(-1).all()):
            end = end.replace(mask, f"F.logical_or({mask}, F.arange({keys}, dtype='float32') < 1)")
    if d.chance(0.3):
        end += f", scale={d.choice((0.5, 1.0))}"
    d.line(f"F.scaled_dot_product_attention({x}, {key}, {value}{end})")


def heads(d: Drawing) -> None:
    """Attention as in models: heads split from a row and joined again."""
    x = d.float(3)
    b, n, e = d.value(x).shape
    count = d.choice([g for g in (1, 2, 4) if e and e % g == 0] or [1])
    if not e:
        return
    names = []
    for _ in range(3):
        result = d.line(f"F.linear({x}, {d.operand((e, e), 'spread')})")
        names.append(
            d.line(f"F.transpose(F.reshape({result}, ({b}, {n}, {count}, {e // count})), 1, 2)")
        )
    causal = d.choice((True, False))
    y = d.line(f"F.scaled_dot_product_attention({', '.join(names)}, is_causal={causal})")
    d.line(f"F.reshape(F.transpose({y}, 1, 2), ({b}, {n}, {e}))")


def recurrent(d: Drawing) -> None:
    if d.is_special:
        # oneDNN's recurrent kernels turn NaN into 0.
        raise Unsuitable
    kind = d.choice(("lstm", "gru", "rnn_tanh", "rnn_relu"))
    x = d.float(3)
    first = d.choice((True, False))
    shape = tuple(d.value(x).shape)
    batch, size = shape[0 if first else 1], shape[2]
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    hidden, layers, both = d.int(1, 5), d.int(1, 2), d.choice((True, False))
    bias = d.chance(0.8)
    if 0 in shape:
        return
    params = []
    for layer in range(layers):
        for _ in range(1 + both):
            wide = size if layer == 0 else hidden * (1 + both)
            params += [d.operand((gates * hidden, wide), "spread")]
            params += [d.operand((gates * hidden, hidden), "spread")]
            if bias:
                params += [d.operand((gates * hidden,)), d.operand((gates * hidden,))]
    state = (layers * (1 + both), batch, hidden)
    hx = "None"
    if d.chance(0.6):
        hx = d.operand(state)
        if kind == "lstm":
            hx = f"({hx}, {d.operand(state)})"
    part = d.choice(
        ("[0]", "[0]", "[1][0]" if kind == "lstm" else "[1]", "[1][1]" if kind == "lstm" else "[1]")
    )
    d.line(f"F.{kind}({x}, {hx}, ({', '.join(params)},), num_layers={layers}, "
           f"bidirectional={both}, batch_first={first}, bias={bias}){part}")  # fmt: skip
