# SPDX-License-Identifier: Apache-2.0
"""What the examples with oneDNN's objects share: tensors, primitives, checks, the last line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
from _common import finish, make_parser, open_queue

import sycl_dnn
from sycl_dnn import onednn as dnnl


def desc(dims: tuple, tag: str = "any", dtype: str = "f32") -> dnnl.MemoryDesc:
    """Return a descriptor; ``any`` leaves the layout to oneDNN."""
    return dnnl.MemoryDesc(dims, dnnl.data_type[dtype], tag)


def post_ops(*steps: tuple) -> dnnl.PrimitiveAttr:
    """Return attributes with a chain of post-ops: ``("eltwise", algorithm, alpha, beta)``, ..."""
    chain, attr = dnnl.PostOps(), dnnl.PrimitiveAttr()
    for kind, *arguments in steps:
        getattr(chain, f"append_{kind}")(*arguments)
    attr.set_post_ops(chain)
    return attr


RELU = ("eltwise", dnnl.algorithm.eltwise_relu)


class Example:
    """One program on one device: its options, engine and stream."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.queue = open_queue(options.device)
        self.engine = dnnl.Engine(self.queue)
        # Ordered: primitives and dpnp's kernels run in the order in which they are submitted.
        self.stream = dnnl.Stream(self.engine, self.queue, ordered=True)
        self.rng = np.random.default_rng(0)

    def normal(self, *shape: int) -> np.ndarray:
        """Return random numbers in float32."""
        return self.rng.standard_normal(shape, dtype=np.float32)

    def memory(self, values: Any, tag: str | None = None, dtype: str | None = None) -> dnnl.Memory:
        """Return a tensor with ``values``, reordered if it has another layout or type."""
        host = np.asarray(values, None if hasattr(values, "dtype") else np.float32)
        plain = dnnl.Memory.from_array(dpnp.asarray(host, sycl_queue=self.queue), self.engine)
        if tag is None and dtype is None:
            return plain
        expected = plain.desc.data_type if dtype is None else dnnl.data_type[dtype]
        dims = plain.desc.dims
        return self.reordered(
            plain, dnnl.MemoryDesc(dims, expected, tag) if tag else dnnl.MemoryDesc(dims, expected)
        )

    def empty(self, layout: dnnl.MemoryDesc) -> dnnl.Memory:
        """Return an uninitialized tensor."""
        return dnnl.Memory(layout, self.engine)

    def reordered(
        self, memory: dnnl.Memory, layout: dnnl.MemoryDesc, attr: Any = None, **scales: dnnl.Memory
    ) -> dnnl.Memory:
        """Return ``memory`` in ``layout``; itself if it already has that."""
        if memory.desc == layout and attr is None:
            return memory
        result = self.empty(layout)
        pd = dnnl.reorder(self.engine, src=memory.desc, dst=layout, attr=attr)
        dnnl.Primitive(pd).execute(self.stream, {"src": memory, "dst": result, **scales})
        return result

    def run(self, pd: dnnl.PrimitiveDesc, **arguments: dnnl.Memory) -> dict[str, dnnl.Memory]:
        """Run a primitive; return its arguments and results by name.

        Tensors in another layout than ``pd`` requires are reordered. Results that are not among the
        arguments are allocated in the layout of ``pd``, so they must be passed if that is open.
        """
        primitive = dnnl.Primitive(pd)
        print(f"{pd.name}: {pd.impl_info}")
        for name, argument in primitive.arguments.items():
            layout = argument.get("desc")
            if name not in arguments and argument["output"] and name != "scratchpad":
                arguments[name] = self.empty(argument["desc"])
            elif name in arguments and layout and dnnl.RUNTIME_DIM_VAL not in layout.dims:
                arguments[name] = self.reordered(arguments[name], layout)
        primitive.execute(self.stream, arguments)
        return arguments

    def values(self, memory: dnnl.Memory) -> np.ndarray:
        """Return the values of a tensor of any layout and type as float32."""
        plain = self.reordered(memory, dnnl.MemoryDesc(memory.desc.dims, dnnl.data_type.f32))
        return plain.to_array().asnumpy()

    def compare(self, name: str, got: Any, wanted: np.ndarray, tolerance: float = 1e-5) -> None:
        """Print the largest error, relative to the largest value, and fail above the tolerance."""
        largest = np.abs(wanted).max()
        assert self.options.no_check or largest > 0, f"{name}: zeros prove nothing"
        self._compare(name, got, wanted, tolerance, largest, "of the largest value")

    def compare_integers(self, name: str, got: Any, wanted: np.ndarray, most: int = 1) -> None:
        """Print the largest error and fail if it is above ``most``: 1 if rounding may differ."""
        differ = np.unique(wanted).size > 1
        assert self.options.no_check or differ, f"{name}: equal values prove nothing"
        self._compare(name, got, wanted, most, 1, "in integers")

    def _compare(self, name, got, wanted, most, unit, words) -> None:
        if self.options.no_check:
            return
        host = self.values(got) if isinstance(got, dnnl.Memory) else np.asarray(got)
        assert host.shape == wanted.shape, (host.shape, wanted.shape)
        error = np.abs(host.astype(np.float64) - wanted).max() / unit
        print(f"{name}: largest error {error:.1e} {words}")
        assert error <= most, f"{name}: the error must be at most {most}"


def run(program: Callable[[Example], None], doc: str | None, **options: tuple[Any, str]) -> None:
    """Run an example; if the device lacks what it shows, say so and exit with 0.

    ``options`` are those of the example: name, default value and help.
    """
    parser = make_parser(doc)
    for name, (value, text) in options.items():
        parser.add_argument(f"--{name}", default=value, type=type(value), help=text)
    example = Example(parser.parse_args())
    try:
        program(example)
    except sycl_dnn.Unimplemented as error:
        print(f"not on this device: {str(error).splitlines()[0]}")
        return
    finish(example.options, Path(sys.argv[0]).stem)
