# SPDX-License-Identifier: Apache-2.0
"""Run a case of tests/cases through sycl_dnn.onednn on a device."""

import re
import warnings
from fnmatch import fnmatchcase

import dpnp
import numpy as np

from sycl_dnn import OneDnnFaultWarning
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import executes_on_cpu
from sycl_dnn.onednn import faults

#: Parameters whose execution argument has a different name.
RENAMED = {"src0": "src_0", "src1": "src_1", "src2": "src_2"}
RENAMED |= {"attention": "augru_attention", "diff_attention": "diff_augru_attention"}

ENUMS = {
    "prop_kind": dnnl.prop_kind,
    "algorithm": dnnl.algorithm,
    "activation": dnnl.algorithm,
    "direction": dnnl.rnn_direction,
}
#: What a CPU engine refuses, with reasons.
NOT_ON_CPU = {
    "convolution_forward:winograd",
    "batch_normalization_forward:add_relu",
    "batch_normalization_backward:add_relu",
}
#: Rows that oneDNN 3.13 has no GPU implementation for.
ROWS_NOT_ON_GPU = {
    "group_normalization_backward", "augru_forward", "augru_backward", "lbr_augru_forward",
    "lbr_augru_backward",
}  # fmt: skip
#: Other cases that it refuses there: LSTM with peephole or projection, transposed winograd.
WORDS_NOT_ON_GPU = ("peephole", "projection", "deconvolution_winograd")
#: No product in OpenCL C computes a single column; real GPUs have machine code.
COLUMNS = {f"{cell}_backward:ones" for cell in ("lstm", "gru", "lbr_gru")}
#: Tensors that oneDNN is free to lay out as it likes.
FREE = re.compile(r"(diff_)?weights")
FREE_ROWS = re.compile(r"(de)?convolution|inner_product|matmul|.*(rnn|lstm|gru)")


def is_refused(case, engine):
    """Whether oneDNN has no implementation of a case for this kind of device."""
    if engine.kind is dnnl.engine_kind.cpu:
        return case.id in NOT_ON_CPU
    if case.id in COLUMNS and executes_on_cpu(engine.sycl_device):
        return True
    words = f"{case.name} {' '.join(case.shapes)} {case.params}"
    return case.row in ROWS_NOT_ON_GPU or any(word in words for word in WORDS_NOT_ON_GPU)


def faulty_outputs(case, engine):
    """The outputs affected by known faults on this device; the case names those of CPUs."""
    if engine.kind is dnnl.engine_kind.cpu:
        return case.faulty
    forward = case.forward_case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneDnnFaultWarning)
        pd = describe(case, engine, forward and describe(forward, engine))
    fault = faults.warned_of(pd)
    patterns = fault.outputs if fault else ()
    return tuple(n for n in case.output_names if any(fnmatchcase(n, p) for p in patterns))


def _desc(case, name, any_weights):
    data_type = dnnl.data_type[case.dtypes.get(name, "f32")]
    tag = case.tags.get(name)
    if tag is None and any_weights and FREE.match(name) and FREE_ROWS.match(case.row):
        tag = "any"
    shape = case.shapes[name]
    return dnnl.MemoryDesc(shape, data_type, tag) if tag else dnnl.MemoryDesc(shape, data_type)


def _tensor_parameter(case, parameter, any_weights):
    if parameter == "srcs":
        count = sum(name.startswith("multiple_src_") for name in case.shapes)
        return [_desc(case, f"multiple_src_{i}", any_weights) for i in range(count)]
    if parameter == "stat":
        return dnnl.MemoryDesc(case.shapes["src"][:-1], dnnl.data_type.f32)
    name = RENAMED.get(parameter, parameter)
    if parameter == "data":
        name = "src" if "src" in case.shapes else "dst"
    return _desc(case, name, any_weights) if name in case.shapes else None


def _plain_parameter(parameter, value):
    if parameter in ENUMS:
        return ENUMS[parameter][value]
    if parameter == "flags":
        flags = dnnl.normalization_flags(0)
        for name in value:
            flags |= dnnl.normalization_flags[name]
        return flags
    if parameter.endswith("data_type"):
        return dnnl.data_type[value]
    return value


def parameters(case, hint=None, any_weights=True):
    """Return the parameters of the call of a case's row."""
    given = {}
    for parameter in dnnl.ROWS[case.row][0].split():
        if parameter == "hint_fwd_pd":
            given[parameter] = hint
        elif parameter in case.params:
            given[parameter] = _plain_parameter(parameter, case.params[parameter])
        else:
            value = _tensor_parameter(case, parameter, any_weights)
            if value is not None:
                given[parameter] = value
    return given


def describe(case, engine, hint=None, any_weights=True, **options):
    """Return the primitive descriptor of a case; ``options`` are passed to the row's function."""
    return getattr(dnnl, case.row)(engine, **parameters(case, hint, any_weights), **options)


def upload(array, desc, stream):
    """Return a Memory of ``desc`` with the values of a NumPy array, through a reorder."""
    engine = stream.engine
    plain = dpnp.asarray(array, sycl_queue=stream.sycl_queue)
    source = dnnl.Memory.from_array(plain, engine)
    if source.desc == desc:
        return source
    target = dnnl.Memory(desc, engine)
    reorder = dnnl.reorder(engine, src=source.desc, dst=desc)
    dnnl.Primitive(reorder).execute(stream, {"src": source, "dst": target}).wait()
    return target


def download(memory, stream):
    """Return the values of a Memory as a NumPy array, through a reorder if it is not plain."""
    if not memory.desc.is_plain:
        plain = dnnl.Memory(dnnl.MemoryDesc(memory.desc.dims, memory.desc.data_type), stream.engine)
        reorder = dnnl.reorder(stream.engine, src=memory.desc, dst=plain.desc)
        dnnl.Primitive(reorder).execute(stream, {"src": memory, "dst": plain}).wait()
        memory = plain
    return memory.to_array().asnumpy()


def _new_output(case, name, desc, stream):
    """Return an output of NaN, so that unwritten elements show; 0 for weight gradients of RNN."""
    accumulates = "weights_iter" in case.shapes and name.startswith("diff_")
    if name == "workspace" or desc.data_type is not dnnl.data_type.f32:
        return dnnl.Memory(desc, stream.engine)
    shape = tuple(desc.dims)
    return upload(np.full(shape, 0.0 if accumulates else np.nan, np.float32), desc, stream)


def execute(case, pd, stream, arrays, extra=None):
    """Run a primitive once; return its arguments as a dict of Memory by name."""
    primitive = dnnl.Primitive(pd)
    args = {k: v for k, v in (extra or {}).items() if k in primitive.arguments}
    for name, slot in primitive.arguments.items():
        if name in args or not slot["required"]:
            continue
        if slot["output"]:
            args[name] = _new_output(case, name, slot["desc"], stream)
        else:
            values = np.asarray(arrays[name]).reshape(slot["desc"].dims)
            args[name] = upload(values, slot["desc"], stream)
    primitive.execute(stream, args).wait()
    return args


def run(case, stream, arrays, any_weights=True):
    """Run a case, its forward pass first if it is a backward one; return outputs as arrays."""
    engine = stream.engine
    hint = extra = None
    if case.forward is not None:
        forward = case.forward_case
        hint = describe(forward, engine, any_weights=any_weights)
        if not hint.workspace_desc.is_zero:
            done = execute(forward, hint, stream, arrays)
            extra = {"workspace": done["workspace"]}
    pd = describe(case, engine, hint, any_weights)
    done = execute(case, pd, stream, arrays, extra)
    return {name: download(done[name], stream) for name in case.output_names}


def relative_error(got, expected):
    """Return the largest error, relative to the largest value; small values count as 1e-3."""
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    return np.abs(got - expected).max(initial=0.0) / scale
