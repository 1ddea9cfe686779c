# SPDX-License-Identifier: Apache-2.0
"""Run a case of `cases` through sycl_dnn.onednn on a device."""

import warnings
from fnmatch import fnmatchcase

import numpy as np

from sycl_dnn import OneDnnFaultWarning
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import executes_on_cpu, is_simulated
from sycl_dnn.onednn import faults
from sycl_dnn.tools.cases.call import parameters
from sycl_dnn.tools.cases.execution import Execution

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


def describe(case, engine, hint=None, any_weights=True, **options):
    """Return the primitive descriptor of a case; ``options`` are passed to the row's function."""
    return getattr(dnnl, case.row)(engine, **parameters(case.call(any_weights), hint), **options)


def download(memory, stream):
    """Return the values of a Memory as a NumPy array, through a reorder if it is not plain."""
    if not memory.desc.is_plain:
        plain = dnnl.Memory(dnnl.MemoryDesc(memory.desc.dims, memory.desc.data_type), stream.engine)
        reorder = dnnl.reorder(stream.engine, src=memory.desc, dst=plain.desc)
        dnnl.Primitive(reorder).execute(stream, {"src": memory, "dst": plain}).wait()
        memory = plain
    return memory.to_array().asnumpy()


def execute(case, pd, stream, arrays, given=None):
    """Run a primitive once on these arrays, and memories by argument; return the execution."""
    done = Execution(case.call(), pd, stream, case.id, lambda *_: None)
    done.arrays |= arrays
    done.run(given or {})
    return done


def run(case, stream, arrays, any_weights=True):
    """Run a case, its forward pass first if it is a backward one; return outputs as arrays."""
    engine, given = stream.engine, {}
    hint = case.forward and describe(case.forward_case, engine, any_weights=any_weights)
    if hint and not hint.workspace_desc.is_zero:
        given["workspace"] = execute(case.forward_case, hint, stream, arrays).args["workspace"]
    done = execute(case, describe(case, engine, hint, any_weights), stream, arrays, given)
    outputs, problems = done.results()
    # On a simulated GPU nothing is computed: what is there proves nothing.
    assert not problems or (engine.kind is dnnl.engine_kind.gpu and is_simulated("gpu"))
    return {name: outputs[name] for name in case.output_names}


def relative_error(got, expected):
    """Return the largest error, relative to the largest value; small values count as 1e-3."""
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    return np.abs(got - expected).max(initial=0.0) / scale
