# SPDX-License-Identifier: Apache-2.0
"""Each row of the register of faults: reproduced, so that a test fails when oneDNN fixes it."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import dpnp
import numpy as np
import pytest
from conformance import known_faults
from descriptors import require_isa
from fault_cases import in_process, outcomes

from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import faults
from sycl_dnn.onednn.fault import GraphOp, cpu_has_avx512

ROOT = Path(__file__).resolve().parents[2]
FAULTS = {fault.name: fault for fault in faults.FAULTS}
T = dnnl.data_type

#: Rows whose case has wrong values, and those whose case ends the process.
WRONG = [f.name for f in faults.FAULTS if f.case and not f.writes and f.device == "cpu"]
FATAL = [f.name for f in faults.FAULTS if f.writes]


@cache
def told_with(isa):
    """Return the answers of a CPU with this instruction set, by fault."""
    lines = {f.name: f.case for f in faults.FAULTS if f.isa == isa}
    require_isa(isa)
    run = in_process(lines.values(), checked=True, isa=isa)
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(zip(lines, run.stdout.splitlines(), strict=True))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", WRONG)
def test_onednn_still_has_the_fault(name, cpu_stream):
    fault = FAULTS[name]
    if fault.isa:
        told = told_with(fault.isa)[name]
    else:
        require_isa("AVX512_CORE")
        told = "\n".join(f"{r.status} {r.reason}" for r in outcomes([fault.case], cpu_stream))
    assert told.startswith("KNOWN"), f"oneDNN may have fixed {name}: check, then drop it: {told}"
    assert re.search(rf"known fault, {known_faults.PAGE}: {name} ", told)


@cache
def isa_of_the_cpu():
    """Return the bits of what this CPU has, whatever ONEDNN_MAX_CPU_ISA lets oneDNN use here."""
    code = "from sycl_dnn import onednn; print(onednn.get_effective_cpu_isa().value)"
    environment = {n: v for n, v in os.environ.items() if n != "ONEDNN_MAX_CPU_ISA"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, stdout=-1, check=True)
    return int(run.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", FATAL)
def test_onednn_still_crashes(name):
    fault = FAULTS[name]
    require_isa(fault.isa)
    run = in_process([fault.case], checked=False, isa=fault.isa)
    bits = dnnl.cpu_isa[fault.writes].value
    if isa_of_the_cpu() & bits == bits:
        # This CPU has the instruction that oneDNN should not have emitted.
        assert run.stdout == "PASSED\n"
        return
    assert run.returncode < 0, f"oneDNN may have fixed {name}: check, then drop it: {run.stdout}"


@pytest.mark.slow
@pytest.mark.parametrize("name", FATAL)
def test_crashing_calls_are_refused(name):
    told = told_with(FAULTS[name].isa)[name]
    assert told.startswith("UNIMPLEMENTED")
    assert FAULTS[name].advice in told


def memory(values, stream, dtype="f4"):
    array = dpnp.asarray(np.asarray(values, dtype), sycl_queue=stream.sycl_queue)
    return dnnl.Memory.from_array(array, stream.engine)


def eltwise(kind, value, stream):
    src = memory([value] * 16, stream)
    dst = dnnl.Memory(src.desc, stream.engine)
    pd = dnnl.eltwise_forward(
        stream.engine, prop_kind=dnnl.prop_kind.forward_inference, algorithm=dnnl.algorithm[kind],
        src=src.desc, dst=dst.desc, alpha=0.0, beta=1.0,
    )  # fmt: skip
    dnnl.Primitive(pd).execute(stream, {"src": src, "dst": dst}).wait()
    return dst.to_array().asnumpy()[0]


def loses_nan(stream):
    return not any(np.isnan(eltwise(f"eltwise_{k}", np.nan, stream)) for k in ("exp", "relu"))


def rounds_twice(stream):
    src = memory([7.25005] * 16, stream)  # halfway is 7.25, so 7.5 is nearer
    small = dnnl.Memory(dnnl.MemoryDesc((16,), T.f8_e4m3), stream.engine)
    back = dnnl.Memory(src.desc, stream.engine)
    for a, b in ((src, small), (small, back)):
        pd = dnnl.reorder(stream.engine, src=a.desc, dst=b.desc)
        dnnl.Primitive(pd).execute(stream, {"src": a, "dst": b}).wait()
    return back.to_array().asnumpy()[0] == 7.0


def drops_neighbors_together(stream):
    engine, size = stream.engine, (64, 64)
    md, bits = dnnl.MemoryDesc(size, T.f32), dnnl.MemoryDesc(size, T.u8)
    attr = dnnl.PrimitiveAttr()
    attr.set_dropout(bits)
    product = dnnl.Primitive(dnnl.matmul(engine, src=md, weights=md, dst=md, attr=attr))
    mask, ones = dnnl.Memory(bits, engine), memory(np.ones(size), stream)
    inputs = {"src": ones, "weights": ones, "dst": dnnl.Memory(md, engine)}
    inputs |= {"attr_dropout_mask": mask, "attr_dropout_probability": memory([0.5], stream)}
    product.execute(stream, {**inputs, "attr_dropout_seed": memory([7], stream, "i4")}).wait()
    fours = mask.to_array().asnumpy().reshape(-1, 4)
    assert 0.4 < fours.mean() < 0.6
    return bool((fours == fours[:, :1]).all())


def lrn_overflows(stream):
    """The fault that the guide's cnn_training_f32 meets with its own data."""
    array = dpnp.full(256, 1e9, dtype="f4", sycl_queue=stream.sycl_queue)
    stream.sycl_queue.wait()
    src = dnnl.Memory(dnnl.MemoryDesc((1, 16, 4, 4), T.f32, "acdb"), stream.engine, array)
    dst = dnnl.Memory(src.desc, stream.engine)
    pd = dnnl.lrn_forward(
        stream.engine, prop_kind=dnnl.prop_kind.forward_inference, src=src.desc, dst=dst.desc,
        algorithm=dnnl.algorithm.lrn_across_channels, local_size=5, alpha=1e-4, beta=0.75, k=1.0,
    )  # fmt: skip
    assert faults.warned_of(pd).name == "lrn-overflow", pd.impl_info
    dnnl.Primitive(pd).execute(stream, {"src": src, "dst": dst}).wait()
    return not dst.to_array().asnumpy().any()


#: Rows that no conformance case can detect: whether the fault is still present.
CHECKS = {
    "eltwise-nan": loses_nan,
    "float8-double-rounding": rounds_twice,
    "dropout-neighbors": drops_neighbors_together,
    "lrn-overflow": lrn_overflows,
}


@pytest.mark.parametrize("name", CHECKS)
def test_onednn_still_behaves_as_the_row_says(name, cpu_stream):
    assert CHECKS[name](cpu_stream), f"oneDNN may have fixed {name}: check, then drop it"


def test_graphs_know_narrow_strided_gradients_of_weights():
    def is_met(src, dst, result):
        ops = [GraphOp("ConvolutionBackwardWeights", [src, dst], layout="NXC", result=result)]
        return FAULTS["conv-narrow-strided-weights"].partition(ops)

    src = (2, 8, 8, 3)
    assert is_met(src, (2, 4, 4, 4), (4, 3, 1, 1))
    assert not is_met(src, (2, 8, 8, 4), (4, 3, 1, 1))
    assert not is_met(src, (2, 6, 6, 4), (4, 3, 3, 3))
    assert is_met((2, 8, 8, 8), (2, 4, 4, 4), (4, 8, 1, 1)) == cpu_has_avx512()
    assert not is_met((2, 8, 8, 16), (2, 4, 4, 4), (4, 16, 1, 1))


def test_every_row_is_reproduced_or_says_why_not():
    for f in faults.FAULTS:
        assert sum(map(bool, (f.case, f.reproduced, f.not_reproduced))) == 1, f.name
        assert not f.reproduced or (ROOT / f.reproduced).exists(), f.name
    here = str(Path(__file__).relative_to(ROOT))
    assert {f.name for f in faults.FAULTS if f.reproduced == here} == set(CHECKS)


def test_no_row_is_fixed_in_this_version():
    version = tuple(dnnl.version()[part] for part in ("major", "minor", "patch"))
    mended = [f.until for f in faults.FAULTS if f.until]
    assert all(tuple(map(int, until.split("."))) > version for until in mended)


def test_each_row_names_its_workaround():
    assert known_faults.RULES.keys() <= {fault.name for fault in faults.FAULTS}
    for fault in faults.FAULTS:
        has_rule = bool(fault.rule)
        assert fault.met != "warned" or has_rule, fault.name
        assert fault.met != "left" or not has_rule, fault.name
        is_said = has_rule and fault.met in ("warned", "refused")
        assert bool(fault.advice) == is_said, fault.name
        assert fault.met != "refused" or has_rule or fault.refused_by, fault.name
        assert bool(fault.refused_by) <= (fault.met == "refused"), fault.name
        is_told = fault.name in known_faults.RULES or (fault.device, fault.met) == ("gpu", "warned")
        assert is_told == bool(fault.outputs), fault.name


@pytest.mark.skipif(
    not (ROOT / "csrc").exists(), reason="the sources of the extension are not here"
)
def test_every_refusal_of_the_extension_is_a_row():
    folder = ROOT / "csrc" / "primitives"
    text = "".join((folder / f"{n}.cpp").read_text() for n in ("refused_shapes", "refusals"))
    refusals = set(re.findall(r"^    (refuse_\w+|check_\w+)\(", text, re.MULTILINE))
    refusals -= {"check_product", "check_condition", "check_weights_scales"}  # parts of others
    known = {f.refused_by for f in faults.FAULTS} - {""}
    assert refusals == known - {"check_has_space"}
    assert "void check_has_space" in "".join(p.read_text() for p in (ROOT / "csrc").rglob("*.?pp"))
