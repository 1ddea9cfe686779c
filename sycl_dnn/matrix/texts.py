# SPDX-License-Identifier: Apache-2.0
"""What the page of the matrix says besides its tables."""

from __future__ import annotations

INTRODUCTION = """\
# Support matrix

Which implementation oneDNN has for what: primitive, direction, data types and layout, on each level
of the CPU's instruction set and on GPUs. **Nothing was executed**: the page says which
implementation oneDNN chooses when a primitive descriptor is made, not that its numbers are right or
how fast it is. Numbers are checked by [conformance](verify.md); [inspect](inspect.md) shows why a
single case is refused or slow.

`python -m sycl_dnn matrix` measures the machine at hand;
[support_matrix.json](support_matrix.json) has every case with the name of its implementation, and
`python -m sycl_dnn matrix --compare docs/support_matrix.json` shows what differs here. This page is
written by the commands at [its end](#how-this-page-is-made).
"""
LEGEND = """\
## How to read it

| cell | meaning |
|---|---|
| brgemm, gemm, wino, jit | optimised, by family: code generated for this instruction set or GPU |
| ocl | optimised, an OpenCL kernel that was written for it |
| reorder | done by copies that other primitives do |
| simple | straightforward loops or kernels, compiled and parallel |
| *ref* | reference implementation: right and slow; also where an optimised one wraps it |
| - | refused; the reasons are below each table |
| wrong | oneDNN says that the arguments do not go together |

A row stands for all combinations of its names that make a case; *all* is every name that the
driver's tables have. Types are those of source (: weights) : destination; one name is the type of
all; integers are tried forward only. Layouts: *any* leaves the choice to oneDNN; *plain* is
row-major, *last* channels last, *blocked* `aBx16b`. Products leave the layout of their weights to
oneDNN, except for *all plain* and *transposed* weights. Directions are
[benchdnn's](verify.md#the-language). Channels are multiples of 16 unless the kind says something
else.
"""
SIMULATED = """\
A simulated GPU is Intel's own driver without hardware behind it (`tests/simulated_gpu.sh`): oneDNN
sees the GPU's architecture and chooses as it would there, but no kernel was run."""
END = """\
## How this page is made

```
python -m sycl_dnn matrix --device cpu --json docs/support_matrix.json
for gpu in arc dg1 tgl; do
    tests/simulated_gpu.sh --gpu $gpu python -m sycl_dnn matrix --device gpu \\
        --with docs/support_matrix.json --json docs/support_matrix.json \\
        --markdown docs/support_matrix.md
done
```
"""
#: Driver -> heading of its table.
TITLES = {
    "conv": "Convolution",
    "deconv": "Deconvolution",
    "ip": "Inner product",
    "matmul": "Matrix product",
    "eltwise": "Functions of single elements",
    "binary": "Functions of two sources",
    "prelu": "PReLU",
    "pool": "Pooling",
    "lrn": "Local response normalization",
    "bnorm": "Batch normalization",
    "lnorm": "Layer normalization",
    "gnorm": "Group normalization",
    "softmax": "Softmax",
    "concat": "Concatenation",
    "sum": "Sum",
    "reorder": "Reorder",
    "shuffle": "Shuffle",
    "resampling": "Resampling",
    "reduction": "Reduction",
    "rnn": "Recurrent networks",
}
