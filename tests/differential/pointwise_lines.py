# SPDX-License-Identifier: Apache-2.0
"""Lines of arithmetic, activations, comparisons and conversions."""

from __future__ import annotations

from differential.drawing import Drawing

UNARY = (
    "abs", "neg", "square", "relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish",
    "sigmoid", "logsigmoid", "softplus", "softsign", "tanh", "tanhshrink", "hardtanh",
    "hardsigmoid", "hardswish", "leaky_relu", "softshrink", "hardshrink", "sin", "cos", "atan",
    "erf", "erfc", "floor", "ceil", "round", "trunc", "sign", "asinh", "exp2", "nan_to_num",
)  # fmt: skip
GUARDED = {
    "exp": "F.clamp({x}, max=3.0)", "expm1": "F.clamp({x}, max=3.0)", "sinh": "F.tanh({x})",
    "cosh": "F.tanh({x})", "log": "F.abs({x}) + 0.3", "log2": "F.square({x}) + 0.5",
    "log10": "F.abs({x}) + 0.2", "log1p": "F.abs({x})", "sqrt": "F.abs({x}) + 0.1",
    "rsqrt": "F.square({x}) + 0.2", "reciprocal": "F.abs({x}) + 0.4",
    "asin": "0.9 * F.tanh({x})", "acos": "F.sin({x}) * 0.9", "atanh": "0.8 * F.tanh({x})",
    "acosh": "F.abs({x}) + 1.2", "logit": "F.sigmoid({x})", "tan": "F.tanh({x})",
}  # fmt: skip
OPTIONS = {
    "elu": ("alpha=0.7",), "celu": ("alpha=1.3",), "gelu": ("approximate='tanh'",),
    "softplus": ("beta=2.0", "beta=0.5, threshold=1.0"), "leaky_relu": ("0.2", "-0.1"),
    "hardtanh": ("-0.5, 0.7",), "softshrink": ("0.2",), "hardshrink": ("0.3",),
    "round": ("decimals=1",), "nan_to_num": ("nan=0.5, posinf=2.0, neginf=-3.0",),
}  # fmt: skip
SIGNS = ("+", "-", "*", "+", "*")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "logaddexp", "atan2")
COMPARED = ("<", ">", "<=", ">=", "==", "!=")


def unary(d: Drawing) -> None:
    name, x = d.choice((*UNARY, *GUARDED)), d.float()
    if name in GUARDED:
        d.line(f"F.{name}({GUARDED[name].format(x=x)})")
    elif name in OPTIONS and d.chance(0.5):
        d.line(f"F.{name}({x}, {d.choice(OPTIONS[name])})")
    else:
        d.line(f"F.{name}({x})")


def broadcast(d: Drawing, shape: tuple[int, ...]) -> str:
    """Return a value whose shape broadcasts with this one."""
    fitting = [n for n in d.floats() if _broadcasts(tuple(d.value(n).shape), shape)]
    if fitting and d.chance(0.6):
        return str(d.choice(fitting))
    result = [1 if d.chance(0.35) else n for n in shape]
    while result and d.chance(0.25):
        result.pop(0)
    return d.input(tuple(result))


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def binary(d: Drawing) -> None:
    x = d.float()
    y = broadcast(d, tuple(d.value(x).shape))
    if d.chance(0.5):
        x, y = y, x
    kind = d.int(0, 7)
    if kind < 3:
        d.line(f"{x} {d.choice(SIGNS)} {y}")
    elif kind == 3:
        d.line(f"F.{d.choice(BINARY)}({x}, {y})")
    elif kind == 4:
        d.line(f"{x} / (F.abs({y}) + 0.5)")
    elif kind == 5:
        d.line(f"F.{d.choice(('add', 'sub'))}({x}, {y}, alpha={d.choice((0.5, -2, 3))})")
    elif kind == 6:
        d.line(f"F.pow(F.abs({x}) + 0.2, F.tanh({y}))")
    else:
        name = d.choice(("fmod", "remainder"))
        d.line(f"F.{name}({x}, F.abs({y}) + 0.7)")


def with_number(d: Drawing) -> None:
    x = d.float()
    number = d.choice(("0.5", "2", "-1.5", "3.0", "1", "number"))
    if number == "number":
        number = d.input((), "number")
    text = d.choice((
        "{x} + {n}", "{n} + {x}", "{x} * {n}", "{n} * {x}", "{x} - {n}", "{n} - {x}", "{x} / {n}",
        "{n} / (F.abs({x}) + 0.5)", "F.pow({x}, 2)", "{x} ** 2", "{x} ** 3", "-{x}",
        "F.pow(F.abs({x}) + 0.1, {n})", "F.maximum({x}, {x} * {n})", "F.clamp({x}, max={n})",
        "F.add({x}, {n})", "F.sub({n}, {x})", "F.mul({x}, {n})", "F.div({x}, {n})",
        "F.lerp({x}, {x} * {x}, {n})", "abs({x})", "F.clamp({x}, -0.5, 0.8)", "F.clamp({x}, min=0)",
        "F.clamp_min({x}, -0.3)", "F.clamp_max({x}, 0.6)", "F.threshold({x}, 0.1, -0.4)",
        "F.floor_divide({x}, 0.7)", "{x} // 0.6", "{x} % 0.9",
        "F.div({x}, 0.3, rounding_mode='trunc')",
        "F.clamp({x}, F.neg({x}), F.abs({x}) + {n})", "F.logaddexp({x}, {x} * {n})",
    ))  # fmt: skip
    if d.is_special and "//" in text:
        # dpnp's own operator gives infinities where NumPy and PyTorch give NaN.
        text = "F.floor_divide({x}, 0.6)"
    d.line(text.format(x=x, n=number))


def chosen(d: Drawing) -> None:
    """Comparisons, ``where``, ``masked_fill`` and boolean logic."""
    x = d.float()
    y = broadcast(d, tuple(d.value(x).shape))
    mask = f"({x} {d.choice(COMPARED[:4])} {y})"
    if d.chance(0.3):
        mask = f"F.{d.choice(('lt', 'gt', 'le', 'ge', 'ne', 'eq'))}({x}, {d.choice((y, 0.1))})"
    if d.chance(0.3):
        joined = d.choice(("logical_and", "logical_or", "logical_xor"))
        mask = f"F.{joined}({mask}, {x} > -0.4)"
    if d.chance(0.15):
        mask = f"F.logical_not({mask})"
    if d.chance(0.12):
        mask = f"({mask} & ({x} < 0.6))"
    text = d.choice((
        "F.where({m}, {x}, {y})", "F.where({m}, {x}, 0.5)", "F.where({m}, -1.0, {y})",
        "F.masked_fill({x} + {y}, {m}, 0.25)", "F.astype({m}, 'float32')", "{m}",
        "F.masked_fill({x} * {y}, {m}, -2)", "F.where({m}, {x} * 2, F.tanh({y}))",
        "F.softmax(F.masked_fill({x} + {y}, {m}, float('-inf')), -1)" if d.is_special
        else "F.softmax(F.masked_fill({x} + {y}, {m}, -1e4), -1)",
        "F.sum({m})", "F.any({m})", "F.all({m}, {a})", "F.any({m}, {a})",
    ))  # fmt: skip
    wide = max(d.value(x).ndim, d.value(y).ndim)
    d.line(text.format(m=mask, x=x, y=y, a=d.int(0, max(0, wide - 1))))


def mixed(d: Drawing) -> None:
    """Functions of three arrays."""
    x = d.float()
    shape = tuple(d.value(x).shape)
    y, z = broadcast(d, shape), broadcast(d, shape)
    text = d.choice((
        "F.addcmul({x}, {y}, {z}, value=0.5)", "F.addcdiv({x}, {y}, F.abs({z}) + 0.5)",
        "F.lerp({x}, {y}, F.sigmoid({z}))",
        # Where bounds are equal, gradients differ between versions of torch.
        "F.clamp({x}, F.minimum({y}, {z}) - 0.125, F.maximum({y}, {z}))",
        "{x} * {y} + {z}", "F.addcmul({x}, {y}, {z})", "({x} - {y}) * F.sigmoid({z})",
        "F.addcdiv({x}, {y}, F.exp(F.tanh({z})), value=-1.5)",
    ))  # fmt: skip
    d.line(text.format(x=x, y=y, z=z))


def converted(d: Drawing) -> None:
    """Through another dtype and back."""
    x = d.float()
    dtype = d.choice(("int8", "int16", "int32", "int64", "uint8", "bool", "float16", "bfloat16"))
    if dtype in ("float16", "bfloat16"):
        d.is_loose = True
        d.line(f"F.astype(F.astype({x}, '{dtype}'), 'float32') * 1.0")
        return
    if d.is_special:
        return
    scaled = f"F.clamp({x} * 20, {0 if dtype == 'uint8' else -120}, 120)"
    if dtype == "uint8" and d.chance(0.5):
        scaled = f"F.clamp(F.abs({x}) * 90, 0, 250)"
    whole = d.line(f"F.astype({scaled if dtype != 'bool' else x}, '{dtype}')")
    d.line(f"F.astype({whole}, 'float32') * 0.05 + {x}")


def prelu(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    channels = shape[1] if len(shape) > 1 else 1
    weight = d.input((d.choice((1, channels)) if len(shape) > 1 else 1,))
    d.line(f"F.prelu({x}, {weight})")
