# SPDX-License-Identifier: Apache-2.0
"""Primitives: descriptors of changed cases, and executions with changed arguments."""

import re
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from primitive_cases import STATES, calls_by_row, described, without_states

from fuzz.guards import MOST_BYTES, Guarded
from fuzz.settings import attributes, operand
from fuzz.values import absurd, chance, mutated, note, renamed_sizes, small, tag_name, wrong
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases.call import parameters

TYPES = st.sampled_from(("f32", "bf16", "f16", "s8", "u8", "s32", "f64", "f8_e4m3", "s4"))
TAGS = st.sampled_from(("any", "acdb", "abcd", "nChw16c", "nChw8c", "ba", "ab", "abc", "acb"))


def drawn(draw):
    """A call of any row."""
    rows = calls_by_row()
    return draw(st.sampled_from(rows[draw(st.sampled_from(sorted(rows)))]))


def retensored(call, change):
    """A call with ``change(name, tensor)`` for each tensor, also those of its forward call."""
    tensors = {name: change(name, tensor) for name, tensor in call.tensors.items()}
    return replace(call, tensors=tensors, forward=call.forward and retensored(call.forward, change))


def changed(draw, call):
    """A call with other sizes, data types, layouts and parameters."""
    shapes = {n: t.dims for n, t in call.tensors.items()}
    if call.forward is not None:
        shapes = {n: t.dims for n, t in call.forward.tensors.items()} | shapes
    sizes, names = renamed_sizes(draw, shapes), sorted(shapes)
    of_type = {}
    if chance(draw, 25):
        chosen = [draw(st.sampled_from(names))] if chance(draw, 50) else names
        of_type = dict.fromkeys(chosen, draw(TYPES))
    of_layout = {}
    if chance(draw, 25):
        name = draw(st.sampled_from(names))
        of_layout = {name: draw(tag_name) if chance(draw, 30) else draw(TAGS)}
    is_free, keeps_states = chance(draw, 70), chance(draw, 80)

    def change(name, tensor):
        tag = of_layout.get(name, tensor.tag if is_free or "weights" not in name else None)
        return replace(tensor, dims=sizes[name], dtype=of_type.get(name, tensor.dtype), tag=tag)

    call = retensored(call, change)
    return call if keeps_states or not any(map(STATES.fullmatch, names)) else without_states(call)


def strided(draw, desc):
    """The same tensor with other strides."""
    if not isinstance(desc, dnnl.MemoryDesc) or not desc.is_plain:
        return desc
    strides = [draw(absurd) if chance(draw, 3) else s + draw(small) for s in desc.strides]
    return dnnl.MemoryDesc(desc.dims, desc.data_type, strides=strides)


def asked(draw, engine, call, hint):
    """Ask for a descriptor."""
    given = parameters(call, hint)
    if chance(draw, 15):
        name = draw(st.sampled_from(sorted(given)))
        given[name] = strided(draw, given[name]) if chance(draw, 50) else mutated(draw, given[name])
    dims = next((t.dims for n, t in call.tensors.items() if re.match("(diff_)?dst", n)), (2, 3))
    attr = attributes(draw, dims) if chance(draw, 35) else None
    note(call.row, given, attr)
    return getattr(dnnl, call.row)(engine, **given, attr=attr)


def descriptor(draw, engine):
    """The descriptor of a changed call, with that of its forward pass if it needs one."""
    call, hint = changed(draw, drawn(draw)), None
    if call.forward is not None:
        hint = described(call.forward, engine)
        if chance(draw, 5):
            other = drawn(draw)
            hint = described(other.forward or other, engine)
    pd = asked(draw, engine, call, hint)
    for _ in range(draw(st.integers(0, 3)) if chance(draw, 20) else 0):
        pd.next_impl()
    return pd


def describe(draw, stream):
    """One descriptor, and all its queries."""
    pd = descriptor(draw, stream.engine)
    for name in ("src", "weights", "dst", "workspace", "attr_post_op_0_src_1", "diff_src"):
        repr(pd.desc_of(name))
    repr(pd)
    return pd.name


def desc_of(slot):
    """A descriptor for an argument, according to Primitive.arguments."""
    if "desc" in slot:
        return slot["desc"]
    return dnnl.MemoryDesc((max(slot["count"], 1),), slot["data_type"])


def arguments(primitive, engine, rng):
    """Guarded memories for all arguments; None where they would be too large."""
    result = {}
    for name, slot in primitive.arguments.items():
        desc = desc_of(slot)
        if desc.num_handles != 1 or max(desc.extent, desc.size) > MOST_BYTES:
            return None
        result[name] = Guarded(desc, engine, rng)
    return result


def spoiled(draw, args, engine, rng):
    """Arguments with one mistake."""
    names = sorted(args)
    a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    kind = draw(st.sampled_from(("drop", "swap", "share", "wrong", "other", "junk", "number")))
    if kind == "drop":
        del args[a]
    elif kind == "swap":
        args[a], args[b] = args[b], args[a]
    elif kind == "share":
        args[a] = args[b]
    elif kind == "wrong":
        args[a] = draw(wrong)
    elif kind == "other":
        args[a] = Guarded(operand(draw, (2, 8, 4, 4)), engine, rng).memory
    else:
        args["junk" if kind == "junk" else draw(absurd)] = args[a]
    return args


def execute(draw, stream):
    """One execution; guard bytes and inputs must be unchanged."""
    pd = descriptor(draw, stream.engine)
    primitive = dnnl.Primitive(pd)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    guarded = arguments(primitive, stream.engine, rng)
    if guarded is None:
        return f"{pd.name}, not executed"
    args = {name: g.memory for name, g in guarded.items()}
    written = {id(args[name]) for name, s in primitive.arguments.items() if s["output"]}
    if chance(draw, 30):
        args = spoiled(draw, args, stream.engine, rng)
        outputs = [n for n, s in primitive.arguments.items() if s["output"]]
        written |= {id(args[n]) for n in outputs if n in args}
    note("execute", pd, args)
    try:
        primitive.execute(stream, args)
    finally:
        stream.wait()
        for name, g in guarded.items():
            # Cells use the workspace of their forward pass as scratch.
            written |= {id(g.memory)} if name == "workspace" else set()
            assert g.intact(id(g.memory) in written), f"{name} was overrun: {pd!r}"
    return pd.name
