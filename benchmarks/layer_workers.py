# SPDX-License-Identifier: Apache-2.0
"""Measure layers in one library; `layers.py` starts one process for each.

The processes never run at the same time: each waits for the name of a block on its standard input,
measures it and writes the times in ms as one line of JSON.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from layer_cases import Layer
from other_layers import layer_of
from required import require

#: A block repeats its call for about this long.
BLOCK_SECONDS = 0.4
#: Calls before that: the first ones use new memory.
WARM_UP = 4
_SEED = 0


def values(layer: Layer) -> list[np.ndarray]:
    """Return the array arguments, the same in each process."""
    rng = np.random.default_rng(_SEED)
    arrays = [rng.standard_normal(s, dtype=np.float32) for s in layer.shapes]
    if layer.function == "written":
        for place, bound in layer_of(**layer.kwargs)[1][2].items():
            shape = layer.shapes[place]
            arrays[place] = rng.integers(bound, size=shape) if bound else rng.random(shape) < 0.5
        return arrays
    if layer.function == "batch_norm" and len(arrays) > 3:
        arrays[2] = np.abs(arrays[2]) + 1  # variances
    # Weights are scaled to keep results near 1.
    return [arrays[0], *(a / np.sqrt(max(a.size / a.shape[0], 1)) for a in arrays[1:])]


def lstm_weights(size: int) -> list[np.ndarray]:
    """Return the weights of one LSTM layer, as torch orders them."""
    rng = np.random.default_rng(_SEED + 1)
    shapes = ((4 * size, size), (4 * size, size), (4 * size,), (4 * size,))
    return [rng.standard_normal(s, dtype=np.float32) / np.float32(size**0.5) for s in shapes]


def arrangements(layer: Layer) -> dict[str, list[int]]:
    """Return the arguments that are channels-last in each variant; the fastest one counts."""
    images = [i for i, shape in enumerate(layer.shapes) if len(shape) == 4 and layer.images]
    variants = {"plain": [], "channels_last": images[:1], "all_last": images}
    if layer.layout == "row_major" or not images:
        del variants["channels_last"]
    elif layer.layout:
        del variants["plain"]
    if len(images) < 2 or layer.layout == "row_major":
        del variants["all_last"]
    return variants


def _of_batch_norm(arrays: list[Any]) -> tuple[Any, ...]:
    """Return the arguments, with running statistics if there are five arrays."""
    return tuple(arrays) if len(arrays) > 3 else (arrays[0], None, None, *arrays[1:])


def _places(layer: Layer, args: tuple[Any, ...]) -> list[int]:
    """Return the indices of the arguments that need gradients; running statistics do not."""
    given = args[1:3] if layer.function == "batch_norm" else ()
    is_array = [
        isinstance(a, list) or (hasattr(a, "shape") and "float" in str(a.dtype)) for a in args
    ]
    return [i for i, a in enumerate(args) if is_array[i] and not any(a is s for s in given)]


def _of_arrays(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, places: list[int]
) -> Any:
    """Return the function of only these arguments."""

    def call(*arrays: Any) -> Any:
        given = list(args)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        return function(*given, **kwargs)

    return call


class Ours:
    """The layers through ``sycl_dnn.functional`` on the CPU device."""

    def __init__(self, kernels: str = "auto") -> None:
        import dpnp

        import sycl_dnn

        self._dnn, self._dpnp, self._kernels = sycl_dnn, dpnp, kernels
        self._queue = sycl_dnn.default_queue("cpu")
        self.version = f"sycl_dnn {sycl_dnn.__version__}"

    def _array(self, array: np.ndarray, dtype: str) -> Any:
        dtype = dtype if array.dtype.kind == "f" else str(array.dtype)
        return self._dnn.asarray(array, dtype=dtype, sycl_queue=self._queue)

    def calls(self, layer: Layer, dtype: str) -> dict[str, dict[str, Callable[[], Any]]]:
        """Return the calls by pass and variant."""
        self._dnn.set_kernels(self._kernels)
        found: dict[str, dict[str, Callable[[], Any]]] = {"forward": {}, "backward": {}}
        for name, last in arrangements(layer).items():
            arrays = [
                self._channels_last(a, dtype) if i in last else self._array(a, dtype)
                for i, a in enumerate(values(layer))
            ]
            found["forward"][name], found["backward"][name] = self._passes(layer, arrays, dtype)
        return found

    def _passes(
        self, layer: Layer, arrays: list[Any], dtype: str
    ) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """Return the forward and the backward pass over arrays."""
        if layer.function == "written":
            written = layer_of(**layer.kwargs)[1][0]
            function = functools.partial(written, self._dnn.functional)
        else:
            function = getattr(self._dnn.functional, layer.function)
        args, kwargs = self._arguments(layer, arrays, dtype)

        def forward() -> None:
            function(*args, **kwargs)
            self._queue.wait()

        if not layer.passes[1:]:
            return forward, forward
        places = _places(layer, args)
        y, pullback = self._dnn.vjp(
            _of_arrays(function, args, kwargs, places), *(args[i] for i in places)
        )
        # Any gradient in the result's layout is sufficient; torch gets ones.
        dy = (y[0], None) if isinstance(y, tuple) else y

        def backward() -> None:
            pullback(dy)
            self._queue.wait()

        return forward, backward

    def _channels_last(self, array: np.ndarray, dtype: str) -> Any:
        """Return an image as a layer leaves it: its layout, in huge pages."""
        last = self._array(np.ascontiguousarray(np.moveaxis(array, 1, -1)), dtype)
        bits = last.bits if isinstance(last, self._dnn.Array) else last
        moved = self._dpnp.moveaxis(bits, -1, 1)
        return self._dnn.Array(moved, last.dtype) if bits is not last else moved

    def _arguments(self, layer: Layer, arrays: list[Any], dtype: str) -> tuple[Any, Any]:
        if layer.function == "written":
            return tuple(arrays), {}
        if layer.function == "lstm":
            size = layer.shapes[0][2]
            weights = [self._array(w, dtype) for w in lstm_weights(size)]
            return (arrays[0], None, weights), {}
        if layer.function == "layer_norm":
            return (arrays[0], layer.shapes[1], *arrays[1:]), layer.kwargs
        if layer.function == "group_norm":
            return (arrays[0], layer.kwargs["num_groups"], *arrays[1:]), {}
        if layer.function == "batch_norm":
            return _of_batch_norm(arrays), layer.kwargs
        return tuple(arrays), layer.kwargs


class Torch:
    """The layers through torch eager."""

    def __init__(self) -> None:
        require("torch")
        import torch

        torch.set_num_threads(2)
        self._torch = torch
        self._names = types.SimpleNamespace(**{**vars(torch), **vars(torch.nn.functional)})
        self.version = f"torch {torch.__version__}"

    def calls(self, layer: Layer, dtype: str) -> dict[str, dict[str, Callable[[], Any]]]:
        """Return the calls by pass and variant."""
        torch = self._torch
        kind = getattr(torch, dtype)
        found: dict[str, dict[str, Callable[[], Any]]] = {"forward": {}, "backward": {}}
        for name, last in arrangements(layer).items():
            tensors = [
                torch.from_numpy(a).to(kind if a.dtype.kind == "f" else None) for a in values(layer)
            ]
            for i in last:
                tensors[i] = tensors[i].contiguous(memory_format=torch.channels_last)
            call, inputs = self._call(layer, tensors, kind)
            found["forward"][name] = self._without_gradient(call)
            found["backward"][name] = self._gradient(call, inputs) if layer.passes[1:] else call
        return found

    def _call(self, layer: Layer, tensors: list[Any], kind: Any) -> tuple[Any, list[Any]]:
        torch = self._torch
        for tensor in tensors:
            tensor.requires_grad_(tensor.is_floating_point())
        if layer.function == "written":
            written = layer_of(**layer.kwargs)[1][0]
            own = [t for t in tensors if t.requires_grad]
            return (lambda: written(self._names, *tensors)), own
        if layer.function == "lstm":
            size = layer.shapes[0][2]
            module = torch.nn.LSTM(size, size)
            for p, w in zip(module.parameters(), lstm_weights(size), strict=True):
                p.data = torch.from_numpy(w)
            module = module.to(kind)
            return (lambda: module(tensors[0])[0]), [tensors[0], *module.parameters()]
        name = layer.function
        function = getattr(torch.nn.functional, name, None) or getattr(torch, name)
        args: tuple[Any, ...] = tuple(tensors)
        if name == "layer_norm":
            args = (tensors[0], layer.shapes[1], *tensors[1:])
        if name == "batch_norm":
            args = _of_batch_norm(tensors)
            if len(tensors) > 3:
                args = (args[0], *(t.detach() for t in args[1:3]), *args[3:])
                tensors = [tensors[0], *tensors[3:]]
        if name == "group_norm":
            kwargs = layer.kwargs
            return (lambda: function(args[0], kwargs["num_groups"], *args[1:])), tensors
        return (lambda: function(*args, **layer.kwargs)), tensors

    def _without_gradient(self, call: Callable[[], Any]) -> Callable[[], Any]:
        def forward() -> None:
            with self._torch.no_grad():
                call()

        return forward

    def _gradient(self, call: Callable[[], Any], inputs: list[Any]) -> Callable[[], Any]:
        y = call()
        dy = self._torch.ones_like(y)
        return lambda: self._torch.autograd.grad(y, inputs, dy, retain_graph=True)


def block(call: Callable[[], Any], seconds: float = BLOCK_SECONDS) -> list[float]:
    """Return the times of repeated calls in ms."""
    for _ in range(WARM_UP):
        call()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def _tuples(value: Any) -> Any:
    """Return JSON's lists as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def serve(library: Any) -> None:
    """Answer the requests of `layers.py`."""
    print(json.dumps(library.version), flush=True)
    for line in sys.stdin:
        given, dtype, direction, seconds = json.loads(line)
        layer = Layer(**{n: _tuples(v) for n, v in given.items()})
        try:
            calls = library.calls(layer, dtype)[direction]
            answer: Any = {variant: block(call, seconds) for variant, call in calls.items()}
        except (NotImplementedError, RuntimeError) as error:
            answer = {"error": str(error).splitlines()[0]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    libraries = {"ours": Ours, "without": lambda: Ours("never"), "torch": Torch}
    serve(libraries[sys.argv[1]]())
