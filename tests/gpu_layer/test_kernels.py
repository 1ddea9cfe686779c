# SPDX-License-Identifier: Apache-2.0
"""Kernels in OpenCL C: work-groups and sub-groups of any shape, atomics, scalars, memory, order."""

import ctypes

import dpctl
import dpctl.memory as dpm
import dpnp
import numpy as np
import pytest
from dpctl.program import create_program_from_source

# Where each work-item is: eight numbers, in the order of the launch.
PLACES = """
__attribute__((intel_reqd_sub_group_size(SIZE)))
kernel void places(global int *p) {
    p += 8 * get_global_linear_id();
    p[0] = get_local_id(0); p[1] = get_local_id(1); p[2] = get_local_id(2);
    p[3] = get_sub_group_id(); p[4] = get_sub_group_local_id(); p[5] = get_local_linear_id();
    p[6] = get_group_id(1) + get_num_groups(1) * get_group_id(2);
    p[6] = get_group_id(0) + get_num_groups(0) * p[6];
    p[7] = sub_group_reduce_add((int)get_local_linear_id());
}
"""


def submit(queue, *launch):
    """Run a kernel when dpnp has made its arrays, and wait."""
    queue.wait()
    queue.submit(*launch)


#: Work-groups along the first, second, third dimension, as oneDNN launches them.
SHAPES = [(64, 1, 1), (1, 64, 1), (16, 4, 1), (4, 16, 1), (8, 2, 4), (2, 4, 8), (1, 1, 32)]


def places_of(groups, shape, sub_group):
    """What PLACES writes on a GPU, from the definition."""
    size = [g * s for g, s in zip(groups, shape, strict=True)]
    z, y, x = np.meshgrid(*(np.arange(n) for n in size[::-1]), indexing="ij")
    lx, ly, lz = x % shape[0], y % shape[1], z % shape[2]
    linear = lx + shape[0] * (ly + shape[1] * lz)
    group = x // shape[0] + groups[0] * (y // shape[1] + groups[1] * (z // shape[2]))
    first = linear // sub_group * sub_group
    total = sub_group * first + sub_group * (sub_group - 1) // 2
    lanes = (lx, ly, lz, linear // sub_group, linear % sub_group, linear, group, total)
    return np.stack(lanes, axis=-1).reshape(-1, 8)


def test_sub_groups_of_a_kernel_that_names_no_size_are_of_16(queue, kernel):
    # As Intel's compiler for GPUs does; by itself a CPU without AVX-512 takes 8.
    text = "kernel void size(global int *p) { p[get_global_id(0)] = get_sub_group_size(); }"
    actual = dpnp.zeros(64, dtype="i4", sycl_queue=queue)
    submit(queue, kernel(text, "size"), [actual.get_array().usm_data], [64], [64])
    assert set(actual.asnumpy()) == {16}


@pytest.mark.parametrize("sub_group", [8, 16, 32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sub_groups_follow_each_other_in_a_group_of_any_shape(shape, sub_group, queue, kernel):
    groups = (3, 2, 2)
    found = kernel(PLACES.replace("SIZE", str(sub_group)), "places")
    expected = places_of(groups, shape, sub_group)
    actual = dpnp.full(expected.shape, -1, dtype="i4", sycl_queue=queue)
    sizes = [g * s for g, s in zip(groups, shape, strict=True)]
    submit(queue, found, [actual.get_array().usm_data], sizes[::-1], list(shape[::-1]))
    np.testing.assert_array_equal(actual.asnumpy(), expected)


BLOCKS = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void blocks(global const uint *a, global uint *b) {
    size_t at = 64 * (get_group_id(0) * get_num_sub_groups() + get_sub_group_id());
    uint4 v = intel_sub_group_block_read4(a + at);
    v.s0 += intel_sub_group_shuffle(v.s1, 15 - get_sub_group_local_id());
    intel_sub_group_block_write4(b + at, v);
}
"""


def test_block_reads_writes_and_shuffles(queue, kernel):
    found = kernel(BLOCKS, "blocks")
    a = np.arange(64 * 8, dtype="u4")
    given, actual = (
        dpnp.asarray(a, sycl_queue=queue),
        dpnp.zeros(a.size, dtype="u4", sycl_queue=queue),
    )
    submit(
        queue, found, [given.get_array().usm_data, actual.get_array().usm_data], [4, 32], [4, 16]
    )
    expected = a.reshape(8, 4, 16).copy()
    expected[:, 0] += expected[:, 1, ::-1]
    np.testing.assert_array_equal(actual.asnumpy(), expected.ravel())


ATOMICS = """
kernel void extremes(global const float *a, global atomic_float *least, global atomic_float *most,
                     global int *count) {
    atomic_min_global(least, a[get_global_id(0)]);
    atomic_max_global(most, a[get_global_id(0)]);
    atomic_inc(count);
}
"""


def test_atomics(queue, kernel):
    found = create_program_from_source(queue, ATOMICS, "-cl-std=CL3.0").get_sycl_kernel("extremes")
    a = np.random.default_rng(0).standard_normal(4096).astype("f4")
    least, most, count = (dpnp.zeros(1, dtype=t, sycl_queue=queue) for t in ("f4", "f4", "i4"))
    args = [x.get_array().usm_data for x in (dpnp.asarray(a, sycl_queue=queue), least, most, count)]
    submit(queue, found, args, [4096], [64])
    assert (float(least[0]), float(most[0]), int(count[0])) == (a.min(), a.max(), 4096)


DOUBLED = "kernel void doubled(global float *p) { p[get_global_id(0)] *= 2; }"


def test_group_size_chosen_by_the_driver(queue, kernel):
    found = kernel(DOUBLED, "doubled")
    for n in (1, 7, 97, 1000, 4096):
        array = dpnp.arange(n, dtype="f4", sycl_queue=queue)
        submit(queue, found, [array.get_array().usm_data], [n])
        np.testing.assert_array_equal(array.asnumpy(), 2 * np.arange(n))


@pytest.mark.parametrize("kind", ["Device", "Shared", "Host"])
def test_each_kind_of_memory(kind, queue, kernel):
    memory = getattr(dpm, f"MemoryUSM{kind}")(4096, queue=queue)
    assert memory.get_usm_type() == kind.lower()
    memory.copy_from_host(np.arange(1024, dtype="f4").view("u1"))
    submit(queue, kernel(DOUBLED, "doubled"), [memory], [1024], [64])
    np.testing.assert_array_equal(memory.copy_to_host().view("f4"), 2 * np.arange(1024))
    if kind != "Device":
        np.testing.assert_array_equal(np.asarray(memory).view("f4"), 2 * np.arange(1024))


ADDED = "kernel void added(global int *p, int n) { p[get_global_id(0)] += n; }"


@pytest.mark.parametrize("wide", [ctypes.c_int, ctypes.c_longlong])
def test_scalars_of_another_size(wide, queue, kernel):
    """As Intel's GPU driver takes them."""
    array = dpnp.zeros(64, dtype="i4", sycl_queue=queue)
    submit(queue, kernel(ADDED, "added"), [array.get_array().usm_data, wide(5)], [64], [8])
    assert (array.asnumpy() == 5).all()


STEP = """
kernel void step(global const int *a, global int *b) {
    size_t i = get_global_id(0);
    b[i] = 2 * a[i] + 1;
}
"""


def chain(queue, kernel, length, with_events):
    """2 * a + 1 from one array to the next: each step must see all of the one before."""
    found, n = kernel(STEP, "step"), 1 << 16
    arrays = [dpnp.zeros(n, dtype="i4", sycl_queue=queue) for _ in range(length + 1)]
    queue.wait()
    event = []
    for a, b in zip(arrays, arrays[1:], strict=False):
        args = [a.get_array().usm_data, b.get_array().usm_data]
        event = [queue.submit_async(found, args, [n], [64], event if with_events else [])]
    queue.wait()
    return [int(v) for v in np.unique(arrays[-1].asnumpy())]


def test_events_order_an_out_of_order_queue(queue, kernel):
    for _ in range(20):
        assert chain(queue, kernel, 20, with_events=True) == [2**20 - 1]


def test_an_in_order_queue_keeps_its_order(gpu):
    queue = dpctl.SyclQueue(gpu, property="in_order")

    def compile_source(source, name):
        return create_program_from_source(queue, source).get_sycl_kernel(name)

    for _ in range(20):
        assert chain(queue, compile_source, 20, with_events=False) == [2**20 - 1]


def test_profiling(gpu):
    queue = dpctl.SyclQueue(gpu, property="enable_profiling")
    found = create_program_from_source(queue, DOUBLED).get_sycl_kernel("doubled")
    array = dpnp.ones(1 << 20, dtype="f4", sycl_queue=queue)
    queue.wait()
    event = queue.submit_async(found, [array.get_array().usm_data], [1 << 20], [64])
    event.wait()
    assert 0 < event.profiling_info_submit <= event.profiling_info_start < event.profiling_info_end
