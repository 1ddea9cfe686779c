# SPDX-License-Identifier: Apache-2.0
"""Each collective x dtype x kind of memory x size against NumPy, on every rank.

collective_values.py "device shared host"
"""

import sys

import dpnp
import ml_dtypes
import numpy as np

import sycl_dnn
from sycl_dnn import distributed as dist

#: Divisible by 2 and 3, except one with fewer elements than ranks.
SIZES = (0, 2, 1002, 70002)
TOLERANCE = {"float16": 4e-3, "bfloat16": 6e-2, "float32": 4e-6, "float64": 4e-16}
OPS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}
n_checks = 0


def numbers(rank, dtype, size):
    result = np.random.default_rng(1000 * size + rank).integers(1, 5, size)
    return result.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def on_device(values, dtype, usm_type, queue):
    if dtype != "bfloat16":
        return dpnp.asarray(values, sycl_queue=queue, usm_type=usm_type)
    bits = dpnp.asarray(values.view("u2"), sycl_queue=queue, usm_type=usm_type)
    return sycl_dnn.Array(bits, "bfloat16")


def check(what, actual, want, dtype, usm_type):
    global n_checks
    assert str(actual.dtype) == dtype, (what, actual.dtype)
    data = actual.bits if dtype == "bfloat16" else actual
    assert data.usm_type == usm_type, (what, data.usm_type)
    values = dpnp.asnumpy(data)
    values = values.view(ml_dtypes.bfloat16) if dtype == "bfloat16" else values
    assert values.shape == want.shape, (what, values.shape, want.shape)
    tolerance = TOLERANCE.get(dtype, 0)
    np.testing.assert_allclose(
        values.astype("f8"), want.astype("f8"), rtol=tolerance, err_msg=str(what)
    )
    n_checks += 1


def check_moving(group, parts, x, kind):
    rank, what = group.rank, (kind, x().shape)
    check(("broadcast", what), dist.broadcast(x(), root=group.size - 1), parts[-1], *kind)
    check(("all_gather", what), dist.all_gather(x()), np.concatenate(parts), *kind)
    if len(parts[0]) % group.size == 0:
        swapped = np.concatenate([p.reshape(group.size, -1)[rank] for p in parts])
        check(("all_to_all", what), dist.all_to_all(x()), swapped, *kind)


def check_reducing(group, parts, x, kind):
    what = (kind, x().shape)
    wide = [p.astype("f8") for p in parts]
    for op, function in OPS.items():
        check((op, what), dist.all_reduce(x(), op), function.reduce(wide), *kind)
    y = x()
    assert dist.all_reduce(y, out=y) is y
    check(("in place", what), y, sum(wide), *kind)
    if kind[0].startswith(("float", "bfloat")):
        check(("mean", what), dist.all_reduce(x(), "mean"), sum(wide) / group.size, *kind)
    for op, function in OPS.items():
        whole = function.reduce(wide)
        at_root = whole if group.rank == 1 else wide[group.rank]
        check(("reduce", op, what), dist.reduce(x(), 1, op), at_root, *kind)
        if len(parts[0]) % group.size == 0:
            own = whole.reshape(group.size, -1)[group.rank]
            check(("reduce_scatter", op, what), dist.reduce_scatter(x(), op), own, *kind)


def main():
    group = dist.init(timeout=600)
    reduced = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
    for dtype in (*reduced, "uint32", "uint64", "int16", "bool"):
        for usm_type in sys.argv[1].split():
            for size in SIZES:
                parts = [numbers(r, dtype, size) for r in range(group.size)]

                def x(parts=parts, dtype=dtype, usm_type=usm_type):
                    return on_device(parts[group.rank], dtype, usm_type, group.queue)

                check_moving(group, parts, x, (dtype, usm_type))
                if dtype not in ("int16", "bool"):
                    check_reducing(group, parts, x, (dtype, usm_type))
    flags = dpnp.asarray([group.rank == 0, False], sycl_queue=group.queue)
    assert dist.all_reduce(flags, "max").tolist() == [True, False]
    print(f"{n_checks} right")


main()
sys.exit()
