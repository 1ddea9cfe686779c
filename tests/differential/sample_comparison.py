# SPDX-License-Identifier: Apache-2.0
"""Compare the results of a sample's function with torch's: form, dtype, shape, values."""

from __future__ import annotations

from typing import Any

import torch

from differential.torch_samples import WITHOUT_VALUES, Sample, dtype_name, to_torch

#: Rounding errors of an element, relative to it and to the largest of its array.
_OWN, _LARGEST = 16, 4
_REAL = ("float64", "float32", "float16", "bfloat16", "complex64")
#: Functions that choose one of several equal elements, and the position of ``dim``.
_CHOOSING = {"argsort": 0, "kthvalue": 1, "mode": 0, "sort": 0, "topk": 1}


def leaves(value: Any) -> list[Any]:
    """Return nested results as a list."""
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    return [value]


def difference(sample: Sample, results: Any) -> str | None:
    """Return how results differ from torch's, or None; with torch's error, if it refuses."""
    native = sample.torch_call()
    return compared(sample, to_torch(results), native)


def compared(sample: Sample, results: Any, native: Any) -> str | None:
    """Return how results as tensors differ from torch's, or None."""
    if (process := sample.torch_sample.output_process_fn_grad) is not None:
        try:
            results, native = process(_as_form_of(native, results)), process(native)
        except Exception as error:  # noqa: BLE001 - what results of another form raise
            return f"form: {error!r}"
    ours, theirs = leaves(results), leaves(native)
    if len(ours) != len(theirs):
        return f"form: {len(ours)} results, torch has {len(theirs)}"
    if sample.info.name in _CHOOSING:
        ours[-1], theirs[-1] = (_chosen(sample, leaf) for leaf in (ours[-1], theirs[-1]))
    exact = None if sample.info.name in _CHOOSING else _exact(sample, process)
    for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        wide = exact[place] if exact is not None and len(exact) == len(theirs) else b
        text = _of_leaf(a, b, wide, not is_drawn(sample))
        if text:
            return text if len(ours) == 1 else f"result {place}: {text}"
    return None


def _chosen(sample: Sample, index: torch.Tensor) -> torch.Tensor:
    """Return the elements at indices, or the indices if those have another dtype or range."""
    of, place = sample.torch_sample, _CHOOSING[sample.info.name]
    dim = of.kwargs.get("dim", of.args[place] if len(of.args) > place else -1)
    x = of.input.detach()
    if index.dtype != torch.int64 or not index.numel() or not x.ndim:
        return index
    rows = index if index.ndim == x.ndim else index.unsqueeze(dim)
    n = x.shape[dim]
    if rows.min() < 0 or rows.max() >= n:
        return index
    chosen = torch.take_along_dim(x, rows, dim)
    return chosen.double() if chosen.is_floating_point() else chosen


def is_drawn(sample: Sample) -> bool:
    """Whether the result has random values, or those of memory as it is."""
    of = sample.torch_sample
    if sample.info.name == "nn.functional.multi_head_attention_forward":
        return of.args[9] > 0 and of.kwargs.get("training", True)
    return sample.info.name in WITHOUT_VALUES or of.kwargs.get("dropout_p", 0) > 0


def _as_form_of(native: Any, results: Any) -> Any:
    if hasattr(native, "_fields") or type(native).__module__ == "torch.return_types":
        return type(native)(results)
    return tuple(results) if isinstance(native, tuple) else results


def _exact(sample: Sample, process: Any) -> list[Any] | None:
    if sample.dtype not in _REAL:
        return None
    try:
        wide = sample.torch_call(torch.float64)
        return leaves(wide if process is None else process(wide))
    except Exception:  # noqa: BLE001 - what torch has not in float64
        return None


def _of_leaf(ours: Any, native: Any, exact: Any, has_values: bool) -> str | None:
    if not isinstance(native, torch.Tensor):
        ours = ours.item() if isinstance(ours, torch.Tensor) and not ours.ndim else ours
        ours = tuple(ours) if isinstance(native, torch.Size) else ours
        ours, native = torch.as_tensor(ours), torch.as_tensor(native)
        exact = torch.as_tensor(exact)
        if ours.is_floating_point():
            ours, native = ours.double(), native.double()
    if not isinstance(ours, torch.Tensor):
        ours = torch.as_tensor(ours, dtype=native.dtype)
    if ours.shape != native.shape:
        return f"shape: {tuple(ours.shape)}, torch has {tuple(native.shape)}"
    if ours.dtype != native.dtype:
        return f"dtype: {dtype_name(ours.dtype)}, torch has {dtype_name(native.dtype)}"
    if not has_values or not ours.numel():
        return None
    return _of_values(ours, native.detach(), exact.detach())


def _of_values(ours: torch.Tensor, native: torch.Tensor, exact: torch.Tensor) -> str | None:
    if not (ours.is_floating_point() or ours.is_complex()):
        wrong = ours != native
        return _shown("value", ours, native, native, wrong) if wrong.any() else None
    eps = torch.finfo(ours.dtype).eps
    if ours.is_complex():
        ours, native, exact = (torch.view_as_real(t.resolve_conj().to(torch.complex128))
                               for t in (ours, native, exact))  # fmt: skip
    ours, native = ours.double(), native.double()
    exact = exact.double() if exact.shape == native.shape else native
    special = ~(torch.isfinite(native) & torch.isfinite(exact) & torch.isfinite(ours))
    same = [(ours == t) | (ours.isnan() & t.isnan()) for t in (native, exact)]
    if (wrong := special & ~same[0] & ~same[1]).any():
        return _shown("special value", ours, native, exact, wrong)
    zero = torch.zeros((), dtype=torch.float64)
    plain = [torch.where(special, zero, t) for t in (ours, native, exact)]
    theirs = (plain[1] - plain[2]).abs()
    size = plain[2].abs()
    largest, doubled = size.max(), 1
    if eps < 1e-15:  # the reference errs as much, and is of the same inputs, up to 9
        largest, doubled = largest.clamp(min=9.0), 2
    allowed = doubled * eps * (_OWN * size + _LARGEST * largest) + 4 * theirs.max() + 1e-37
    wrong = (plain[0] - plain[2]).abs() > allowed
    return _shown("value", ours, native, exact, wrong) if wrong.any() else None


def _shown(kind: str, ours: Any, native: Any, exact: Any, wrong: Any) -> str:
    place = tuple(int(n) for n in wrong.nonzero()[0])
    values = [t[place].item() if t.shape == ours.shape else t for t in (ours, native, exact)]
    return (
        f"{kind}: {int(wrong.sum())} of {wrong.numel()} differ, at {place} {values[0]!r}, torch "
        f"has {values[1]!r} and in float64 {values[2]!r}"
    )
