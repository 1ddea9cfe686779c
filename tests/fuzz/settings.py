# SPDX-License-Identifier: Apache-2.0
"""Attributes and post-ops."""

from hypothesis import strategies as st

from fuzz.values import absurd, algorithm, chance, data_type, real, small, wrong
from sycl_dnn import onednn as dnnl

ARGUMENTS = st.sampled_from(
    ("src", "weights", "dst", "bias", "src_0", "src_1", "multiple_src_0", "diff_src", "src_layer")
)
MASKS = st.one_of(st.integers(0, 4), small, absurd)
GROUPS = st.sampled_from(((), (1, 1), (16, 1), (1, 16), (4, 1), (1, 4), (0, 1), (3,), (2, 2, 2)))
TYPES = st.sampled_from(("f32", "bf16", "f16", "s8", "u8", "s32", "s4", "u4", "e8m0", "f64"))
FLAG = st.booleans()


def _member(kind):
    return st.sampled_from(list(getattr(dnnl, kind)))


TYPE = TYPES.map(lambda name: dnnl.data_type[name])
SCALES = st.lists(real, max_size=70)
#: Setter -> what it takes.
SETTERS = {
    "set_scales_mask": (ARGUMENTS, MASKS),
    "set_scales": (ARGUMENTS, MASKS, GROUPS, TYPE, FLAG),
    "set_host_scale": (ARGUMENTS, TYPE),
    "set_zero_points_mask": (ARGUMENTS, MASKS),
    "set_zero_points": (ARGUMENTS, MASKS, GROUPS, TYPE, FLAG),
    "set_host_zero_point": (ARGUMENTS, TYPE),
    "set_precomputed_reductions": (ARGUMENTS, MASKS, GROUPS, TYPE),
    "set_fpmath_mode": (_member("fpmath_mode"), FLAG),
    "set_accumulation_mode": (_member("accumulation_mode"),),
    "set_deterministic": (FLAG,),
    "set_scratchpad_mode": (_member("scratchpad_mode"),),
    "set_rounding_mode": (ARGUMENTS, _member("rounding_mode")),
    "set_rnn_data_qparams": (real, real),
    "set_rnn_weights_qparams": (MASKS, SCALES),
    "set_rnn_weights_projection_qparams": (MASKS, SCALES),
}
BINARY = st.sampled_from([a for a in dnnl.algorithm if a.name.startswith("binary_")])
ELTWISE = st.sampled_from([a for a in dnnl.algorithm if a.name.startswith("eltwise_")])


def operand(draw, dims, type_name=None):
    """A descriptor that broadcasts to ``dims``, mostly."""
    shape = [1 if chance(draw, 40) else n for n in dims] or [1]
    if chance(draw, 5):
        shape = shape[:-1] + [draw(small)]
    kind = dnnl.data_type[type_name] if type_name else draw(TYPE)
    if len(shape) <= 6 and chance(draw, 20):
        return dnnl.MemoryDesc(shape, kind, "any")
    return dnnl.MemoryDesc(shape, kind)


def _binary(draw, dims, ops):
    kind = draw(BINARY)
    if kind is not dnnl.algorithm.binary_select:
        return ops.append_binary(kind, operand(draw, dims))
    return ops.append_binary(kind, operand(draw, dims, "f32"), operand(draw, dims, "s8"))


POST_OPS = {
    "sum": lambda draw, dims, ops: ops.append_sum(draw(real), draw(small), draw(TYPE)),
    "eltwise": lambda draw, dims, ops: ops.append_eltwise(draw(ELTWISE), draw(real), draw(real)),
    "binary": _binary,
    "prelu": lambda draw, dims, ops: ops.append_prelu(draw(MASKS)),
    "depthwise": lambda draw, dims, ops: ops.append_dw(
        draw(TYPE), draw(TYPE), draw(TYPE), draw(small), draw(small), draw(small)
    ),
    "wrong": lambda draw, dims, ops: ops.append_eltwise(draw(algorithm), draw(wrong), draw(wrong)),
}


def post_ops(draw, dims):
    """Up to three operations on a result of shape ``dims``."""
    ops = dnnl.PostOps()
    for name in draw(st.lists(st.sampled_from(sorted(POST_OPS)[:-1]), max_size=3)):
        POST_OPS["wrong" if chance(draw, 3) else name](draw, dims, ops)
    return ops


def attributes(draw, dims):
    """Attributes for a primitive whose result has shape ``dims``."""
    attr = dnnl.PrimitiveAttr()
    for name in draw(st.lists(st.sampled_from(sorted(SETTERS)), max_size=2)):
        arguments = [draw(wrong) if chance(draw, 2) else draw(s) for s in SETTERS[name]]
        getattr(attr, name)(*arguments)
    if chance(draw, 15):
        mask = operand(draw, dims, "u8") if chance(draw, 50) else None
        attr.set_dropout(mask, draw(data_type), draw(FLAG), draw(FLAG))
    if chance(draw, 60):
        attr.set_post_ops(post_ops(draw, dims))
    return attr
