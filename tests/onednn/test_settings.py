# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole process: cache, verbose, instruction set, math mode, version."""

import os
import subprocess
import sys

import pytest

from sycl_dnn import DnnlError, InvalidArguments
from sycl_dnn import onednn as dnnl


def python(code, **env):
    """Run a program in a separate process; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", "from sycl_dnn import onednn as dnnl\n" + code],
        capture_output=True, text=True, env={**os.environ, **env},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


RELU = """
engine = dnnl.Engine("cpu")
d = dnnl.MemoryDesc((2, 8), dnnl.data_type.f32)
pd = dnnl.eltwise_forward(engine, prop_kind=dnnl.prop_kind.forward_training,
                          algorithm=dnnl.algorithm.eltwise_relu, src=d, dst=d)
args = {"src": dnnl.Memory(d, engine), "dst": dnnl.Memory(d, engine)}
relu = dnnl.Primitive(pd)
relu.execute(dnnl.Stream(engine), args).wait()
"""


def test_version_is_that_of_the_library():
    version = dnnl.version()
    assert (version["major"], version["minor"]) >= (3, 13)
    assert len(version["hash"]) == 40
    assert version["cpu_runtime"] == version["gpu_runtime"] == 512  # SYCL


def test_cache_capacity_is_kept():
    before = dnnl.get_primitive_cache_capacity()
    try:
        for capacity in (0, 7, before):
            dnnl.set_primitive_cache_capacity(capacity)
            assert dnnl.get_primitive_cache_capacity() == capacity
    finally:
        dnnl.set_primitive_cache_capacity(before)


def test_primitives_work_without_the_cache(engine):
    before = dnnl.get_primitive_cache_capacity()
    d = dnnl.MemoryDesc((2, 8), dnnl.data_type.f32)
    try:
        dnnl.set_primitive_cache_capacity(0)
        assert dnnl.Primitive(dnnl.reorder(engine, src=d, dst=d)).name == "reorder"
    finally:
        dnnl.set_primitive_cache_capacity(before)


#: call, what the message says
WRONG = {
    "capacity": (
        lambda: dnnl.set_primitive_cache_capacity(-1), "capacity must not be negative, got -1",
    ),
    "verbose level": (lambda: dnnl.set_verbose(3), "level must be 0, 1 or 2, got 3"),
    "negative level": (lambda: dnnl.set_verbose(-1), "level must be 0, 1 or 2, got -1"),
    "profiling flags": (lambda: dnnl.set_jit_profiling_flags(1 << 20), "flags, got 1048576"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_value_is_refused(case):
    call, text = WRONG[case]
    with pytest.raises(InvalidArguments, match=text):
        call()


@pytest.mark.slow
@pytest.mark.parametrize(("level", "kinds"), [(0, set()), (1, {"exec"}), (2, {"exec", "create"})])
def test_verbose_prints_executions_and_creations(level, kinds):
    out = python(f"dnnl.set_verbose({level})" + RELU, ONEDNN_VERBOSE="0")
    lines = [line.split(",") for line in out.splitlines() if ",eltwise," in line]
    assert {line[3].split(":")[0] for line in lines} == kinds


@pytest.mark.parametrize("mode", list(dnnl.fpmath_mode), ids=lambda mode: mode.name)
def test_default_math_mode_is_for_new_attributes(mode):
    before = dnnl.get_default_fpmath_mode()
    old = dnnl.PrimitiveAttr()
    try:
        dnnl.set_default_fpmath_mode(mode)
        assert dnnl.get_default_fpmath_mode() is mode
        assert dnnl.PrimitiveAttr().fpmath_mode == (mode, False)
        assert old.fpmath_mode == (before, False)
    finally:
        dnnl.set_default_fpmath_mode(before)


def test_instruction_set_is_a_member():
    assert dnnl.get_effective_cpu_isa() in dnnl.cpu_isa
    assert dnnl.get_cpu_isa_hints() in dnnl.cpu_isa_hints


@pytest.mark.parametrize(
    "setter",
    [
        lambda: dnnl.set_max_cpu_isa(dnnl.cpu_isa.avx2),
        lambda: dnnl.set_cpu_isa_hints(dnnl.cpu_isa_hints.prefer_ymm),
    ],
    ids=["max_cpu_isa", "cpu_isa_hints"],
)
def test_setter_called_too_late_says_what_to_do(setter, engine):
    d = dnnl.MemoryDesc((2, 8), dnnl.data_type.f32)
    dnnl.Primitive(dnnl.reorder(engine, src=d, dst=d))
    dnnl.get_effective_cpu_isa()
    dnnl.get_cpu_isa_hints()  # which oneDNN does not read on every CPU
    with pytest.raises(DnnlError, match="before oneDNN's first use.*ONEDNN_MAX_CPU_ISA"):
        setter()


@pytest.mark.slow
def test_early_setter_limits_the_instruction_set():
    out = python(
        "dnnl.set_max_cpu_isa(dnnl.cpu_isa.sse41)\n"
        "dnnl.set_cpu_isa_hints(dnnl.cpu_isa_hints.prefer_ymm)"
        + RELU
        + "print(dnnl.get_effective_cpu_isa().name, dnnl.get_cpu_isa_hints().name, pd.impl_info)"
    )
    assert out.split()[:2] == ["sse41", "prefer_ymm"]
    assert "avx" not in out


@pytest.mark.slow
def test_jit_settings_are_accepted(tmp_path):
    python(
        "dnnl.set_jit_dump(False); dnnl.set_jit_profiling_flags(0)\n"
        f"dnnl.set_jit_profiling_jitdumpdir({str(tmp_path)!r})" + RELU
    )


@pytest.mark.slow
def test_jit_dump_writes_generated_code(tmp_path):
    python(f"import os; os.chdir({str(tmp_path)!r}); dnnl.set_jit_dump(True)" + RELU)
    assert list(tmp_path.glob("dnnl_dump_*.bin"))
