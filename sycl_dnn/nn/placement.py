# SPDX-License-Identifier: Apache-2.0
"""Conversion of modules to a dtype or device; submodules may override ``_apply``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import dpctl
import dpnp
import dpnp.tensor
import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.device import default_queue
from sycl_dnn.nn import lent_arrays, module_tree
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.torch_methods import device_name

#: Types of devices in ``to``.
_DEVICES = (dpctl.SyclQueue, dpctl.SyclDevice, dpnp.tensor.Device)


class Placement:
    """The part of ``Module`` that converts arrays."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    parameters: Callable[..., Iterator[Any]]
    buffers: Callable[..., Iterator[Any]]

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Replace every array by ``fn(array)``, submodules first."""
        if recurse:
            for module in self._modules.values():
                if module is not None:
                    module._apply(fn)
        for group in (self._parameters, self._buffers):
            for name, value in group.items():
                if value is not None:
                    group[name] = fn(value)
        module_tree.form_changed()
        return self

    def _replaced(self, change: Callable[[Any], Any]) -> Any:
        """Apply a function once per array, so that tied arrays remain tied."""
        replacements: dict[int, tuple[Any, Any]] = {}

        def once(array: Any) -> Any:
            if id(array) not in replacements:
                replacements[id(array)] = (array, change(array))
            return replacements[id(array)][1]

        # Includes the results, because a module with two names is visited twice.
        def each(array: Any) -> Any:
            new = once(array)
            replacements.setdefault(id(new), (new, new))
            return new

        with lent_arrays.replacing(self):
            return self._apply(each)

    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Any:  # fmt: skip
        """Convert floating-point arrays to a dtype, or copy all arrays to a device, in place.

        Complex arrays keep their dtype.

        Parameters
        ----------
        *args
            A dtype (``"bfloat16"``, ``dpnp.float32``), a device, or an array whose dtype and queue
            are used.
        dtype
            The dtype as a keyword.
        device : dpctl.SyclQueue, dpctl.SyclDevice, the device of an array or str, optional
            As a string, ``"cpu"``, ``"gpu"`` or a SYCL filter; ``"cuda"`` and ``"xpu"`` mean the
            GPU.
        non_blocking : bool
            Has no effect: copies are ordered with all other work.
        memory_format
            Has no effect: oneDNN chooses layouts.

        Returns
        -------
        Module
            This module.

        Raises
        ------
        TypeError
            An argument is none of these, or the dtype is not floating point.
        NoDeviceError
            There is no such device.
        """
        for value in args:
            if nested_arguments.is_array(value):
                dtype, device = value.dtype, value.sycl_queue
            elif isinstance(value, _DEVICES) or device_name(value):
                device = value
            elif value is not None and not isinstance(value, bool):
                dtype = value
        name = None if dtype is None else _float_name(dtype)
        queue = _queue_named(device)
        return self._replaced(lambda array: _moved(array, name, queue))

    def float(self) -> Any:
        """Convert floating-point arrays to float32."""
        return self._replaced(lambda array: _moved(array, "float32", None))

    def double(self) -> Any:
        """Convert floating-point arrays to float64."""
        return self._replaced(lambda array: _moved(array, "float64", None))

    def half(self) -> Any:
        """Convert floating-point arrays to float16."""
        return self._replaced(lambda array: _moved(array, "float16", None))

    def bfloat16(self) -> Any:
        """Convert floating-point arrays to bfloat16."""
        return self._replaced(lambda array: _moved(array, "bfloat16", None))

    def cpu(self) -> Any:
        """Copy all arrays to the CPU, in place."""
        return self.to(device="cpu")

    def xpu(self, device: int | None = None) -> Any:
        """Copy all arrays to the GPU, in place.

        Raises
        ------
        NoDeviceError
            There is no GPU.
        """
        return self.to(device="gpu" if device is None else f"gpu:{device}")

    cuda = xpu

    def _queue(self) -> Any:
        """Return the queue of the arrays; None if the module has no arrays."""
        arrays = itertools.chain(self.parameters(), self.buffers())
        return next((value.sycl_queue for value in arrays), None)


def _queue_named(device: Any) -> Any:
    if device is None or isinstance(device, dpctl.SyclQueue):
        return device
    if isinstance(device, _DEVICES):
        return default_queue(device)
    name = device_name(device)
    if name is None:
        raise TypeError(
            "to: device must be a dpctl.SyclQueue, a dpctl.SyclDevice or a string as 'cpu' or "
            f"'gpu', got {device!r}"
        )
    return default_queue(name)


def _float_name(dtype: Any) -> str:
    name = str(dtype) if isinstance(dtype, str) else np.dtype(dtype).name
    if not dtypes.is_float(name):
        raise TypeError(f"to: dtype must be floating-point, got {name}")
    return name


def _moved(array: Any, dtype: str | None, queue: Any) -> Any:
    if dtype is not None and dtypes.is_float(str(array.dtype)) and str(array.dtype) != dtype:
        array = F.astype(array, dtype)
    if queue is not None and array.sycl_queue != queue:
        array = to_queue(array, queue)
    return array


def to_queue(array: Any, queue: Any) -> Any:
    """Copy an array to another queue."""
    if isinstance(array, dpnp.ndarray):
        return dpnp.asarray(array, sycl_queue=queue)
    return type(array)(dpnp.asarray(array.bits, sycl_queue=queue), array.dtype)
