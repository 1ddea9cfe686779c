# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch's on arrays of 100,000 to 1,000,000 elements, called alone: times of both.

    python benchmarks/torch_functions.py [--path TORCH] [NAME...]

Each row is a line of PyTorch code, which runs over ``torch`` and over ``nn.torch_names`` with
torch's methods. The table has the rows that are slower here, the largest ratio first. TORCH is a
folder with PyTorch, if it is not installed. No row is there because it is fast.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

#: Functions of a matrix; those of positive numbers; of two; along an axis; of a whole matrix.
_OF_ONE = (
    "abs neg exp log1p expm1 exp2 sin cos tan tanh sigmoid erf erfinv floor round trunc frac sign "
    "square reciprocal asin acos atan sinh cosh asinh isnan isfinite nan_to_num relu i0 sinc angle "
    "deg2rad"
)
_OF_POSITIVE = "sqrt rsqrt log2 log10 lgamma digamma logit"
_OF_TWO = (
    "add sub mul div maximum minimum fmod remainder atan2 hypot logaddexp floor_divide copysign eq "
    "lt"
)
_ALONG = (
    "sum mean std var prod amax amin logsumexp norm median argmax argmin cumsum cumprod "
    "logcumsumexp cummax nanmean nansum mode aminmax count_nonzero var_mean diff"
)
_OF_ALL = "sum mean std prod max min median norm argmax"
#: Other rows. Matrices ``a``, ``p`` (positive), ``sq``, ``spd`` (positive definite), ``d``
#: (float64); vectors ``v``, ``w``, ``s`` (sorted); indices ``i``, ``iv``, ``ib``; a mask ``m``.
_ROWS = """
T.sort(a, -1); T.sort(a, 0); T.sort(v); T.argsort(a, dim=-1); T.topk(a, 10); T.topk(v, 100)
T.kthvalue(a, 500); T.quantile(a, 0.3, dim=1); T.unique(iv); T.unique_consecutive(iv)
T.unique(iv, return_counts=True, return_inverse=True); T.bincount(iv); T.histc(v, 100)
T.histogram(w, 50); T.searchsorted(s, w); T.bucketize(w, s); T.isin(ib, ib[:1000]); T.isin(iv, ib)
T.nonzero(m); T.masked_select(a, m); a[m]; T.where(m, a, p); a.masked_fill(m, 0.0); a[iv[:5000]]
a[i[0], i[1]]; T.gather(a, 1, i); T.gather(a, 0, i); T.take(v, iv); T.take_along_dim(a, i, 1)
T.index_select(a, 0, iv[:1000]); T.index_select(a, 1, iv[:1000]); T.scatter_add(a, 1, i, p)
T.scatter_add(a, 0, i, p); T.scatter(a, 1, i, p); T.scatter_reduce(a, 1, i, p, 'amax')
T.index_add(a, 0, iv[:1000], p); T.index_copy(a, 0, T.arange(1000), p); T.masked_scatter(a, m, p)
T.index_put(v, (ib,), w, accumulate=True); T.flip(a, (0,)); T.flip(a, (1,)); T.roll(a, 10, 1)
T.rot90(a); a.T.contiguous(); x3.permute(2, 0, 1).contiguous(); a.clone(); T.cat([a, p], 1)
T.stack([a, p], -1); a.repeat(2, 2); T.repeat_interleave(a, 3, 1); T.tril(a); T.tile(a, (2, 1))
T.repeat_interleave(v[:1000], iv[:1000]); T.chunk(a, 10); T.meshgrid(s[:1000], s[:1000])
T.nn.functional.pad(image, (1, 1, 1, 1), 'reflect'); T.nn.functional.unfold(image, 3)
T.nn.functional.one_hot(iv[:10000], 1000); T.nn.functional.pixel_shuffle(image, 2)
T.nn.functional.grid_sample(image, grid, align_corners=False); a @ p; a @ v[:1000]; T.bmm(x3, x3)
T.einsum('bij,bjk->bik', x3, x3); T.einsum('bij,bkj->ik', x3, x3); T.outer(s[:1000], s[:1000])
T.dot(v, v); T.kron(sq[:30, :30], sq[:30, :30]); d @ d; T.cdist(a, p); T.pdist(a[:300])
T.cov(a[:300]); T.corrcoef(a[:300]); T.matrix_power(sq, 5); T.matrix_exp(sq * 0.1)
T.addmm(a, a, p); T.linalg.solve(spd, sq); T.linalg.inv(spd); T.linalg.cholesky(spd)
T.linalg.qr(sq); T.linalg.svd(sq); T.linalg.eigh(spd); T.linalg.eig(sq); T.linalg.det(spd)
T.linalg.slogdet(spd); T.linalg.lstsq(sq, sq); T.linalg.pinv(sq); T.linalg.inv(small)
T.linalg.svd(small); T.linalg.norm(a); T.linalg.solve_triangular(spd, sq, upper=True)
T.fft.fft(a); T.fft.rfft(a); T.fft.fft2(a); T.fft.ifft(c); T.fft.fftn(x3); T.fft.fftshift(a)
T.stft(w, 512, 128, window=T.hann_window(512), return_complex=True); c * c; T.abs(c); T.exp(c)
c @ c; T.real(c) + 1; T.sum(c, 0); T.exp(d); T.sum(d, 1); iv + iv; iv * 2.5; iv // 7; iv % 7
T.sum(i, 1); m & m; a.to(T.float64); a.to(T.int64); a[::2, ::2] + p[::2, ::2]
s[:1000, None] * s[None, :1000]; T.randn(1000, 1000); T.rand(1000, 1000); T.randperm(100000)
T.randint(0, 10, (1000, 1000)); T.multinomial(p[:100], 5); T.arange(1000000); T.gradient(a)
T.linspace(0, 1, 1000000); T.trapezoid(a, dim=1); T.clamp(a, -1, 1); T.lerp(a, p, 0.3)
T.addcmul(a, a, p); T.softmax(a, -1); T.log_softmax(a, 0); T.nn.functional.avg_pool2d(image, 3)
T.nn.functional.interpolate(image, scale_factor=2, mode='bicubic'); T.equal(a, a)
T.allclose(a, a); a[3, 4].item(); T.combinations(s[:500]); T.cartesian_prod(s[:500], s[:500])
((a * 3 + 2) * a + 1) * a; T.nn.functional.cosine_similarity(a, p); T.renorm(a, 2, 0, 1.0)
T.nn.functional.embedding_bag(iv[:10000], a, T.arange(100) * 100)
"""


def rows() -> list[str]:
    """Return all lines."""
    return [
        *(f"T.{name}(a)" for name in _OF_ONE.split()),
        *(f"T.{name}(p)" for name in _OF_POSITIVE.split()),
        *(f"T.{name}(p, a)" for name in _OF_TWO.split()),
        *(f"T.{name}(a, dim={dim})" for name in _ALONG.split() for dim in (0, 1)),
        *(f"T.{name}(a)" for name in _OF_ALL.split()),
        *(row.strip() for line in _ROWS.strip().splitlines() for row in line.split("; ")),
    ]


def _arrays(convert: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape).astype("f4")  # noqa: E731
    sq = normal(200, 200)
    arrays = {
        "a": normal(1000, 1000), "p": rng.random((1000, 1000), "f4") + np.float32(0.1),
        "v": normal(1000000), "w": normal(100000), "s": np.sort(normal(10000)),
        "i": rng.integers(0, 1000, (1000, 1000)), "iv": rng.integers(0, 1000, 1000000),
        "ib": rng.integers(0, 100000, 100000), "m": rng.random((1000, 1000)) > 0.5,
        "c": normal(500, 500) + np.complex64(1j) * normal(500, 500), "x3": normal(64, 128, 128),
        "small": normal(500, 8, 8), "sq": sq, "spd": sq @ sq.T + 200 * np.eye(200, dtype="f4"),
        "d": rng.standard_normal((1000, 1000)), "image": normal(4, 16, 128, 128),
        "grid": np.zeros((4, 128, 128, 2), "f4"),
    }  # fmt: skip
    return {name: convert(array) for name, array in arrays.items()}


def _wait(result: Any) -> None:
    if hasattr(result, "sycl_queue"):
        result.sycl_queue.wait()
    elif isinstance(result, (tuple, list)):
        for item in result:
            _wait(item)


def measure(library: str, names: list[str]) -> dict[str, Any]:
    """Return medians in us of each row, or what it raised."""
    warnings.simplefilter("ignore")
    if library == "torch":
        import torch as T

        T.set_num_threads(2)
    else:
        from sycl_dnn.nn import torch_names as T

        T.set_tensor_methods()
    space, times = {"T": T, **_arrays(T.from_numpy)}, {}
    for row in names:
        call = eval(f"lambda: {row}", space)  # noqa: S307 - the lines above
        try:
            for _ in range(3):
                _wait(call())
            end, found = time.perf_counter() + 0.06, []
            while time.perf_counter() < end or len(found) < 3:
                start = time.perf_counter()
                _wait(call())
                found.append(time.perf_counter() - start)
            times[row] = statistics.median(found) * 1e6
        except Exception as error:  # noqa: BLE001 - reported
            times[row] = f"{type(error).__name__}: {error}"
    return times


def main() -> None:
    """Measure both, in a process each, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="rows that contain one of these, all by default")
    parser.add_argument("--path", help="folder with PyTorch, if it is not installed")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [r for r in rows() if not options.names or any(n in r for n in options.names)]
    if options.side:
        json.dump(measure(options.side, names), sys.stdout)
        return
    sides = []
    for side, path in (("sycl_dnn", None), ("torch", options.path)):
        environment = {**os.environ, **({"PYTHONPATH": path} if path else {})}
        command = [sys.executable, __file__, "--side", side, *options.names]
        output = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        sides.append(json.loads(output.stdout))
    ratios = []
    for row, (ours, torch) in {r: [side[r] for side in sides] for r in names}.items():
        if isinstance(ours, str) or isinstance(torch, str):
            print(f"{row}: {ours} / {torch}")
        else:
            ratios.append((ours / torch, row, ours, torch))
    for ratio, row, ours, torch in sorted(ratios, reverse=True):
        if ratio > 1 or options.names:
            print(f"{ratio:8.2f}  {ours:10.0f} {torch:10.0f} us  {row}")
    if ratios:
        mean = math.exp(statistics.mean(math.log(r[0]) for r in ratios))
        print(f"geometric mean of {len(ratios)} rows: {mean:.2f} of PyTorch's time")


if __name__ == "__main__":
    main()
