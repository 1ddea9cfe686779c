# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_numpy

import sycl_dnn
from sycl_dnn import functional as F


def bias_alone(x, groups, weight, bias, eps):
    """torch fails for a bias without a weight."""
    import torch

    return torch.nn.functional.group_norm(x, groups, torch.ones_like(bias), bias, eps)


def of_nothing(x, *rest):
    """torch's gradients for empty inputs are NaN."""
    return x + sum(0 * r.sum() for r in rest if hasattr(r, "sum"))


#: name: shape of the input, groups, layout.
_GROUPS = {
    "vectors": ((5, 6), 2),
    "rows": ((3, 6, 5), 3),
    "images": ((2, 6, 4, 5), 2),
    "volumes": ((2, 6, 2, 3, 4), 3),
    "rank-6": ((2, 4, 2, 1, 3, 2), 2),
    "one-group": ((3, 7, 5), 1),
    "single-channels": ((3, 7, 5), 7),
    "one-position": ((3, 8, 1, 1), 2),
    "channels-last": ((2, 32, 5, 7), 8, "channels_last"),
    "odd-channels-last": ((2, 6, 5, 7), 3, "channels_last"),
    "strided": ((2, 6, 4, 5), 2, "strided"),
    "reversed": ((2, 6, 5), 2, "reversed"),
    "transposed": ((2, 6, 4, 5), 2, "transposed"),
    "many-positions": ((2, 4, 37, 31), 2),
    "no-images": ((0, 6, 5), 2),
    "no-positions": ((2, 6, 0), 2),
}
#: name: shape of the input, layout.
_INSTANCES = {
    "rows": ((3, 6, 5),),
    "images": ((2, 5, 4, 7),),
    "volumes": ((2, 3, 2, 3, 4),),
    "channels-last": ((2, 16, 5, 7), "channels_last"),
    "strided": ((2, 6, 4, 5), "strided"),
    "reversed": ((2, 6, 5), "reversed"),
    "many-positions": ((2, 4, 97, 71),),
    "no-images": ((0, 6, 5),),
}


def _group_cases():
    for name, (shape, groups, *layout) in _GROUPS.items():
        x = Spec(shape, layout=layout[0] if layout else "plain")
        affine = Spec(shape[1:2], "positive"), Spec(shape[1:2])
        for mode, rest in {
            "affine": affine,
            "bare": (),
            "weight": affine[:1],
            "bias": (None, affine[1], 0.1),
        }.items():
            full, args = f"group_norm-{name}-{mode}", (x, groups, *rest)
            torch = {"bias": bias_alone}.get(mode, "group_norm")
            torch = of_nothing if name == "no-positions" else torch
            yield Case(full, F.group_norm, args, torch=torch, slack=5)


def _instance_cases():
    for name, (shape, *layout) in _INSTANCES.items():
        x = Spec(shape, layout=layout[0] if layout else "plain")
        fixed = {"dtype": "float32", "differentiable": False}
        stats = Spec(shape[1:2], **fixed), Spec(shape[1:2], "positive", **fixed)
        affine = Spec(shape[1:2], "positive"), Spec(shape[1:2])
        for mode, rest in {
            "affine": (None, None, *affine),
            "running": (*stats, *affine, True, 0.3),
            "given": (*stats, *affine, False),
            "bare": (),
        }.items():
            full, args = f"instance_norm-{name}-{mode}", (x, *rest)
            torch = of_nothing if name == "no-images" else "instance_norm"
            yield Case(full, F.instance_norm, args, torch=torch, slack=5)


CASES = [*_group_cases(), *_instance_cases()]
_NARROW = ("vectors", "rows", "images", "channels-last", "many-positions")
CASES += [
    c.as_dtype("bfloat16")
    for c in CASES
    if c.name.split("-", 1)[1].rpartition("-")[0] in _NARROW
    and c.name.endswith(("affine", "running"))
]
TestCases = checked(CASES, sweep=18)


def _made(queue, *shape):
    values = np.random.default_rng(3).uniform(0.5, 2.0, shape)
    return dpnp.asarray(values, dtype="f4", sycl_queue=queue)


@pytest.mark.parametrize("layout", ["plain", "channels_last"])
def test_running_statistics_of_instances(layout, queue):
    x, mean, var = _made(queue, 3, 16, 4, 5), _made(queue, 16), _made(queue, 16)
    if layout == "channels_last":
        x = dpnp.moveaxis(dpnp.ascontiguousarray(dpnp.moveaxis(x, 1, -1)), -1, 1)
    values, old_mean, old_var = (to_numpy(a) for a in (x, mean, var))
    F.instance_norm(x, mean, var, momentum=0.25)
    batch = values.mean(axis=(2, 3)).mean(0), values.var(axis=(2, 3), ddof=1).mean(0)
    np.testing.assert_allclose(to_numpy(mean), 0.75 * old_mean + 0.25 * batch[0], rtol=1e-5)
    np.testing.assert_allclose(to_numpy(var), 0.75 * old_var + 0.25 * batch[1], rtol=1e-5)


@pytest.mark.cpu
@pytest.mark.parametrize("groups", [1, 4, 16])
@pytest.mark.parametrize("has_weights", [True, False])
def test_between_primitives_it_is_one_of_them(groups, has_weights, make):
    w, vectors = make(16, 16, 3, 3) / 12, (make(16), make(16)) if has_weights else ()

    def function(x):
        return F.conv2d(F.relu(F.group_norm(F.conv2d(x, w), groups, *vectors)), w)

    x = make(2, 16, 30, 31)
    compiled = sycl_dnn.compile(function)
    np.testing.assert_allclose(to_numpy(compiled(x)), to_numpy(function(x)), rtol=0, atol=1e-4)
    parts = compiled.explain(x).parts
    steps = [row for p in parts for row in (p.fused if p.row == "host_sequence" else [p.row])]
    assert steps.count("group_normalization_forward") == 1


@pytest.mark.cpu
@pytest.mark.parametrize("function", [F.instance_norm, lambda x: F.group_norm(x, 3)])
def test_compiled_values_of_large_means(function, make):
    x = make(2, 6, 9, 8) + 100
    expected = to_numpy(function(x.astype("float64")))
    result = to_numpy(sycl_dnn.compile(function)(x))
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-4)


@pytest.mark.cpu
def test_second_derivatives_of_a_compiled_one(make):
    x, weight = make(2, 4, 3, 5), make(4)
    norm = sycl_dnn.compile(lambda x: F.group_norm(x, 2, weight))

    def slope(x):
        return sycl_dnn.grad(lambda x: (norm(x) ** 3).sum())(x)

    def plain(x):
        return sycl_dnn.grad(lambda x: (F.group_norm(x, 2, weight) ** 3).sum())(x)

    np.testing.assert_allclose(to_numpy(slope(x)), to_numpy(plain(x)), rtol=0, atol=1e-3)
