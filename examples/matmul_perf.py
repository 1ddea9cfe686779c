# SPDX-License-Identifier: Apache-2.0
"""Operations per second of matrix products in each data type.

Counterpart of oneDNN's matmul_perf.
"""

import time

from _example import Example, desc, run

import sycl_dnn
from sycl_dnn import onednn as dnnl

TYPES = {"f32": "f32", "f16": "f16", "bf16": "bf16", "s8": "s32"}  # inputs, result


def multiply(example: Example, size: int, dtype: str) -> float:
    """Return the seconds of one product of square matrices; the first is checked, not timed."""
    shape = (size, size)
    pd = dnnl.matmul(
        example.engine,
        src=desc(shape, "ab", dtype),
        weights=desc(shape, dtype=dtype),
        dst=desc(shape, "ab", TYPES[dtype]),
    )
    # Few values are not 0, so all sums are exact in all types.
    a, b = (
        (example.rng.integers(-2, 3, shape) * (example.rng.random(shape) < 0.1)).astype("f4")
        for _ in range(2)
    )
    arguments = example.run(
        pd, src=example.memory(a, "ab", dtype), weights=example.memory(b, "ab", dtype)
    )
    example.compare(dtype, arguments["dst"], a @ b, 0)
    primitive, runs = dnnl.Primitive(pd), 0
    started = time.perf_counter()
    while runs < 5 or time.perf_counter() - started < example.options.seconds:
        primitive.execute(example.stream, arguments).wait()
        runs += 1
    return (time.perf_counter() - started) / runs


def main(example: Example) -> None:
    """Measure each type that the device has."""
    size = example.options.size
    for dtype in TYPES:
        try:
            seconds = multiply(example, size, dtype)
        except sycl_dnn.Unimplemented:
            print(f"{dtype}: not on this device")
            continue
        unit = "op" if dtype == "s8" else "flop"
        print(f"{dtype} {size}x{size}x{size}: {2 * size**3 / seconds / 1e9:.0f} G{unit}/s")


if __name__ == "__main__":
    run(main, __doc__, size=(512, "rows and columns"), seconds=(0.2, "how long each is measured"))
