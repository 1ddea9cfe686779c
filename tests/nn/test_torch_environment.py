# SPDX-License-Identifier: Apache-2.0
"""Names around the arrays in scripts written for torch: devices, files, methods everywhere."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.nn import torch_names


@pytest.fixture
def _tensor_methods():
    torch_names.set_tensor_methods()
    yield
    torch_names.set_tensor_methods(False)


def test_scripts_choose_a_device():
    device = torch_names.device("cuda" if torch_names.cuda.is_available() else "cpu")
    assert device.type == "cpu"
    assert not torch_names.backends.mps.is_available()
    torch_names.backends.cudnn.benchmark = True
    is_gpu = sycl_dnn.default_queue().sycl_device.is_gpu
    assert torch_names.accelerator.is_available() == torch_names.xpu.is_available() == is_gpu
    assert torch_names.xpu.device_count() == int(is_gpu)
    assert (torch_names.accelerator.current_accelerator() is not None) == is_gpu
    torch_names.cuda.manual_seed_all(3)
    drawn = torch_names.rand(2)
    torch_names.cuda.empty_cache()
    torch_names.cuda.synchronize()
    sycl_dnn.manual_seed(3)
    assert (torch_names.rand(2) == drawn).all()


def test_checkpoints_of_nests(tmp_path):
    net, opt = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), optim.Adam(1e-2)
    grads = sycl_dnn.grad(lambda net: F.sum(net(F.ones(4, 2))))(net)
    opt.step(net, grads)
    path = tmp_path / "run.npz"
    log = {"epoch": 3, "losses": [0.5, None, (1, {})], 7: "x", "a/b #c": {"0": True}}
    torch_names.save({**log, "net": net.state_dict(), "opt": opt.state_of(net)}, path)
    parts = torch_names.load(path, map_location="cpu", weights_only=True)
    assert {k: v for k, v in parts.items() if k not in ("net", "opt")} == log
    other = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    other.load_state_dict(parts["net"])
    again = optim.Adam(1e-2)
    again.load_state(other, parts["opt"])
    opt.step(net, grads)
    again.step(other, grads)
    for a, b in zip(sycl_dnn.tree.leaves(net), sycl_dnn.tree.leaves(other), strict=True):
        assert (a == b).all()
    torch_names.save(net.state_dict(), path)
    assert set(sycl_dnn.load(path)) == set(torch_names.load(path)) == set(net.state_dict())
    torch_names.save(F.arange(3), path)
    assert torch_names.load(path).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"got Sequential; save net.state_dict\(\)"):
        torch_names.save({"net": net}, path)
    with pytest.raises(ValueError, match="must end in one of"):
        torch_names.save({}, tmp_path / "run.ckpt")


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize(
    "nest",
    [
        {}, [], (), None, 3, "x", {"#None": 1, "#dict": {}, "a": {"#list": 2}}, {"/a": 1},
        {"": 1, "0": 2, 0: 3, -1: 4, 0.5: 5, None: 6}, {True: 1, False: {None: ()}}, {0: np.inf},
        {"a": {"b": 1}, "a/b": 2, "a.b": [2**80, float("inf")]}, {"/nest": "x"},
    ],
    ids=repr,
)  # fmt: skip
def test_nests_come_back_as_they_were_saved(tmp_path, nest, suffix):
    path = tmp_path / f"nest.{suffix}"
    torch_names.save(nest, path)
    assert repr(torch_names.load(path)) == repr(nest)
    torch_names.save([nest, F.arange(2), {"a/b": F.zeros(1), "a": {"b": F.ones(1)}}], path)
    first, second, third = torch_names.load(path)
    assert repr(first) == repr(nest)
    torch_names.save({0: F.ones(1)}, path)
    assert list(torch_names.load(path)) == [0]
    values = second.tolist(), third["a/b"].item(), third["a"]["b"].item()
    assert values == ([0, 1], 0, 1)


def test_damaged_nests_and_keys_that_files_lack_are_refused(tmp_path):
    path = tmp_path / "nest.npz"
    for nest in ("[", '{"array": "missing"}', '{"dict": 3}', "[" * 100_000, '{"system": []}'):
        sycl_dnn.save(path, {"/nest": nest})
        with pytest.raises(ValueError, match=r"load: .*nest\.npz has a damaged nest"):
            torch_names.load(path)
    with pytest.raises(TypeError, match=r"save: keys of saved/a must be .*, got tuple"):
        torch_names.save({"a": {(1, 2): 3}}, path)
    with pytest.raises(TypeError, match=r"save: saved/a/0 must be .*, got set"):
        torch_names.save({"a": [set()]}, path)


def _script(net, x):
    """What a loss in a script does; names that differ in dpnp are among it."""
    y = net(x)
    best, _ = y.max(1)
    parts = y.view(2, -1).transpose(0, 1), best.unsqueeze(0), y.std(0), y.detach().float()
    return sum(p.pow(2).mean() for p in parts) + y.size(0) + y[y > 0].sum()


@pytest.mark.usefixtures("_tensor_methods")
def test_methods_mean_in_functions_what_they_mean_in_modules():
    class Script(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 4)

        def forward(self, x):
            return _script(self.net, x)

    whole, x = Script(), torch_names.randn(4, 3)
    expected, in_module = sycl_dnn.value_and_grad(lambda whole: whole(x))(whole)
    value, grads = sycl_dnn.value_and_grad(_script)(whole.net, x)
    eager = _script(whole.net, x)
    assert float(value) == pytest.approx(float(expected), rel=1e-6)
    assert float(eager) == pytest.approx(float(expected), rel=1e-6)
    np.testing.assert_allclose(
        sycl_dnn.asnumpy(grads.weight), sycl_dnn.asnumpy(in_module.net.weight), rtol=1e-5
    )


def test_one_compiled_function_has_a_program_for_each_meaning():
    x, spread = F.tensor([1.0, 3.0]), sycl_dnn.compile(lambda x: x.std(0))
    assert float(spread(x)) == 1
    torch_names.set_tensor_methods()
    try:
        assert float(spread(x)) == pytest.approx(2**0.5)
        assert float(sycl_dnn.grad(lambda x: x.std(0))(x)[1]) == pytest.approx(0.5**0.5)
        assert spread(x).size() == ()
    finally:
        torch_names.set_tensor_methods(False)
    assert float(spread(x)) == 1
    assert type(spread(x)) is dpnp.ndarray


def test_arrays_and_traced_values_change_together_in_a_block_of_other_settings():
    x = F.tensor([1.0, 3.0])

    def both():
        return float(F.relu(x).std(0)), float(sycl_dnn.value_and_grad(lambda x: x.std(0))(x)[0])

    try:
        with sycl_dnn.nan_mode("propagate"):
            with sycl_dnn.fallback("auto"):
                torch_names.set_tensor_methods()
                assert both() == pytest.approx((2**0.5, 2**0.5))
            assert both() == (1, 1)  # as when the block began
        assert both() == pytest.approx((2**0.5, 2**0.5))
        with sycl_dnn.nan_mode("propagate"), sycl_dnn.fallback("auto"):
            torch_names.set_tensor_methods(False)
            assert both() == (1, 1)
    finally:
        torch_names.set_tensor_methods(False)
    assert both() == (1, 1)


@pytest.mark.usefixtures("_tensor_methods")
def test_results_have_methods():
    net, x = nn.Linear(3, 2), torch_names.ones(4, 3)
    (value, out), _ = sycl_dnn.value_and_grad(lambda n: (n(x).sum(), n(x)), has_aux=True)(net)
    for array in (net(x), out, F.relu(net(x)), sycl_dnn.compile(lambda n: n(x))(net)):
        assert array.view(-1).size(0) == 8
        assert array.argmax(dim=1, keepdim=True).eq(0).size() == (4, 1)
    assert isinstance(value.item(), float)
    parts = {"all": torch_names.empty(2)}
    filled = sycl_dnn.compile(lambda x: {"all": x[0] * 2})
    assert filled(x[:, :2])["all"].size(0) == 2
    assert filled(x[:, :2], out=parts) is parts
    best, where = net(x).max(1)  # a named tuple
    assert best.type_as(where).dtype == "int64"
