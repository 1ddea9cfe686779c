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

#: What is meant to differ: operators (none: all), the way and the difference, and why.
QUIRKS = (
    ("", "values of an array are not known|a mask must have axes", "shapes depend on values"),
    ("var var_mean std std_mean", "^jvp.*special value", "0 / 0 of no elements: NaN in one mode"),
    ("nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d",
     "^jvp", "an index that occurs twice has equal values, but not equal tangents"),
    ("nn.functional.embedding", "^jvp.*padding_idx", "torch ignores padding_idx in this mode"),
    ("kthvalue topk sort argsort msort", "^gradient of repeated", "the choice of equal elements"),
    ("", "^gradient of repeated.*singular", "matrices of equal columns"),
    ("linalg pinverse", "^gradient of repeated.*special value", "matrices of equal columns"),
    ("special.ndtr", "^vmap", "torch rounds small probabilities to 0"),
    ("special.entr", "^jvp.*special value", "of negative numbers NaN in one mode of torch's"),
    ("nn.functional.nll_loss nn.functional.cross_entropy", "^jvp.*weight=",
     "torch has no derivative of class weights"),
    ("linalg.eigh linalg.eigvalsh", "^jvp", "torch reads both triangles of the tangent"),
    ("linalg.lstsq", "results, not", "of the results torch's sample has a part"),
    ("linalg.norm", "^second.*nan", "NaN in torch where the norm has a kink"),
    ("nn.functional.scaled_dot_product_attention", "dropout_p=0.[1-9]", "drawn numbers"),
    ("nn.functional.layer_norm", r"^jvp.*float32\[1\]", "terms of 1 / sqrt(eps) cancel"),
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
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_match_torch(name, request):
    (info,) = [i for i in infos([name]) if name_of(i) == name]
    found, limit = [], max(1, request.config.getoption("--samples") // 3)
    for sample in samples_of(info, "float32", limit=limit):
        found += gradient_samples.differences(sample)
    found = [text for text in found if not _is_meant(name, text)]
    assert not found, "\n".join(found[:20])
