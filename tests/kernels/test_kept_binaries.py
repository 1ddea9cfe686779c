# SPDX-License-Identifier: Apache-2.0
"""Cached kernel binaries: recompilation, invalid files, permissions."""

import os
import stat
import subprocess
import sys

import dpctl
import dpnp
import numpy as np
import pytest
from dpctl.program import create_program_from_source

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.kernels import building, kept_binaries

SOURCE = "kernel void count(global int *p) { p[get_global_id(0)] = get_global_id(0) + 5; }"

#: Prints how many sources were compiled, then a line of values.
CODE = """
import sys
import dpnp, numpy as np
import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels import kept_binaries
n_compiled, keep = 0, kept_binaries.keep
def counted(*arguments):
    global n_compiled
    n_compiled += 1
    return keep(*arguments)
kept_binaries.keep = counted
queue = sycl_dnn.default_queue(sys.argv[1])
x = dpnp.asarray(np.arange(1152, dtype="f4").reshape(4, 8, 6, 6) % 7, sycl_queue=queue)
y = dpnp.asnumpy(F.group_norm(x, 2))
sycl_dnn._core.Kernel.start_together([], [])  # keeps what has been built
print(n_compiled, *y.ravel())
sys.stdout.flush()
"""


@pytest.fixture
def build(queue, monkeypatch):
    """Build a source as in a new process; return whether it was compiled."""
    compiled = []

    def counted(*arguments):
        compiled.append(arguments)
        return create_program_from_source(*arguments)

    def written(*arguments):
        compiled.append(arguments)
        keep(*arguments)

    keep = kept_binaries.keep_together
    monkeypatch.setattr(building, "create_program_from_source", counted)
    monkeypatch.setattr(kept_binaries, "keep_together", written)

    def run(source=SOURCE):
        before = len(compiled)
        program = building._built(queue, source)
        assert _runs(queue, program)
        _core.Kernel.start_together([], [])  # keeps what has been built
        return len(compiled) > before

    return run


@pytest.fixture
def kept(tmp_path, monkeypatch, build):
    """An empty cache folder for this test."""
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path))
    return tmp_path / "kernels"


def _runs(queue, program):
    array = dpnp.zeros(16, dtype="i4", sycl_queue=queue)
    is_build = isinstance(program, _core.ProgramBuild)
    handle = program if is_build else program.get_sycl_kernel("count")
    kernel = _core.Kernel(handle, "count", [], 16, 8)
    engine = dnnl.Engine(queue)
    arguments = [("array", 0, 0, dnnl.MemoryDesc((16,), "s32", "a"))]
    launch = _core.Program(engine, arguments, [(kernel, [(0, 0)])], 1, 0)
    stream = dnnl.Stream(engine, queue, ordered=True)
    launch.run(stream, [array.get_array().usm_data]).wait()
    if sycl_dnn.device.is_simulated("gpu") and queue.sycl_device.has_aspect_gpu:
        return True  # nothing is computed there
    return (dpnp.asnumpy(array) == np.arange(16) + 5).all()


def _start(kind, folder):
    return subprocess.Popen(
        [sys.executable, "-c", CODE, kind],
        env={**os.environ, "SYCL_DNN_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


def _answer(process):
    """Return how many sources a process has compiled, and its values."""
    n_compiled, *values = process.communicate(timeout=900)[0].split()
    return int(n_compiled), np.array(values, dtype="f4")


def _file(folder, queue, source=SOURCE):
    """Return the file of a source; builds that other tests began may be in the folder, too."""
    path = folder / f"{kept_binaries.key(queue, source, building._OPTIONS)}.kernel"
    assert path.exists()
    return path


@pytest.mark.slow
def test_the_next_process_compiles_nothing(queue, tmp_path):
    kind = queue.sycl_device.device_type.name
    (first, values), (second, again) = (_answer(_start(kind, tmp_path)) for _ in range(2))
    assert (first > 0, second) == (True, 0)
    if not sycl_dnn.device.is_simulated(kind):
        x = (np.arange(1152) % 7).reshape(4, 2, 144)
        x = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
        np.testing.assert_allclose(values, x.ravel(), rtol=1e-4, atol=1e-5)
        assert (values == again).all()


@pytest.mark.slow
def test_processes_at_the_same_time(tmp_path):
    running = [_start("cpu", tmp_path) for _ in range(4)]
    answers = [_answer(process) for process in running]
    assert all((values == answers[0][1]).all() for _, values in answers)
    assert {path.suffix for path in (tmp_path / "kernels").iterdir()} == {".kernel"}
    assert _answer(_start("cpu", tmp_path))[0] == 0


def test_compiled_once(build, kept):
    assert build()
    assert not build()
    assert build(SOURCE + "\n// another source")


DAMAGES = {
    "nothing": lambda content: b"",
    "half a head": lambda content: content[:20],
    "a head": lambda content: content[: kept_binaries._HEAD],
    "half": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "longer": lambda content: content + b"\0",
    "another format": lambda content: content.replace(b"kernel 1", b"kernel 0", 1),
    "something else": lambda content: os.urandom(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.sweep(2)
def test_damaged_files_are_rewritten(build, kept, damage, queue):
    assert build()
    path = _file(kept, queue)
    content = path.read_bytes()
    path.write_bytes(DAMAGES[damage](content))
    assert build()
    assert path.exists()
    assert not build()


def test_a_file_of_another_kernel_is_not_used(build, kept, queue):
    build()
    mine = _file(kept, queue)
    build(SOURCE + "\n// another")
    other = _file(kept, queue, SOURCE + "\n// another")
    mine.write_bytes(other.read_bytes())
    assert build()


def test_binaries_that_the_driver_refuses_are_rewritten(build, kept, queue):
    name = kept_binaries.key(queue, SOURCE, building._OPTIONS)
    kept_binaries.keep(name, b"no program of any device")
    assert kept_binaries.load(name) == b"no program of any device"
    assert build()
    assert not build()


def test_invalid_binaries(queue):
    program = create_program_from_source(queue, SOURCE)
    binary = _core.Kernel.program_binary(program, queue)
    assert _runs(queue, _core.Kernel.program_of_binary(queue, binary))
    for wrong in (b"", b"nothing", binary[: len(binary) // 2]):
        assert _core.Kernel.program_of_binary(queue, wrong) is None
    with pytest.raises(TypeError, match=r"program must be a dpctl\.program\.SyclProgram, got int"):
        _core.Kernel.program_binary(3, queue)
    with pytest.raises(TypeError, match=r"queue must be a dpctl\.SyclQueue, got int"):
        _core.Kernel.program_of_binary(3, binary)


def test_disabled_cache(build, tmp_path, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert build()
    assert build()
    assert list(tmp_path.iterdir()) == []


def test_location_of_the_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("SYCL_DNN_CACHE_DIR")
    monkeypatch.setenv("HOME", "/home/anybody")
    for cache, base in (("/x", "/x"), ("", "/home/anybody/.cache"), ("x", "/home/anybody/.cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        assert str(kept_binaries.folder()) == f"{base}/sycl_dnn/kernels"
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path))
    assert kept_binaries.folder() == tmp_path / "kernels"


@pytest.mark.parametrize("place", ["/dev/null", "/proc/self", "/proc/self/fd/nothing"])
def test_a_read_only_folder(build, monkeypatch, place):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", place)
    assert build()
    assert build()


def test_a_file_that_cannot_be_replaced(build, kept, queue):
    build()
    path = _file(kept, queue)
    path.unlink()
    path.mkdir()
    assert build()
    assert path.exists()
    assert not list(kept.glob("*.part"))


def test_only_the_user_may_read_or_write(build, kept, queue):
    mask = os.umask(0)
    try:
        build()
    finally:
        os.umask(mask)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert stat.S_IMODE(_file(kept, queue).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_folders_writable_by_others_are_not_used(build, kept, mode):
    build()
    kept.chmod(mode)
    assert build()
    kept.chmod(0o755)
    assert not build()


def test_folders_of_another_user_are_not_used(build, kept, monkeypatch):
    build()
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    assert build()


def test_symbolic_links_are_not_followed(build, kept, tmp_path, queue):
    build()
    path = _file(kept, queue)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert build()
    assert not path.is_symlink()
    kept.rename(tmp_path / "folder")
    kept.symlink_to(tmp_path / "folder")
    assert build()


def test_the_key_includes_device_and_driver(kept, queue, monkeypatch):
    device = queue.sycl_device
    facts = kept_binaries._device_facts(queue)
    assert {device.name, device.driver_version, device.sycl_platform.name} <= set(facts)
    names = {kept_binaries.key(queue, SOURCE, options) for options in ("", "-cl-mad-enable")}
    for position in range(len(facts)):
        changed = [*facts[:position], facts[position] + ".1", *facts[position + 1 :]]
        monkeypatch.setattr(kept_binaries, "_device_facts", lambda queue, c=changed: c)
        names.add(kept_binaries.key(queue, SOURCE, ""))
    monkeypatch.setattr(kept_binaries, "_processor", lambda: "another")
    names.add(kept_binaries.key(queue, SOURCE, ""))
    monkeypatch.setenv("CL_CONFIG_CPU_VECTORIZER_MODE", "4")
    names.add(kept_binaries.key(queue, SOURCE, ""))
    assert len(names) == 2 + len(facts) + 2


def test_processors_differ_by_their_features():
    features = kept_binaries._processor()
    assert "model" in features or "CPU part" in features
    assert "MHz" not in features, "what changes while a machine runs"


def test_nothing_is_cached_without_device_facts(build, kept, monkeypatch):
    monkeypatch.setattr(kept_binaries, "_processor", lambda: "")
    assert build()
    assert not kept.exists()


def test_the_cache_is_bounded(kept, monkeypatch):
    monkeypatch.setattr(kept_binaries, "_LIMIT", 5_000)
    names = [f"{n:064x}" for n in range(6)]
    kept_binaries.keep(names[0], b"x" * 1_000)
    (kept / "notes").write_bytes(b"x" * 10_000)
    (kept / "torn.part").write_bytes(b"x" * 500)
    for age, path in enumerate(sorted(kept.iterdir(), reverse=True)):
        os.utime(path, ns=(age, age))
    for name in names[1:4]:
        kept_binaries.keep(name, b"x" * 1_000)
        assert kept_binaries.load(names[0]), "used all the time"
    # The cache is now too large: the damaged and the least recently used files are removed.
    os.utime(kept / f"{names[1]}.kernel", ns=(10, 10))
    for name in names[4:]:
        kept_binaries.keep(name, b"x" * 1_000)
    left = {path.name for path in kept.iterdir()}
    assert {f"{names[0]}.kernel", f"{names[5]}.kernel", "notes"} <= left
    assert not {f"{names[1]}.kernel", "torn.part"} & left
    kept_binaries.keep(names[1], b"x" * 5_000)
    assert kept_binaries.load(names[1]) is None
    assert {path.name for path in kept.iterdir()} == left


def test_two_contexts_share_files(build, kept, queue):
    assert build()
    other = dpctl.SyclQueue(dpctl.SyclContext(queue.sycl_device), queue.sycl_device)
    name = kept_binaries.key(other, SOURCE, building._OPTIONS)
    assert _runs(other, _core.Kernel.program_of_binary(other, kept_binaries.load(name)))


def test_a_file_is_there_until_a_load_finds_it_damaged(kept):
    kept_binaries.keep("of_this_name", b"binary")
    assert kept_binaries.has("of_this_name", 6)
    assert not kept_binaries.has("of_this_name", 5)
    assert not kept_binaries.has("of_another", 6)
    path = kept_binaries.folder() / "of_this_name.kernel"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert kept_binaries.load("of_this_name") is None
    assert not kept_binaries.has("of_this_name", 6)
