# SPDX-License-Identifier: Apache-2.0
"""Products of float32 matrices by each of oneDNN's implementations, and with copied weights.

``x`` is (M, K) and ``w`` is (N, K), as in ``linear``. Forward is ``x @ w.T``, the gradient of the
source ``dy @ w``, that of the weights ``dy.T @ x``. "turned" copies ``w`` into the order of its
other axis first, and its time includes the copy. Blocks of all ways alternate; prints medians in
GFLOP/s. `sycl_dnn/functional/product/product.py` chooses by these figures on CPUs without AVX-512.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

from timing import Runner, alternate, describe_machine, summary

import sycl_dnn
from sycl_dnn import onednn as dnnl

#: K and N: layers of transformers and of a classifier.
SIZES = (
    (768, 768), (768, 3072), (3072, 768), (768, 2304), (1024, 1024), (1024, 4096), (512, 2048),
    (256, 1024), (1024, 256), (320, 1280), (2048, 1000),
)  # fmt: skip
Calls = list[tuple[Any, dict[str, Any]]]


def matrix(rows: int, columns: int, tag: str = "ab") -> dnnl.MemoryDesc:
    """Return the descriptor of a matrix in float32."""
    return dnnl.MemoryDesc((rows, columns), "f32", tag)


def implementations(row: str, *args: Any, **params: Any) -> Iterator[Any]:
    """Yield a descriptor for each implementation but the references."""
    pd = getattr(dnnl, row)(*args, **params)
    while "ref" not in pd.impl_info:
        yield pd
        if not pd.next_impl():
            return


class Products:
    """The ways to compute a layer's products for a number of rows."""

    def __init__(self, queue: Any, m: int, k: int, n: int) -> None:
        self.engine = dnnl.Engine(queue)
        self.stream = dnnl.Stream(self.engine, queue)
        self.sizes = m, k, n

    def _call(self, pd: Any) -> tuple[Any, dict[str, Any]]:
        primitive = dnnl.Primitive(pd)
        slots = primitive.arguments.items()
        return primitive, {n: dnnl.Memory(s["desc"], self.engine) for n, s in slots}

    def ways(self) -> dict[str, Calls]:
        """Return the calls of each way by its name."""
        m, k, n = self.sizes
        plain = {
            "forward": ((m, k), (k, n, "ba"), (m, n)),
            "source": ((m, n), (n, k), (m, k)),
            "source, turned": ((m, n), (n, k, "ba"), (m, k)),
            "weights": ((n, m, "ba"), (m, k), (n, k)),
        }
        turn = self._call(dnnl.reorder(self.engine, src=matrix(n, k), dst=matrix(n, k, "ba")))
        found = {}
        for name, operands in plain.items():
            src, weights, dst = (matrix(*sizes) for sizes in operands)
            first = [turn] if "turned" in name else []
            for pd in implementations("matmul", self.engine, src=src, weights=weights, dst=dst):
                found[f"{name}: {pd.impl_info}"] = [*first, self._call(pd)]
        return found

    def runner(self, calls: Calls) -> Runner:
        """Return a function that runs the calls and returns their times in seconds."""

        def run(count: int) -> list[float]:
            times = []
            for _ in range(count):
                start = time.perf_counter()
                for primitive, memories in calls:
                    primitive.execute(self.stream, memories)
                self.stream.wait()
                times.append(time.perf_counter() - start)
            return times

        return run


def main() -> None:
    """Print a line for each size, number of rows and way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[256, 1024], metavar="M")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--per-block", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    print(describe_machine())
    queue = sycl_dnn.default_queue(options.device)
    for k, n in SIZES:
        for m in options.rows:
            products = Products(queue, m, k, n)
            runners = {name: products.runner(calls) for name, calls in products.ways().items()}
            times = alternate(runners, options.blocks, options.per_block)
            for name, found in summary(times, next(iter(runners))).items():
                speed = 2 * m * k * n / found.median / 1e9
                print(f"M {m:5d} K {k:5d} N {n:5d}  {name:32s} {speed:6.0f} GFLOP/s", flush=True)


if __name__ == "__main__":
    main()
