# SPDX-License-Identifier: Apache-2.0
"""Optimizers against torch with the options of its own tests, ``--samples`` of each dtype."""

import itertools

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from differential import optimizer_samples  # noqa: E402
from sycl_dnn import optim  # noqa: E402

pytestmark = pytest.mark.torch
INFOS = {info.name: info for info in optimizer_samples.infos()}
WAYS = (("float32", "eager"), ("float32", "saved"), ("float32", "compiled"),
        ("float64", "eager"), ("bfloat16", "eager"), ("complex64", "eager"),
        ("complex128", "compiled"))  # fmt: skip
#: What torch refuses, but has a meaning here: betas may be a number and an array.
ACCEPTED = "betas must be either both floats or both Tensors"


@pytest.mark.slow
@pytest.mark.parametrize("name", INFOS)
def test_steps_match_torch(name, tmp_path, request):
    info, found = INFOS[name], []
    cases = list(itertools.product(WAYS, optimizer_samples.options_of(info)))
    count = request.config.getoption("--samples") * len(WAYS)
    for (dtype, way), options in cases[:: max(1, -(-len(cases) // count))]:
        if dtype.startswith("complex") and not info.supports_complex:
            continue
        texts = optimizer_samples.differences(info, options, dtype, way, tmp_path)
        found += [f"{dtype} {way} {options}: {text}" for text in texts]
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("name", INFOS)
def test_wrong_options_are_refused(name):
    for wrong in INFOS[name].optim_error_inputs_func("cpu", torch.float32):
        given = wrong.optimizer_error_input
        if (given.params is not None and not given.kwargs) or given.desc == ACCEPTED:
            continue
        with pytest.raises((ValueError, TypeError), match=f"^{name}: "):
            getattr(optim, name)(**optimizer_samples.own_options(given.kwargs))


def test_complex_parameters_are_taken_where_torch_takes_them():
    expected = {name for name, info in INFOS.items() if info.supports_complex}
    assert {name for name in INFOS if getattr(optim, name).takes_complex} == expected
