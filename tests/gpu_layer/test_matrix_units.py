# SPDX-License-Identifier: Apache-2.0
"""GPUs with matrix units: what they answer, and the functions of Intel's GPU compiler for them."""

import pytest

#: Name -> does it have matrix units, its sub-groups, local memory.
GPUS = {
    "xehp": (False, [8, 16, 32], 65536),
    "tgl": (False, [8, 16, 32], 65536),
    "arc": (True, [8, 16, 32], 65536),
    "pvc": (True, [16, 32], 131072),
    "bmg": (True, [16, 32], 131072),
}

BEGIN = """
import dpctl
import dpnp
import numpy as np
from dpctl.program import create_program_from_source

queue = dpctl.SyclQueue("opencl:gpu")
"""

CONVERSIONS = """
SOURCE = '''
short __builtin_IB_ftobf_1(float) __attribute__((const));
float __builtin_IB_bftof_1(short) __attribute__((const));
#define KERNEL(n)                                                              \\\\
    short##n __builtin_IB_ftobf_##n(float##n) __attribute__((const));          \\\\
    float##n __builtin_IB_bftof_##n(short##n) __attribute__((const));          \\\\
    kernel void to_##n(global float##n *x, global short##n *y) {               \\\\
        y[get_global_id(0)] = __builtin_IB_ftobf_##n(x[get_global_id(0)]);     \\\\
    }                                                                          \\\\
    kernel void from_##n(global short##n *x, global float##n *y) {             \\\\
        y[get_global_id(0)] = __builtin_IB_bftof_##n(x[get_global_id(0)]);     \\\\
    }
kernel void to_1(global float *x, global short *y) {
    y[get_global_id(0)] = __builtin_IB_ftobf_1(x[get_global_id(0)]);
}
kernel void from_1(global short *x, global float *y) {
    y[get_global_id(0)] = __builtin_IB_bftof_1(x[get_global_id(0)]);
}
KERNEL(2) KERNEL(4) KERNEL(8) KERNEL(16)
'''
program = create_program_from_source(queue, SOURCE, "-Dcl_future_bf16_cvt")


def run(name, width, values, dtype):
    x = dpnp.asarray(values, sycl_queue=queue)
    y = dpnp.empty(x.shape, dtype=dtype, sycl_queue=queue)
    queue.wait()
    arguments = [a.get_array().usm_data for a in (x, y)]
    queue.submit(program.get_sycl_kernel(f"{name}_{width}"), arguments, [x.size // width])
    queue.wait()
    return y.asnumpy()


codes = np.arange(1 << 16, dtype="u4")
exact = (codes << 16).view("f4")
below, half, above = ((codes << 16 | n).view("f4") for n in (0x7FFF, 0x8000, 0x8001))
number = ~np.isnan(exact)
up = codes + 1
for width in (1, 2, 4, 8, 16):
    back = run("from", width, codes.astype("u2").view("i2"), "f4")
    assert np.array_equal(back.view("u4"), exact.view("u4"))
    to = lambda x: run("to", width, x, "i2").view("u2").astype("u4")
    for x, wanted in ((exact, codes), (below, codes), (half, codes + (codes & 1)), (above, up)):
        finite = number & ~np.isinf(exact)
        assert np.array_equal(to(x)[finite], wanted[finite])
    infinite = np.isinf(exact)
    assert np.array_equal(to(exact)[infinite], codes[infinite])
    made = to(np.where(number, np.nan, below).astype("f4"))
    assert np.isnan((made << 16).view("f4")).all()
print("conversions are right")
"""

PRODUCTS = """
SOURCE = '''
int __builtin_IB_sub_group_idpas_s8_s8_8_1(int, int, int8) __attribute__((const));
__attribute__((intel_reqd_sub_group_size(SIZE)))
kernel void product(global int *sum, global int *row, global int8 *column) {
    int i = get_global_id(0);
    sum[i] = __builtin_IB_sub_group_idpas_s8_s8_8_1(sum[i], row[i], column[i]);
}
'''
options = "-Dcl_intel_subgroup_matrix_multiply_accumulate"
for size in (16, 32):
    program = create_program_from_source(queue, SOURCE.replace("SIZE", str(size)), options)
    rng = np.random.default_rng(size)
    row, columns = rng.integers(-128, 128, 4 * size), rng.integers(-128, 128, (size, 32))
    sums = rng.integers(-1000, 1000, size).astype("i4")
    given = [sums, row.astype("i1").view("i4"), columns.astype("i1").view("i4")]
    arrays = [dpnp.asarray(a, sycl_queue=queue) for a in given]
    queue.wait()
    arguments = [a.get_array().usm_data for a in arrays]
    queue.submit(program.get_sycl_kernel("product"), arguments, [size], [size])
    queue.wait()
    assert np.array_equal(arrays[0].asnumpy(), sums + columns @ row[:32])
print("products are right")
"""


@pytest.mark.parametrize("gpu", GPUS)
def test_a_gpu_answers_as_its_kind(gpu, python):
    code = BEGIN + "d = queue.sycl_device\nprint(d.local_mem_size, d.sub_group_sizes)"
    told, _ = python(code, EXECUTING_GPU=gpu)
    _, sizes, local = GPUS[gpu]
    assert told.strip() == f"{local} {sizes}"


@pytest.mark.parametrize("gpu", [name for name, answers in GPUS.items() if answers[0]])
@pytest.mark.parametrize("code", [CONVERSIONS, PRODUCTS], ids=["bfloat16", "bytes"])
def test_functions_for_matrix_units(code, gpu, python):
    told, _ = python(BEGIN + code, EXECUTING_GPU=gpu)
    assert told.strip().endswith("are right")


def test_options_of_intels_gpu_compiler_are_left_out(python):
    source = "kernel void one(global float *x) { x[0] = 1; }"
    options = "-ze-intel-enable-auto-large-GRF-mode -cl-intel-256-GRF-per-thread"
    code = f"create_program_from_source(queue, {source!r}, {options!r})\nprint('made')"
    told, _ = python(BEGIN + code, EXECUTING_GPU="pvc")
    assert told.strip() == "made"
