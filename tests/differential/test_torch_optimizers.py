# SPDX-License-Identifier: Apache-2.0
"""Optimizers against torch with the options of its own tests, ``--samples`` of each dtype."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from differential import optimizer_samples  # noqa: E402
from sycl_dnn import functional as F  # noqa: E402
from sycl_dnn import optim  # noqa: E402

pytestmark = pytest.mark.torch
INFOS = {info.name: info for info in optimizer_samples.infos()}
WAYS = (("float32", "eager"), ("float32", "saved"), ("float32", "compiled"),
        ("float64", "missing"), ("bfloat16", "missing"), ("complex64", "missing"),
        ("complex128", "compiled"), ("float32", "groups"), ("float32", "foreach"),
        ("float32", "fused"))  # fmt: skip
#: Options that torch refuses and that have a meaning here: betas may be a number and an array.
ACCEPTED = "betas must be either both floats or both Tensors"


@pytest.mark.slow
@pytest.mark.parametrize("name", INFOS)
def test_steps_match_torch(name, tmp_path, request):
    info, found = INFOS[name], []
    all_options = list(optimizer_samples.options_of(info))
    ways = [w for w in WAYS if w[1] not in ("foreach", "fused") or w[1] in info.supported_impls]
    ways = [w for w in ways if info.supports_complex or not w[0].startswith("complex")]
    ways += [("float32", scheduler) for scheduler in optimizer_samples.SCHEDULERS]
    n_options, count = len(all_options), request.config.getoption("--samples")
    for number, (dtype, way) in enumerate(ways):
        # Other options in each way; one of them with each scheduler.
        count = 1 if way in optimizer_samples.SCHEDULERS else count
        step = max(1, n_options // count)
        chosen = [
            all_options[(number + n * step) % n_options] for n in range(min(count, n_options))
        ]
        for options in chosen:
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


def _distance(functions, params, targets):
    """A loss that torch's functions and those of this package compute."""
    rows = [functions.sub(p, targets[n]) for n, p in params.items()]
    return sum(functions.sum(functions.log1p(functions.square(row))) for row in rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_closures_match_torch(dtype):
    (info,) = [i for i in optimizer_samples.optim_db if i.name == "LBFGS"]
    for listed in info.optim_inputs_func("cpu"):
        given = listed.kwargs | {"max_iter": 4}
        problem = optimizer_samples.Problem(info, dtype)
        targets = problem.grads[0]
        theirs = {n: p.clone().requires_grad_() for n, p in problem.params.items()}
        optimizer = torch.optim.LBFGS(list(theirs.values()), **given)

        def closure(theirs=theirs, optimizer=optimizer, targets=targets):
            optimizer.zero_grad()
            value = _distance(torch, theirs, targets)
            value.backward()
            return value

        opt = optim.LBFGS(**optimizer_samples.own_options(given))
        own, state = optimizer_samples._own(problem.params), None
        for _ in range(3):
            optimizer.step(closure)
            state = opt.init(own) if state is None else state
            other = optimizer_samples._own(targets)
            own, state = opt.update(lambda p, t: _distance(F, p, t), state, own, other)
        for n, p in own.items():
            found, expected = optimizer_samples.to_torch(p), theirs[n].detach()
            tolerance = 2e-3 if dtype == "float32" else 1e-7
            torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def test_complex_parameters_are_taken_where_torch_takes_them():
    expected = {name for name, info in INFOS.items() if info.supports_complex}
    assert {name for name in INFOS if getattr(optim, name).takes_complex} == expected
