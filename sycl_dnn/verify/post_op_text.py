# SPDX-License-Identifier: Apache-2.0
"""Post-ops as benchdnn writes them: ``sum:0.5+relu``, ``add:bf16:per_oc``, ``dw:k3s1p1``."""

from __future__ import annotations

from dataclasses import dataclass

from sycl_dnn.verify.policies import check, number, policy_of, several

#: Name in the file -> algorithm of oneDNN and how many constants it may have.
ELTWISE = {
    **dict.fromkeys(("relu", "elu", "soft_relu", "swish"), 1),
    **dict.fromkeys(("abs", "exp", "log", "logistic", "mish", "round", "sqrt", "square"), 0),
    **dict.fromkeys(("tanh", "gelu_erf", "gelu_tanh"), 0),
    **dict.fromkeys(("clip", "clip_v2", "hardsigmoid", "hardswish", "linear", "pow"), 2),
}
BY_DST = ("relu", "tanh", "elu", "sqrt", "logistic", "exp", "clip_v2")
BINARY = ("add", "mul", "max", "min", "div", "sub", "ge", "gt", "le", "lt", "eq", "ne")


@dataclass(frozen=True)
class PostOp:
    """One post-op; fields that its ``kind`` does not have keep their defaults."""

    kind: str
    algorithm: str = ""
    alpha: float = 0.0
    beta: float = 0.0
    dtype: str = "undef"
    policy: str | int = "common"
    tag: str = "any"
    strides: str = ""
    condition: tuple[str | int, str] = ("common", "any")
    kernel: tuple[int, int, int] = (0, 0, 0)


def _eltwise(name: str, rest: list[str]) -> PostOp:
    base = name.removesuffix("_dst")
    if name.endswith("_dst") and base not in BY_DST:
        raise ValueError(f"post-op must be a known one, got {name!r}")
    numbers = [number(part, "constant") for part in rest[:2]] + [0.0, 0.0]
    full = f"eltwise_{base}" + ("_use_dst_for_bwd" if name.endswith("_dst") else "")
    return PostOp("eltwise", full, numbers[0], numbers[1])


def _sum(rest: list[str]) -> PostOp:
    rest = [*rest, *["1", "0", "undef"][len(rest) :]]
    scale, zero_point = number(rest[0], "scale"), number(rest[1], "zero point")
    return PostOp("sum", "", scale, zero_point, rest[2])


def _binary(name: str, rest: list[str]) -> PostOp:
    rest = [*rest, *["f32", "common", "any", ""][len(rest) :]]
    return PostOp(
        "binary",
        f"binary_{name}",
        dtype=rest[0],
        policy=policy_of(rest[1]),
        tag=rest[2],
        strides=rest[3],
    )


def _operand(text: str) -> tuple[str | int, str]:
    policy, _, tag = text.partition(".")
    return policy_of(policy or "common"), tag or "any"


def _select(rest: list[str]) -> PostOp:
    first, _, others = (rest[0] if rest else "f32").partition(".")
    policy, tag = _operand(others)
    condition = _operand(rest[1]) if len(rest) > 1 else ("common", "any")
    return PostOp(
        "binary", "binary_select", dtype=first, policy=policy, tag=tag, condition=condition
    )


def _depthwise(rest: list[str]) -> PostOp:
    letters = rest[0] if rest else ""
    numbers = letters.replace("k", " ").replace("s", " ").replace("p", " ").split()
    if len(numbers) != 3 or not all(n.isdigit() for n in numbers):
        raise ValueError(f"dw must be dw:k<size>s<stride>p<padding>, got {letters!r}")
    dtype = rest[1] if len(rest) > 1 else "f32"
    size, stride, padding = map(int, numbers)
    return PostOp("dw", dtype=dtype, kernel=(size, stride, padding))


def post_op(text: str) -> PostOp:
    """Read one post-op."""
    name, *rest = text.split(":")
    name = name.lower().removeprefix("binary_").removeprefix("eltwise_")
    if name == "sum":
        return _sum(rest)
    if name == "prelu":
        return PostOp("prelu", policy=policy_of(rest[0]) if rest else "common")
    if name == "dw":
        return _depthwise(rest)
    if name == "select":
        return _select(rest)
    if name in BINARY:
        return _binary(name, rest)
    known = [*ELTWISE, *(f"{n}_dst" for n in BY_DST), *BINARY, "sum", "prelu", "dw", "select"]
    check(name, known, "post-op")
    return _eltwise(name, rest)


def post_ops(text: str) -> tuple[PostOp, ...]:
    """Read ``--attr-post-ops``."""
    return several(text, post_op)
