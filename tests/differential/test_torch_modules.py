# SPDX-License-Identifier: Apache-2.0
"""Modules against torch with the inputs of its own tests, a third of ``--samples`` of each."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from differential import module_rows, module_samples  # noqa: E402
from sycl_dnn import nn  # noqa: E402

pytestmark = pytest.mark.torch
INFOS = {info.name: info for info in module_rows.infos()}
MISSING = {
    "FractionalMaxPool2d", "FractionalMaxPool3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LinearCrossEntropyLoss",
}  # fmt: skip
HERE = [name for name in INFOS if name.removeprefix("nn.") not in MISSING]

#: Differences from torch, and why: a part of the line that reports each.
QUIRKS = {
    # Its gradient for targets of at most 0 is 0 times that of a logarithm, NaN.
    "nn.PoissonNLLLoss": "elements are not finite as torch's",
    # It adds 1e-12 to a denominator in second derivatives alone, and cancels in float32.
    "nn.BCELoss": "second derivative of input 0",
    # Its constant 1 / 6 is of float32.
    "nn.Hardsigmoid": "float64 train gradient of input 0",
}
#: torch has no kernel for some modules in bfloat16.
NOT_IN_TORCH = "not implemented for"
#: Calls that torch refuses and that are computed here: eps of 0; indices are not read by the host,
#: and delta only by a call.
COMPUTED = {"BatchNorm1d": {1}, "BatchNorm2d": {1}, "BatchNorm3d": {1}, "Embedding": {0},
            "HuberLoss": {0}}  # fmt: skip


def test_other_modules_are_missing_by_name():
    assert {
        n.removeprefix("nn.") for n in INFOS if module_samples.counterpart(INFOS[n]) is None
    } == MISSING
    for name in MISSING:
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; "):
            getattr(nn, name)


def _differences(name, dtype, limit, ways):
    found = []
    for sample in module_samples.samples_of(INFOS[name], dtype, limit=limit):
        try:
            found += module_samples.differences(sample, ways)
        except NotImplementedError as error:
            if dtype != "bfloat16" or NOT_IN_TORCH not in str(error):
                raise
    return [text for text in found if name not in QUIRKS or QUIRKS[name] not in text]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", HERE)
def test_float32_matches_torch(name, request):
    limit = max(1, request.config.getoption("--samples") // 3)
    found = _differences(name, "float32", limit, "eager strided compiled copied second")
    assert not found, "\n".join(found[:20])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_dtypes_match_torch(name, dtype, request):
    limit = max(1, request.config.getoption("--samples") // 3)
    found = _differences(
        name, dtype, limit, "eager compiled" if dtype == "bfloat16" else "eager second"
    )
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("name", [n for n in HERE if INFOS[n].module_error_inputs_func])
def test_inputs_that_torch_refuses_are_refused(name):
    info = INFOS[name]
    wrong = info.module_error_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=True
    )
    for number, error in enumerate(wrong):
        if number in COMPUTED.get(name.removeprefix("nn."), ()):
            continue
        sample = module_samples.ModuleSample(
            info, number, True, "float32", error.module_error_input
        )
        with pytest.raises((ValueError, TypeError), match=r"^\w+: "):
            module_samples.called(sample)
