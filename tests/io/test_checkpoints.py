# SPDX-License-Identifier: Apache-2.0
"""Training resumed from a file equals uninterrupted training bit for bit; torch's files."""

import sys

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree


def network():
    return nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3)
    )


def bits(value):
    return [dpnp.asnumpy(getattr(v, "data", v) if str(v.dtype) == "bfloat16" else v).tobytes()
            for v in tree.leaves(value)]  # fmt: skip


class Training:
    """A network with dropout and noisy data, a schedule, a loss scale and averaged weights."""

    def __init__(self, way):
        self.opt = optim.AdamW(optim.schedules.warmup(3, optim.schedules.cosine(1e-2, 20)))
        self.scaler, self.ema = optim.GradScaler(growth_interval=4), optim.EMA(0.9)
        net = network()
        if way == "bfloat16":
            net.bfloat16()
            self.opt = optim.AdamW(optim.schedules.cosine(1e-2, 20), master_weights=True)
        self.parts = {
            "net": net, "state": self.opt.init(net), "scale": self.scaler.init(),
            "average": self.ema.init(net), "step": 0,
        }  # fmt: skip
        self.run = sycl_dnn.compile(self.step) if way == "compiled" else self.step

    def step(self, net, state, scale, average, x, labels):
        def loss(net):
            logits = F.astype(net(F.astype(x, str(net[0].weight.dtype))), "float32")
            return self.scaler.scale(F.cross_entropy(logits, labels), scale)

        value, grads = sycl_dnn.value_and_grad(loss)(net)
        net, state, scale = self.scaler.update(self.opt, grads, state, net, scale)
        return value, net, state, scale, self.ema.update(average, net)

    def goes_on(self, n):
        losses, p = [], self.parts
        for _ in range(n):
            x, labels = F.randn(8, 6), F.arange(8) % 3
            result = self.run(p["net"], p["state"], p["scale"], p["average"], x, labels)
            losses.append(float(result[0]))
            named = dict(zip(("net", "state", "scale", "average"), result[1:], strict=True))
            p = self.parts = named | {"step": p["step"] + 1}
        return losses


@pytest.mark.parametrize(
    ("way", "suffix"),
    [("eager", ".npz"), ("compiled", ".safetensors"), ("bfloat16", ".safetensors"),
     pytest.param("eager", ".pt", marks=pytest.mark.torch)],
)  # fmt: skip
@pytest.mark.slow
def test_resumed_training_equals_uninterrupted_training_bit_for_bit(way, suffix, tmp_path):
    path = tmp_path / f"run{suffix}"
    sycl_dnn.manual_seed(7)
    whole = Training(way)
    whole.goes_on(3)
    sycl_dnn.save_checkpoint(path, **whole.parts)
    expected = whole.goes_on(4)
    sycl_dnn.manual_seed(99)
    fresh = Training(way)
    assert bits(fresh.parts["net"]) != bits(whole.parts["net"])
    fresh.parts = sycl_dnn.load_checkpoint(path, **fresh.parts)
    assert fresh.parts["step"] == 3
    assert fresh.goes_on(4) == expected
    for name in ("net", "state", "scale", "average"):
        assert bits(fresh.parts[name]) == bits(whole.parts[name]), name


def test_in_place_training_is_resumed(tmp_path):
    def goes_on(net, opt, n):
        for _ in range(n):
            x = F.randn(4, 6)
            opt.step(net, sycl_dnn.grad(lambda net, x: F.mean(F.square(net(x))))(net, x))

    net, opt = network(), optim.SGD(0.1, momentum=0.9)
    goes_on(net, opt, 2)
    sycl_dnn.save_checkpoint(tmp_path / "run.npz", net=net, state=opt.state_of(net))
    goes_on(net, opt, 2)
    other, again = network(), optim.SGD(0.1, momentum=0.9)
    found = sycl_dnn.load_checkpoint(tmp_path / "run.npz", net=other, state=again.init(other))
    again.load_state(found["net"], found["state"])
    goes_on(found["net"], again, 2)
    assert bits(found["net"]) == bits(net)


def test_a_damaged_checkpoint_does_not_change_the_random_state(tmp_path):
    path = tmp_path / "run.npz"
    sycl_dnn.save(path, {"step": 1, "rng_state": "nothing"})
    before = sycl_dnn.get_rng_state()
    with pytest.raises(ValueError, match="run.npz is damaged: set_rng_state: state must be"):
        sycl_dnn.load_checkpoint(path, step=0)
    with pytest.raises(ValueError, match=r"lacks \['other'\]"):
        sycl_dnn.load_checkpoint(path, step=0, other=F.ones(2))
    with pytest.raises(ValueError, match="must not be named 'rng_state'"):
        sycl_dnn.save_checkpoint(path, rng_state=1)
    for wrong in ("", "{}", "[]", '{"bit_generator": "MT19937"}', 3, None):
        with pytest.raises(ValueError, match="set_rng_state: state must be a string"):
            sycl_dnn.set_rng_state(wrong)
    assert sycl_dnn.get_rng_state() == before


def test_state_dicts_in_torch_files_load(tmp_path):
    torch = pytest.importorskip("torch")
    layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten()]
    theirs, path = torch.nn.Sequential(*layers), tmp_path / "net.pth"
    theirs(torch.randn(2, 1, 6, 6))
    torch.save(theirs.state_dict(), path)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten())
    assert sycl_dnn.load(path, net) is net
    for name, value in theirs.state_dict().items():
        np.testing.assert_array_equal(dpnp.asnumpy(net.state_dict()[name]), value.numpy())
    assert net.state_dict()["1.num_batches_tracked"].dtype == np.int64
    sycl_dnn.save(path, net)
    theirs.load_state_dict(torch.load(path, weights_only=True))
    whole = {"model": theirs.state_dict(), "epoch": 3, "none": None,
             "half": torch.ones(2, dtype=torch.bfloat16),
             "list": [1, torch.zeros(2, 1).T]}  # fmt: skip
    torch.save(whole, path)
    found = sycl_dnn.load(path)
    assert found["epoch"] == 3
    assert found["half"].dtype == "bfloat16"
    assert found["model.0.weight"].shape == (4, 1, 3, 3)
    torch.save({"a": torch.ones(2) * 1j}, path)
    np.testing.assert_array_equal(dpnp.asnumpy(sycl_dnn.load(path)["a"]), [1j, 1j])
    for wrong in (torch.ones(2), {"a": torch.ones(2).to_sparse()}):
        torch.save(wrong, path)
        with pytest.raises(ValueError, match="net.pth is damaged or no .pth file"):
            sycl_dnn.load(path)


@pytest.mark.parametrize(
    ("name", "suffix", "message"),
    [("safetensors", ".safetensors", r"pip install 'sycl_dnn\[io\]'"),
     ("torch", ".pt", "need torch, which is not installed")],
)  # fmt: skip
def test_a_missing_library_is_named(name, suffix, message, tmp_path, monkeypatch):
    path = tmp_path / f"tree{suffix}"
    path.write_bytes(b"anything")
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=message):
        sycl_dnn.load(path)
    with pytest.raises(ImportError, match=message):
        sycl_dnn.save(path, {"a": F.ones(2)})
    assert path.read_bytes() == b"anything"


def test_safetensors_files_match_the_library(tmp_path):
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "tree.safetensors"
    value = {"f8": F.astype(F.randn(5), "float8_e4m3"), "b": F.astype(F.randn(2, 3), "bfloat16"),
             "empty": F.zeros(0, 4), "f": F.randn(3, 2).T}  # fmt: skip
    sycl_dnn.save(path, value)
    assert bits(sycl_dnn.load(path, value)["b"]) == bits(value["b"])
    assert sycl_dnn.load(path)["f8"].dtype == "float8_e4m3"
    save_file({"f": np.ones((2, 3), "f4")}, path, metadata={"format": "np"})
    np.testing.assert_array_equal(dpnp.asnumpy(sycl_dnn.load(path)["f"]), load_file(path)["f"])
