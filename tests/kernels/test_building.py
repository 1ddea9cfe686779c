# SPDX-License-Identifier: Apache-2.0
"""Programs of kernels that another thread builds: refusals, threads, forks, exit."""

import subprocess
import sys
import weakref
from collections import OrderedDict
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import dpctl
import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import _core, errors
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.kernels import building, kept_binaries, launching
from sycl_dnn.kernels.spirv import Kernel

FOLDER = Path(__file__).parent
#: A fresh process that starts more builds than it waits for; ``module(n)`` differs by ``n``.
STARTED = f"""
import os, sys
sys.path[:0] = {[str(FOLDER), str(FOLDER.parent / "helpers")]!r}
import sycl_dnn
from test_building import module
from sycl_dnn import _core
queue = sycl_dnn.default_queue()
found = lambda build: ("key", b"")
builds = [_core.ProgramBuild(queue, module(n), found, print) for n in range(20)]
kernels = [_core.Kernel(build, "filled", [], 1, 1) for build in builds]
_core.Kernel.start_together(kernels, [1] * len(kernels))
"""


def module(number, name="filled"):
    """A kernel that writes a number to 16 elements."""
    k = Kernel(name, [("pointer", "f32")], 1)
    k.store(k.parameters[0], k.constant(0, "i64"), k.constant(float(number), "f32", 16))
    return k.module()


def build_of(queue, module, kept, binary=b"", key="key"):
    """A build whose binary is known, or kept in a list of keys and bytes."""

    def keep(keys, made):
        kept.append((keys, made))

    return _core.ProgramBuild(queue, module, lambda build: (key, binary), keep)


def program(queue, kernel, x):
    """A program of one launch that writes ``x``."""
    engine = dnnl.Engine(queue)
    desc = dnnl.MemoryDesc(x.shape, "f32", "a")
    return _core.Program(engine, [("array", 0, 0, desc)], [(kernel, [(0, 0)])], 1, 0), engine


def launch(build, name="filled"):
    """A launch of the kernel of a build."""
    return _core.Kernel(build, name, [], 1, 1)


def filled(queue, kernel):
    """The result of a kernel."""
    x = dpnp.zeros(16, dtype="f4", sycl_queue=queue)
    result, engine = program(queue, kernel, x)
    stream = dnnl.Stream(engine, queue, ordered=True)
    result.run(stream, [x.get_array().usm_data]).wait()
    _core.Kernel.start_together([], [])  # keeps what has been built
    return dpnp.asnumpy(x)


@pytest.fixture
def queue():
    found = sycl_dnn.default_queue()
    if found.backend != dpctl.backend_type.opencl:
        pytest.fail("the default device is not OpenCL's")
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder; kernels are looked for as in a new process."""
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(building, "_made", OrderedDict())
    monkeypatch.setattr(building, "_of_files", weakref.WeakValueDictionary())
    return tmp_path / "kernels"


def started(queue, modules):
    """Launches of kernels that are built together, by their names."""
    kernels = {n: launch(building.compiled(queue, m, n), n) for n, m in modules.items()}
    _core.Kernel.start_together(list(kernels.values()), [1] * len(kernels))
    return kernels


def values(queue, kernels):
    """The numbers that kernels write."""
    return [filled(queue, kernel)[15] for kernel in kernels.values()]


@pytest.fixture
def written(monkeypatch):
    """The numbers of kernels in what is written to the folder."""
    counts, keep = [], kept_binaries.keep_together

    def counted(keys, binary):
        counts.append(len(keys))
        keep(keys, binary)

    monkeypatch.setattr(kept_binaries, "keep_together", counted)
    return counts


def forget():
    """Look for kernels as in a new process."""
    building._made.clear()
    building._of_files.clear()


def test_the_binary_is_kept_once_and_read(queue):
    kept = []
    kernel = launch(build_of(queue, module(3), kept))
    assert (filled(queue, kernel) == 3).all()
    assert (filled(queue, kernel) == 3).all()
    (((key,), binary),) = kept
    assert key == "key"
    again = build_of(queue, b"not SPIR-V", kept, binary)
    assert (filled(queue, launch(again)) == 3).all()
    assert len(kept) == 1


def test_modules_are_written_when_they_are_needed(queue):
    written, kept = [], []

    def write():
        written.append(3)
        return module(3)

    kernel = launch(build_of(queue, write, kept))
    assert written == []
    for _ in range(2):  # interpreted, then compiled
        assert (filled(queue, kernel) == 3).all()
    assert written == [3]
    known = build_of(queue, lambda: pytest.fail("its binary is known"), kept, kept[0][1])
    assert (filled(queue, launch(known)) == 3).all()


def test_modules_are_known_by_the_names_of_their_kernels(queue, folder, written):
    def modules(write):
        return {f"filled_{n}": building.Module(f"filled_{n}", partial(write, n)) for n in (1, 2)}

    assert values(queue, started(queue, modules(lambda n: module(n, f"filled_{n}")))) == [1, 2]
    forget()
    known = started(queue, modules(lambda n: pytest.fail(f"the binary of {n} is known")))
    assert values(queue, known) == [1, 2]
    assert written == [2]


def test_only_kernels_that_remain_are_written(queue, monkeypatch):
    names = []
    monkeypatch.setattr(building.listing, "write", lambda name, _: names.append(name))
    monkeypatch.setattr(building, "_made", OrderedDict())
    program = sycl_dnn.compile(lambda x: F.tanh(x) * F.exp(x) + F.sin(x) * 0.123)
    program(dpnp.ones((7, 3), dtype="f4", sycl_queue=queue))
    assert len(names) == 1


def test_a_wrong_binary_is_replaced(queue):
    kept = []
    build = build_of(queue, module(4), kept, b"not a binary")
    assert (filled(queue, launch(build)) == 4).all()
    assert len(kept) == 1


def test_a_refusal_names_the_kernel(queue):
    kernel = launch(building.compiled(queue, b"not SPIR-V", "filled"))
    for _ in range(2):
        with pytest.raises(errors.Unimplemented, match=r"filled: .*refuses this kernel"):
            filled(queue, kernel)


def test_threads_wait_for_one_build(queue):
    kept, result = [], []
    kernel = launch(build_of(queue, module(5), kept))
    in_threads(8, lambda _: result.append(filled(queue, kernel)))
    np.testing.assert_array_equal(result, np.full((8, 16), 5, "f4"))
    assert len(kept) == 1


#: Three kernels with different names.
THREE = {f"filled_{n}": module(n, f"filled_{n}") for n in (1, 2, 3)}


def test_kernels_that_are_started_together_are_one_build(queue, folder, written):
    assert values(queue, started(queue, THREE)) == [1, 2, 3]
    assert written == [3]
    forget()
    assert values(queue, started(queue, THREE)) == [1, 2, 3]
    assert written == [3]


def test_the_next_program_builds_what_is_missing(queue, folder, written):
    values(queue, started(queue, THREE))
    forget()
    more = {**THREE, "filled_4": module(4, "filled_4")}
    assert values(queue, started(queue, more)) == [1, 2, 3, 4]
    assert written == [3, 1]
    forget()
    assert values(queue, started(queue, {"filled_2": THREE["filled_2"]})) == [2]
    assert written == [3, 1]


def test_kernels_of_one_name_are_not_mixed_up(queue, folder, written):
    builds = [building.compiled(queue, module(n), "filled") for n in (6, 7, 8)]
    kernels = [launch(build) for build in builds]
    _core.Kernel.start_together(kernels, [1] * len(kernels))
    assert [filled(queue, kernel)[0] for kernel in kernels] == [6, 7, 8]
    assert written == [1, 1, 1]


def test_a_refused_kernel_is_named_and_the_others_run(queue, folder, written):
    kernels = started(queue, {**THREE, "wrong": b"not SPIR-V"})
    with pytest.raises(errors.Unimplemented, match=r"^wrong: .*refuses this kernel"):
        filled(queue, kernels.pop("wrong"))
    assert values(queue, kernels) == [1, 2, 3]
    assert written == [1, 1, 1]


@pytest.mark.parametrize("damage", ["removed", "cut", "another"])
def test_a_damaged_file_of_several_kernels_is_written_again(queue, folder, written, damage):
    values(queue, started(queue, THREE))
    forget()
    path = max(folder.iterdir(), key=lambda p: p.stat().st_size)
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:1000] if damage == "cut" else b"")
    assert values(queue, started(queue, THREE)) == [1, 2, 3]
    assert written == [3, 3]
    forget()
    assert values(queue, started(queue, THREE)) == [1, 2, 3]
    assert written == [3, 3]


def test_a_file_without_the_kernel_is_not_used(queue, folder, written):
    values(queue, started(queue, THREE))
    forget()
    name = kept_binaries.key(queue, module(9, "other").hex(), building._OPTIONS)
    small = min(folder.iterdir(), key=lambda p: p.stat().st_size)
    kept_binaries.keep(name, kept_binaries.load(small.stem))
    assert values(queue, started(queue, {"other": module(9, "other")})) == [9]
    assert written == [3, 1]


def test_threads_start_the_same_kernels_together(queue, folder, written):
    result = []
    in_threads(8, lambda _: result.append(values(queue, started(queue, THREE))))
    assert result == [[1, 2, 3]] * 8
    assert sum(written) == 3


def test_an_error_while_looking_leaves_nothing_waiting(queue, folder):
    def failing(build):
        raise OSError("no disk")

    bad = launch(_core.ProgramBuild(queue, module(1), failing, print))
    good = launch(building.compiled(queue, THREE["filled_1"], "filled_1"), "filled_1")
    with pytest.raises(OSError, match="no disk"):
        _core.Kernel.start_together([good, bad], [1, 1])
    assert (filled(queue, good) == 1).all()


def test_exit_does_not_wait_for_what_was_not_begun():
    run = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_forked_processes_refuse():
    script = f"""{STARTED}
if not os.fork():
    try:
        _core.ProgramBuild(queue, module(30), found, print)
    except RuntimeError:
        print("refused", flush=True)
    os._exit(0)
os.wait()
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    # The parent keeps at its end what it has built and not used.
    assert run.stdout.startswith("refused\n"), run.stderr


OPENCL_C = """__kernel void ones(__global float *x) { vstore16((float16)1, 0, x); }
__kernel void twos(__global float *x) { vstore16((float16)2, 0, x); }
"""


def test_opencl_c_is_built_when_a_kernel_is_used(queue, folder, written):
    kernels = {n: launch(building.compiled(queue, OPENCL_C, n), n) for n in ("ones", "twos")}
    assert written == []
    assert values(queue, kernels) == [1, 2]
    assert written == [1]
    forget()
    assert values(queue, started(queue, dict.fromkeys(kernels, OPENCL_C))) == [1, 2]
    assert written == [1]


def test_opencl_c_is_begun_while_a_function_is_traced(queue, folder, monkeypatch):
    found, trace = [], SimpleNamespace(engine=SimpleNamespace(sycl_queue=queue))
    monkeypatch.setattr(building, "_found", lambda q, s, b: (found.append(s), ("", b""))[1])
    kernels = [
        launching.kernel_of(trace, source, "ones", (), 1, 1)
        for source in (building.Module("ones", lambda: module(1, "ones")), OPENCL_C + "\n\n")
    ]
    assert found == [OPENCL_C + "\n\n"]
    assert values(queue, {"ones": kernels[1]}) == [1]


def test_opencl_c_is_not_linked_with_other_modules(queue, folder, written):
    kernels = started(queue, {"ones": OPENCL_C, "filled": module(3), "twos": OPENCL_C + "\n"})
    assert values(queue, kernels) == [1, 3, 2]
    assert written == [1, 1, 1]


def test_opencl_c_that_is_rejected_raises_an_error_when_it_is_used(queue, folder):
    kernel = launch(building.compiled(queue, "__kernel void ones(", "ones"), "ones")
    with pytest.raises(sycl_dnn.Unimplemented, match="ones: the device's compiler refuses"):
        filled(queue, kernel)


def test_without_a_compiler_of_opencl_c_there_is_no_kernel(queue, folder, monkeypatch):
    def fails(*args):
        raise building.SyclProgramCompilationError("no compiler")

    monkeypatch.setattr(building, "_is_cpu_with_compiler", lambda device: False)
    monkeypatch.setattr(building, "create_program_from_source", fails)
    assert building.compiled(queue, OPENCL_C, "ones") is None
