# SPDX-License-Identifier: Apache-2.0
"""Kernels that are interpreted in their first run: the same bits, and when they are built."""

import json

import fresh_process
import pytest
from interpreting import NEEDS_INTERPRETER, output

pytestmark = NEEDS_INTERPRETER

#: Prints a digest of each result of two runs, by name.
RESULTS = """
import hashlib, json
import numpy as np, dpnp, sycl_dnn
import sycl_dnn.functional as F
rng = np.random.default_rng(0)
edges = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 88.7, -103.9, 3e38, -2e6, 5e20], "f4"
)

def array(shape, dtype):
    if dtype == "bool":
        return dpnp.asarray(rng.random(shape) < 0.5)
    if dtype.startswith(("int", "uint")):
        low = 0 if dtype.startswith("u") else -100
        return dpnp.asarray(rng.integers(low, 100, shape).astype(dtype))
    x = (rng.standard_normal(shape) * 3).astype("f4")
    x.flat[: len(edges)] = edges[: x.size]
    return F.astype(dpnp.asarray(x), dtype)

def flat(value):
    return value if isinstance(value, (tuple, list)) else [value]

def content(y):
    is_narrow = str(y.dtype) in ("bfloat16", "float16")
    values = (F.astype(y, "float32") if is_narrow else y).asnumpy()
    if values.dtype.kind == "f":  # the sign of NaN is none
        values[np.isnan(values)] = np.nan
    return values.tobytes()

FLOATS = {
    name: getattr(F, name)
    for name in "exp expm1 log log1p tanh rsqrt sqrt sigmoid silu gelu relu erf sin cos asin atan "
    "round floor trunc sign abs isnan isinf softplus elu mish hardswish logsigmoid".split()
} | {
    "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, 0),
    "sums": lambda x: (F.sum(x, 0), F.sum(x, 1), F.sum(x)), "mean": lambda x: F.mean(x, 1),
    "var": lambda x: F.var(x, dim=0), "max": lambda x: F.amax(x, 1), "argmax": lambda x:
    F.argmax(x, 1), "cumsum": lambda x: F.cumsum(x, 1), "logcumsumexp": lambda x:
    F.logcumsumexp(x, 0), "add": lambda x: F.add(x, x[:, :1]), "transposed": lambda x:
    F.mul(x.T, F.relu(x.T)), "flip": lambda x: F.flip(x, [1]), "roll": lambda x: F.roll(x, 3, 1),
    "pad": lambda x: F.pad(x, (1, 2)), "where": lambda x: F.where(F.gt(x, 0), x, -x),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]), "normalize": F.normalize,
    "remainder": lambda x: F.remainder(x, 0.7), "fmod": lambda x: F.fmod(x, 0.7),
    "atan2": lambda x: F.atan2(x, F.flip(x, [1])), "to int": lambda x: F.astype(x, "int32"),
    "cat": lambda x: F.cat([x, x[:, :3]], 1), "take": lambda x: F.index_select(x, 0,
    dpnp.asarray([2, 0, 2])), "scatter": lambda x: F.index_add(x, 0, dpnp.asarray([2, 0]), x[:2]),
}
INTEGERS = {
    "arithmetic": lambda x: (F.add(x, 7), F.mul(x, x), F.sub(5, x)),
    "quotients": lambda x: (F.floor_divide(x, 7), F.remainder(x, 7), F.div(x, 3)),
    "bits": lambda x: (F.bitwise_and(x, 12), F.bitwise_xor(x, 5), F.bitwise_left_shift(x, 2)),
    "compared": lambda x: (F.gt(x, 3), F.eq(x, 1), F.maximum(x, F.flip(x, [0]))),
    "sums": lambda x: (F.sum(x, 0), F.cumsum(x, 1), F.amin(x, 1)),
    "floats": lambda x: F.astype(x, "float32"),
}
cases = [(n, f, d) for d in ("float32", "bfloat16", "float16", "float64")
         for n, f in FLOATS.items()]
cases += [(n, f, d) for d in ("int8", "uint8", "int16", "int32", "int64") for n, f in
          INTEGERS.items()]
columns = {"columns": lambda x: (F.sum(x, 0), F.amax(x, 0), F.argmin(x, 0), F.any(x, 0))}
many = [(n, f, d) for d in ("float32", "bfloat16", "int32") for n, f in columns.items()]
digests = {}
for shape in ((5, 19), (3, 200), (70, 33), (600, 470)):
    for name, function, dtype in many if shape[0] > 500 else cases:
        if dtype == "float64" and not sycl_dnn.default_queue().sycl_device.has_aspect_fp64:
            continue
        x = array(shape, dtype)
        try:
            runs = [b"".join(map(content, flat(function(x)))) for _ in range(2)]
        except (TypeError, NotImplementedError) as error:
            runs = [str(error).encode()] * 2
        digests[f"{name} {dtype} {shape}"] = [hashlib.sha1(r).hexdigest() for r in runs]
print(json.dumps(digests))
"""


@pytest.mark.slow
def test_interpreted_and_compiled_kernels_have_the_same_bits():
    first = json.loads(
        fresh_process.output(RESULTS, SYCL_DNN_INTERPRET="first", SYCL_DNN_CACHE_DIR="")
    )
    compiled = json.loads(fresh_process.output(RESULTS, SYCL_DNN_INTERPRET="never"))
    assert len(first) > 500
    assert {n for n, (a, b) in first.items() if a != b} == set()
    assert {n for n in first if first[n] != compiled[n]} == set()


def counted(code, mode="first"):
    """Return the output of code over an array that is too large to be interpreted at once."""
    return output('x = dpnp.ones((400, 500), dtype="f4")\n' + code, mode)


def test_the_second_run_builds():
    code = "F.exp(x); print(n_built()); F.exp(x); print(n_built()); F.exp(x); print(n_built())"
    assert counted(code).split() == ["0", "1", "1"]


def test_another_shape_counts_as_a_second_run():
    code = "F.exp(x); F.exp(dpnp.ones((400, 700), dtype='f4')); print(n_built())"
    assert counted(code) == "1"


def begun_after(seconds, code):
    """Code in which the builds in the background begin so long after a function is traced."""
    start = "sycl_dnn._core.Kernel.start_together"
    return f"import functools\n{start} = functools.partial({start}, delay={seconds})\n{code}"


@pytest.mark.parametrize(("seconds", "is_built"), [(0, "True"), (1e6, "False")])
def test_calls_of_a_compiled_function_do_not_wait_until_it_is_built(seconds, is_built):
    code = """
f = sycl_dnn.compile(lambda x: F.sum(F.exp(x) * F.cumsum(F.sqrt(x), 1), 0))
before = n_built()
results = [f(x).asnumpy() for _ in range(3)]
while SECONDS == 0 and n_built() == before:
    results.append(f(x).asnumpy())
print(n_built() > before, all((r == results[0]).all() for r in results))
""".replace("SECONDS", str(seconds))
    assert counted(begun_after(seconds, code)).split() == [is_built, "True"]


def test_calls_wait_once_interpreting_takes_longer_than_building():
    code = """
x = dpnp.ones((1000, 390), dtype="f4")
f = sycl_dnn.compile(lambda x: F.exp(F.tanh(F.log1p(F.exp(x)))))
before = n_built()
results = [f(x)[0].asnumpy() for _ in range(3)]
print(n_built() > before)
results += [f(x)[0].asnumpy() for _ in range(200)]
print(n_built() > before, all((r == results[0]).all() for r in results))
"""
    assert counted(begun_after(1e6, code)).split() == ["False", "True", "True"]


def test_kernels_that_no_call_used_are_kept_at_exit(tmp_path):
    code = """
import time, dpnp, sycl_dnn
import sycl_dnn.functional as F
sycl_dnn.compile(lambda x: F.cumsum(F.exp(x), 1))(dpnp.ones((4, 5), dtype="f4"))
time.sleep(0.3)  # the background has begun
"""
    fresh_process.output(code, SYCL_DNN_INTERPRET="first", SYCL_DNN_CACHE_DIR=str(tmp_path))
    assert list(tmp_path.rglob("*.kernel"))


def test_a_bound_plan_builds_in_its_second_call():
    code = "p = sycl_dnn.plan(F.exp, x); p(); a = n_built(); p(); print(a, n_built())"
    assert counted(code) == "0 1"


def test_very_large_arrays_and_functions_of_the_driver_are_built_at_once():
    code = """
F.exp(dpnp.ones(1 << 21, dtype="f4")); print(n_built())
F.log1p(dpnp.ones(1 << 24, dtype="f4")); print(n_built())
F.tan(x); print(n_built())
"""
    assert counted(code).split() == ["0", "1", "2"]


def test_large_kernels_of_a_program_count_together():
    code = """
x = dpnp.ones(1 << 23, dtype="f4")
F.log1p(x); print(n_built())
sycl_dnn.compile(lambda x: (F.asin(x), F.sum(F.erfinv(x)), F.mean(F.atan2(x, x))))(x)
print(n_built() > 0)
"""
    assert counted(code).split() == ["0", "True"]


def test_large_kernels_of_the_fewest_elements_are_interpreted_beside_others():
    code = """
x, y = dpnp.ones((1000, 1100), dtype="f4"), dpnp.ones(1 << 24, dtype="f4")
f = sycl_dnn.compile(lambda x, y: F.erfinv(F.sin(F.asin(F.tanh(y)))) * F.amax(x, 1)[:1])
f(x, y); print(n_built())
"""
    assert counted(begun_after(1e6, code)) == "1"


def test_kernels_that_visit_many_elements_of_small_arrays_are_built_at_once():
    code = """
for n in (1000, 4000):
    sycl_dnn.compile(lambda i: F.sum(F.one_hot(i, n), 1))(dpnp.arange(n)); print(n_built())
"""
    assert counted(code).split() == ["0", "1"]


def test_kernels_that_visit_few_elements_of_large_arrays_are_interpreted():
    code = """
table, i = dpnp.ones((1 << 19, 4), dtype="f4"), dpnp.arange(9)
a, b = F.embedding(i, table), sycl_dnn.compile(lambda i, t: F.exp(F.embedding(i, t)))(i, table)
print(n_built(), float(a.sum()), F.sum(b).item() > 97)
"""
    assert counted(code) == "0 36.0 True"


@pytest.mark.parametrize(("n", "built"), [(2, "0"), (9, "1")])
def test_equal_kernels_of_a_program_count_together(n, built):
    code = f"""
def repeated(a):
    for _ in range({n}):
        a = F.cumsum(a, 1)
    return a
sycl_dnn.compile(repeated)(dpnp.ones((256, 512), dtype="f4")); print(n_built())
"""
    assert counted(code) == built


def test_a_profile_shows_kernels_that_the_driver_runs():
    code = """
with sycl_dnn.profile() as p:
    F.exp(x).sycl_queue.wait()
print(n_built(), "interpreted" in str(p))
"""
    assert counted(code) == "1 False"


@pytest.mark.parametrize(("mode", "n"), [("never", "1"), ("always", "0")])
def test_the_variable_decides(mode, n):
    assert counted("F.exp(x); F.exp(x); print(n_built())", mode) == n


def test_threads_share_the_first_runs():
    code = """
import threading
functions = [F.exp, F.tanh, F.log1p, lambda x: F.softmax(x, 1), lambda x: F.sum(x, 0)]
expected, results = [f(x + 0.5).asnumpy() for f in functions], []
def work():
    y = x + 0.5
    for _ in range(20):
        results.append(all((f(y).asnumpy() == e).all() for f, e in zip(functions, expected)))
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(results), all(results))
"""
    assert counted(code) == "160 True"


def test_items_of_a_group_wait_at_barriers_and_share_memory():
    code = """
from sycl_dnn import _core, onednn as dnnl
from sycl_dnn.kernels import building
from sycl_dnn.kernels.spirv import Kernel
k = Kernel("turned", [("pointer", "f32"), ("pointer", "f32")], 8)
item, group, eight = k.number_of("item"), k.number_of("group"), k.constant(8, "i32")
memory, place = k.group_memory("f32", 8), k.call("add", k.call("mul", group, eight), item)
k.share(memory, item, k.load(k.parameters[0], k.converted(place, "i64")))
k.barrier()
other = k.call("sub", k.constant(7, "i32"), item)
k.store(k.parameters[1], k.converted(place, "i64"), k.shared(memory, other))
queue = x.sycl_queue
kernel = _core.Kernel(building.compiled(queue, k.module(), "turned"), "turned", [], 24, 8)
engine, desc = dnnl.Engine(queue), dnnl.MemoryDesc((24,), "f32", "a")
values = [("array", 0, 0, desc), ("array", 1, 0, desc)]
program = _core.Program(engine, values, [(kernel, [(0, 0), (1, 1)])], 2, 0)
a, b = dpnp.arange(24, dtype="f4"), dpnp.zeros(24, dtype="f4")
program.run(dnnl.Stream(engine, queue, ordered=True), [a.get_array(), b.get_array()])
print(kernel.is_launched, b.asnumpy().astype(int).tolist())
"""
    expected = [8 * group + 7 - item for group in range(3) for item in range(8)]
    assert counted(code) == f"False {expected}"
