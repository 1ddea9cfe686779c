# SPDX-License-Identifier: Apache-2.0
"""Traced values: shape, dtype and layout, but no data; their operators."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import dpnp

from sycl_dnn import tree
from sycl_dnn._core import MemoryDesc
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions, layout
from sycl_dnn.trace.array_methods import ArrayMethods, by_function
from sycl_dnn.trace.foreign_functions import ForeignFunctions
from sycl_dnn.trace.torch_methods import Size, TorchMethods, has_torch_methods, viewed

if TYPE_CHECKING:
    from sycl_dnn.trace.recording import Trace
    from sycl_dnn.trace.trace_state import TraceState


def _single(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return getattr(functions, name)(self)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``."
    return method


class Operators:
    """``+ - * / // % ** @ < <= > >= == !=``; numbers and arrays may be on either side.

    A dpnp array on the left is tried first, and raises TypeError except for its own arrays
    class. Python tries the right operand first only if its class is a subclass, which is true for
    traced arrays. With an ``Array`` write ``a + x``, or ``sycl_dnn.functional.sub(x, a)``.
    """

    __slots__ = ()
    # Lets NumPy's numbers on the left leave the operation to this class.
    __array_ufunc__ = None

    __add__ = by_function("add")
    __radd__ = by_function("add", is_reflected=True)
    __sub__ = by_function("sub")
    __rsub__ = by_function("sub", is_reflected=True)
    __mul__ = by_function("mul")
    __rmul__ = by_function("mul", is_reflected=True)
    __truediv__ = by_function("div")
    __rtruediv__ = by_function("div", is_reflected=True)
    __pow__ = by_function("pow")
    __rpow__ = by_function("pow", is_reflected=True)
    __floordiv__ = by_function("floor_divide")
    __rfloordiv__ = by_function("floor_divide", is_reflected=True)
    __mod__ = by_function("remainder")
    __rmod__ = by_function("remainder", is_reflected=True)
    __matmul__ = by_function("matmul")
    __rmatmul__ = by_function("matmul", is_reflected=True)
    __lt__ = by_function("lt")
    __le__ = by_function("le")
    __gt__ = by_function("gt")
    __ge__ = by_function("ge")
    # Comparisons return arrays, as dpnp's do.
    __eq__ = by_function("eq")
    __ne__ = by_function("ne")
    __hash__ = None  # type: ignore[assignment]
    __neg__ = _single("neg")
    __abs__ = _single("abs")


# --- Values while a function is traced: shape, dtype and layout, but no data

_LEAKED = (
    "a traced value of shape {} and dtype {} was used after its trace had ended: what a function "
    "sees while it is traced represents arrays of that call alone; return it from the function "
    "instead of keeping it in a list, an attribute or a global name"
)


class MixedTraces(RuntimeError):
    """Values of two functions that are being traced are combined, and neither calls the other."""

    def __init__(self, tensor: Tensor, *traces: Any) -> None:
        super().__init__(
            f"a traced value of shape {tensor.shape} and dtype {tensor.dtype} belongs to the trace "
            "of another function: pass it to the inner function as an argument"
        )
        #: The traces that the function may belong to.
        self.traces = traces

    def without(self, trace: Any) -> MixedTraces:
        """Return the error for the caller of the function that ``trace`` belongs to."""
        self.traces = tuple(t for t in self.traces if getattr(t, "root", t) is not trace)
        return self


class Storage:
    """Bytes that a step writes or the caller passes; several tensors may be views of it."""

    __slots__ = (
        "argument", "constant", "desc", "dtype", "memory", "repeat", "scalar", "source", "views",
    )  # fmt: skip

    def __init__(
        self,
        desc: MemoryDesc,
        *,
        argument: int | None = None,
        memory: Any = None,
        constant: bool = False,
        scalar: bool = False,
    ) -> None:
        #: The original layout; its size is that of the storage.
        self.desc: Any = desc
        #: The dtype of the array that a caller or a function of arrays provides.
        self.dtype = ""
        #: Number of the array in the call; None for intermediate values.
        self.argument = argument
        #: A Memory that exists permanently.
        self.memory = memory
        #: Whether the content is the same in every call.
        self.constant = constant or memory is not None
        #: Whether the argument is a number, which calls pass as bytes.
        self.scalar = scalar
        #: Number of the repetition of a checkpointed function that wrote it; 0 for none.
        self.repeat = 0
        #: The tensor whose elements it repeats along axes; None otherwise.
        self.source: Tensor | None = None
        #: Weak references to the tensors over an argument that a call may update.
        is_variable = argument is not None and not self.constant and not scalar
        self.views: list[weakref.ref[Tensor]] | None = [] if is_variable else None

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.desc.get_size()


class Tensor(TorchMethods, ArrayMethods, ForeignFunctions, Operators, dpnp.ndarray):  # type: ignore[misc]
    """One value of a trace: a layout at an offset of a storage.

    ``shape`` and ``dtype`` read as on arrays; ``desc`` is that of pairs for complex numbers, of
    integers for dtypes that oneDNN lacks, and of one byte, the address, for an argument whose
    strides it cannot describe.
    It is a subclass of dpnp's arrays for one reason: only then does Python try the right operand
    first in ``array + tensor``. There is no array inside.
    """

    __slots__ = (
        "__weakref__", "_shape", "_trace", "desc", "dtype", "offset", "parts", "storage", "strides",
    )  # fmt: skip
    #: Writes so far, in a list shared with all views of the same tensor; None for tensors that no
    #: function sees.
    marks: Any = None

    def __init__(
        self,
        trace: TraceState,
        storage: Storage,
        desc: MemoryDesc,
        dtype: str,
        shape: tuple[int, ...],
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        # The trace refers to its tensors; with references both ways, plans would live until a
        # garbage collection.
        self._trace = weakref.ref(trace)
        self.storage = storage
        if storage.views is not None:
            storage.views.append(weakref.ref(self))
        # There is nearly always a trace, so code that needs it does not check.
        self.desc: Any = desc
        self.dtype = dtype if dtype.__class__ is dtypes.DtypeName else dtypes.DtypeName(dtype)
        self._shape = shape
        self.offset = offset
        if strides is None and desc.is_plain:
            strides = layout.strides_of(desc, dtype, len(shape))
        self.strides: Any = strides
        #: Tensors of the parts of complex numbers, if these were made of them.
        self.parts: tuple[Tensor, Tensor] | None = None

    @property
    def trace(self) -> Trace:
        """The trace that records operations on the tensor.

        Raises
        ------
        RuntimeError
            It has ended.
        """
        trace = self._trace()
        if trace is None or trace.is_ended:
            raise self.leaked()
        return cast("Trace", trace)

    def leaked(self) -> RuntimeError:
        """Return the error for a use after the trace has ended."""
        return RuntimeError(_LEAKED.format(self.shape, self.dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements; inside modules ``size()`` is the shape, as in torch."""
        return Size(self.shape) if has_torch_methods() else math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether the tensor has a gradient."""
        return dtypes.has_gradients(self.dtype)

    def __repr__(self) -> str:
        return f"Tensor({self.shape}, {self.dtype}, {self.desc})"

    def view(self, shape: Any = None, strides: Any = None, *rest: Any, size: Any = None) -> Tensor:
        """Return another view of the same elements: strides and offset in elements.

        Arrays have a method of this name too, which is refused; inside modules it is torch's.
        """
        if not (isinstance(shape, tuple) and isinstance(strides, tuple)):
            shape = shape if size is None else size
            if has_torch_methods():
                return viewed(self, (shape, *(() if strides is None else (strides,)), *rest))
            raise TypeError(
                "view(): a traced array has no memory while a function is traced; use "
                "astype to convert values, reshape for another shape"
            )
        # A view without elements may start beyond the end of an empty storage.
        step = (rest[0] if rest and 0 not in shape else 0) * dtypes.bits_of(self.dtype) // 8
        strides = layout.canonical_strides(shape, strides)
        desc = layout.strided(shape, self.dtype, strides)
        return Tensor(
            self.trace, self.storage, desc, self.dtype, shape, self.offset + step, strides
        )

    def pairs(self) -> Tensor:
        """Return complex elements as their parts along one more axis."""
        part = dtypes.part_of(self.dtype)
        strides = None if self.strides is None else (*(2 * s for s in self.strides), 1)
        shape = (*self.shape, 2)
        return Tensor(self.trace, self.storage, self.desc, part, shape, self.offset, strides)

    def halves(self) -> Tensor:
        """Return elements of 64 or 16 bits as pairs of integers along one more axis."""
        dtype = "int32" if dtypes.bits_of(self.dtype) == 64 else "uint8"
        shape = (*self.shape, 2)
        strides = (*(2 * s for s in self.strides), 1)
        desc = layout.strided(shape, dtype, strides)
        return Tensor(self.trace, self.storage, desc, dtype, shape, self.offset, strides)


tree.LEAVES |= {dpnp.ndarray, Tensor}


def alias(tensor: Tensor) -> Tensor:
    """Return another tensor of the same elements, which has its own gradient."""
    t = tensor
    return Tensor(t.trace, t.storage, t.desc, t.dtype, t.shape, t.offset, t.strides)
