# SPDX-License-Identifier: Apache-2.0
"""Derivatives of PyTorch's own samples of its operators, a third of ``--samples`` of each.

``SYCL_DNN_INTERPRET=always`` takes a fifth of the time: nothing is compiled.
"""

import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from differential import gradient_samples  # noqa: E402
from differential.torch_samples import (  # noqa: E402
    WITHOUT_VALUES,
    function_of,
    infos,
    name_of,
    samples_of,
)

NAMES = [
    name_of(info) for info in infos()
    if info.supports_autograd and torch.float32 in info.dtypes
    and info.name not in WITHOUT_VALUES and function_of(info) is not None
]  # fmt: skip

#: Intended differences: operators (none: all), the way and the difference, and why.
QUIRKS = (
    ("", "values of an array are not known|a mask must have axes", "shapes depend on values"),
    ("var var_mean std std_mean", "^jvp.*special value", "0 / 0 of no elements: NaN in one mode"),
    ("nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d",
     "", "torch differentiates all values of an index that occurs twice, not the one it keeps"),
    ("nn.functional.embedding", "^jvp.*padding_idx", "torch ignores padding_idx in this mode"),
    ("kthvalue topk sort argsort msort mode", "^gradient of repeated", "which of equal elements"),
    ("", "^gradient of repeated.*[Ss]ingular", "matrices of equal columns"),
    ("linalg pinverse qr svd", "^gradient of repeated.*special value", "matrices of equal columns"),
    ("special.ndtr", "^vmap", "torch rounds small probabilities to 0"),
    ("special.entr", "^jvp.*special value", "of negative numbers NaN in one mode of torch's"),
    ("nn.functional.nll_loss nn.functional.cross_entropy", "^jvp.*weight=",
     "torch has no derivative of class weights"),
    ("linalg.eigh linalg.eigvalsh", "^jvp", "torch reads both triangles of the tangent"),
    ("linalg.eig linalg.eigvals", "no gradient", "eigenvectors of general matrices"),
    ("linalg.lu linalg.lu_factor", "must be square for a gradient", "matrices that are not square"),
    ("cholesky_solve", "", "torch differentiates by the triangle that is not read"),
    ("linalg.lstsq", "results, not", "of the results torch's sample has a part"),
    ("linalg.norm", "^second.*nan", "NaN in torch where the norm has a kink"),
    ("nn.functional.scaled_dot_product_attention", "dropout_p=0.[1-9]", "drawn numbers"),
    ("nn.functional.layer_norm", r"^jvp.*float32\[1\]", "terms of 1 / sqrt(eps) cancel"),
    ("nn.functional.hardsigmoid", "float64", "torch's sixth is of float32"),
    ("logsumexp logcumsumexp", "float64", "torch's weights have the errors of the results"),
    ("cov", "float64.*aweights=float32", "weights are added in float32"),
    ("matrix_exp linalg.matrix_exp special.log_ndtr", "^second.*float64", "torch's cancel"),
    ("digamma lgamma mvlgamma", "float64", "torch's trigamma has 9 digits"),
    ("nn.functional.binary_cross_entropy", "^second.*float64", "torch adds 1e-12 to a divisor"),
)  # fmt: skip


def _is_meant(name, text):
    """Whether a row explains a difference of an operator; rows may name its first part."""
    return any(
        re.search(rule, text)
        and (not names or set(names.split()) & {name, name.rpartition(".")[0]})
        for names, rule, _ in QUIRKS
    )


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_match_torch(name, dtype, request):
    (info,) = [i for i in infos([name]) if name_of(i) == name]
    found, limit = [], max(1, request.config.getoption("--samples") // 3)
    ways = " ".join(gradient_samples.WAYS) if dtype == "float32" else "vjp second jvp"
    for sample in samples_of(info, dtype, limit=limit):
        found += gradient_samples.differences(sample, ways)
    found = [text for text in found if not _is_meant(name, text)]
    assert not found, "\n".join(found[:20])
