# SPDX-License-Identifier: Apache-2.0
"""``quantize``: an int8 version of a compiled function, and its accuracy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.compiler.compiled_function import Compiled
from sycl_dnn.compiler.int8.integers import Quantizer
from sycl_dnn.compiler.int8.ranges import Observer, Ranges
from sycl_dnn.trace import nested_arguments

_METHODS = ("minmax", "percentile")


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """The error of one result of a quantized function.

    Attributes
    ----------
    largest : float
        Largest absolute difference, relative to the largest element.
    relative : float
        Norm of the difference, relative to the norm of the result.
    agreement : float
        Fraction of rows (along the last axis) with the same argmax.
    """

    largest: float
    relative: float
    agreement: float

    def __str__(self) -> str:
        return (
            f"largest error {self.largest:.2%}, error norm {self.relative:.2%}, same largest "
            f"element in {self.agreement:.1%} of rows"
        )


def quantize(
    compiled: Compiled,
    calibration_arrays: Sequence[Any],
    method: str = "minmax",
    *,
    percentile: float = 99.99,
) -> tuple[Compiled, list[Accuracy]]:
    """Quantize the products of a compiled function to 8-bit integers.

    Parameters
    ----------
    compiled : Compiled
        Its convolutions, transposed convolutions and products with constant weights are quantized.
    calibration_arrays : sequence
        Example arguments, each an array or a tuple. The function runs on all of them to find the
        range of every value.
    method : {"minmax", "percentile"}
        Use the full range of the observed values, or exclude outliers.
    percentile : float
        Percentage of values below the upper end of the range; above 50, at most 100.

    Returns
    -------
    compiled : Compiled
        Same arguments and results. Weights are int8 with one scale per output, activations uint8 or
        int8 with a single scale.
    report : list of Accuracy
        One per result of the function, over all examples.

    Raises
    ------
    TypeError
        ``compiled`` is not a ``Compiled``.
    ValueError
        There are no examples or nothing to quantize, or an argument is out of range.

    Notes
    -----
    Source: oneDNN developer guide, "Quantization"; Jacob et al., arXiv:1712.05877.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> w = F.ones(4, 8)  # constant, since the function refers to it
    >>> layer = sycl_dnn.compile(lambda x: F.linear(x, w))
    >>> layer8, report = sycl_dnn.quantize(layer, [F.ones(2, 8)])
    >>> report[0].relative < 0.02
    True
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(f"quantize: compiled must be a Compiled, got {type(compiled).__name__}")
    if method not in _METHODS:
        raise ValueError(f"quantize: method must be one of {', '.join(_METHODS)}, got {method!r}")
    if not 50 < percentile <= 100:
        raise ValueError(f"quantize: percentile must be in (50, 100], got {percentile}")
    examples = [a if isinstance(a, tuple) else (a,) for a in calibration_arrays]
    if not examples:
        raise ValueError("quantize: calibration_arrays must have one example at least, got none")
    ranges = Ranges(method, percentile)
    for args in examples:
        _observe(compiled, args, ranges)
    if not len(ranges):
        raise ValueError(
            f"quantize: {compiled.__name__} must have convolutions or products with constant "
            "weights, got none"
        )
    quantized = compiled.derived(Quantizer(ranges))
    return quantized, _compared(compiled, quantized, examples)


def _observe(compiled: Compiled, args: tuple[Any, ...], ranges: Ranges) -> None:
    observer = Observer()
    plan, registers = compiled.derived(observer).run_once(args)
    executable = plan.executable
    extra = executable.results[plan.n_results :]
    names = executable.result_dtypes[plan.n_results :]
    ranges.note(observer, [registers[r] for r in extra], names)


def _compared(
    before: Compiled, after: Compiled, examples: Sequence[tuple[Any, ...]]
) -> list[Accuracy]:
    pairs: list[list[tuple[np.ndarray, np.ndarray]]] = []
    for args in examples:
        expected = nested_arguments.arrays_of(before(*args))
        actual = nested_arguments.arrays_of(after(*args))
        pairs = pairs or [[] for _ in expected]
        for samples, x, y in zip(pairs, expected, actual, strict=True):
            samples.append((_numpy(x), _numpy(y)))
    return [_accuracy(samples) for samples in pairs]


def _numpy(array: Any) -> np.ndarray:
    wide = array if isinstance(array, dpnp.ndarray) else array.astype("float32")
    values = dpnp.asnumpy(wide)
    # Booleans cannot be subtracted, and unsigned integers would wrap around.
    return values if values.dtype.kind in "fc" else np.asarray(values, np.float64)


def _accuracy(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Accuracy:
    scale = max(np.abs(a).max(initial=0.0) for a, _ in pairs) or 1.0
    largest = max(np.abs(a - b).max(initial=0.0) for a, b in pairs) / scale
    error = np.sqrt(sum(np.square(a - b, dtype=np.float64).sum() for a, b in pairs))
    norm = np.sqrt(sum(np.square(a, dtype=np.float64).sum() for a, _ in pairs)) or 1.0
    same = [
        np.atleast_1d(a.argmax(-1) == b.argmax(-1)).ravel() for a, b in pairs if a.ndim and a.size
    ]
    agreement = float(np.concatenate(same).mean()) if same else 1.0
    return Accuracy(float(largest), float(error / norm), agreement)
