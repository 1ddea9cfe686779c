# SPDX-License-Identifier: Apache-2.0
"""Full fine-tuning and LoRA on a text have the losses of torch over 50 steps."""

import codecs
import contextlib
import io

import dpnp
import numpy as np
import pytest
from small_language_models import CONFIG, decoder

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim
from sycl_dnn.nn.utils import lora

pytestmark = [pytest.mark.torch, pytest.mark.slow]
HEADS, KEY_HEADS, DIM = 4, 2, 16
RATE, DECAY, STEPS, SCALE = 2e-3, 0.01, 50, 4.0


def batches():
    """Return a batch for each step: windows of the Zen of Python, a token for each letter."""
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    tokens = np.array([min(max(ord(c) - 32, 0), 95) for c in codecs.decode(this.s, "rot13")])
    starts = np.random.default_rng(0).integers(0, len(tokens) - 33, (STEPS, 4, 1))
    return tokens[starts + np.arange(33)].astype(np.int32)


def torch_logits(torch, parameters, ids):
    """Return the logits of a Llama with named parameters; LoRA's are added where they exist."""
    N = torch.nn.functional

    def project(name, x):
        result = x @ parameters[f"{name}.weight"].T
        if f"{name}.lora_A" not in parameters:
            return result
        return result + SCALE * (
            x @ parameters[f"{name}.lora_A"].T @ parameters[f"{name}.lora_B"].T
        )

    def normalized(name, x):
        return N.rms_norm(x, (64,), parameters[f"{name}.weight"], CONFIG["rms_norm_eps"])

    def turned(x):
        angles = torch.outer(torch.arange(x.shape[2]), 1e4 ** (-torch.arange(0, DIM, 2) / DIM))
        cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
        low, high = x.chunk(2, -1)
        return x * cos + torch.cat([-high, low], -1) * sin

    x = parameters["model.embed_tokens.weight"][ids]
    n, t = ids.shape
    for i in range(CONFIG["num_hidden_layers"]):
        at, y = f"model.layers.{i}", normalized(f"model.layers.{i}.input_layernorm", x)
        q, k, v = (
            project(f"{at}.self_attn.{p}_proj", y).view(n, t, h, DIM).transpose(1, 2)
            for p, h in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))
        )
        y = N.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True, enable_gqa=True)
        x = x + project(f"{at}.self_attn.o_proj", y.transpose(1, 2).reshape(n, t, -1))
        y = normalized(f"{at}.post_attention_layernorm", x)
        y = N.silu(project(f"{at}.mlp.gate_proj", y)) * project(f"{at}.mlp.up_proj", y)
        x = x + project(f"{at}.mlp.down_proj", y)
    return project("lm_head", normalized("model.norm", x))


def torch_losses(torch, parameters, trained):
    opt = torch.optim.AdamW([parameters[n] for n in trained], lr=RATE, weight_decay=DECAY)
    found = []
    for rows in batches():
        ids = torch.from_numpy(rows).long()
        logits = torch_logits(torch, parameters, ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 96), ids[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        found.append(loss.item())
    return found


@sycl_dnn.compile(donate=("net", "state"))
def step(net, state, opt, ids):
    def loss(net):
        logits = net(ids[:, :-1])
        return F.cross_entropy(F.reshape(logits, (-1, 96)), F.reshape(ids[:, 1:], (-1,)))

    value, grads = sycl_dnn.value_and_grad(loss)(net)
    return value, *opt.update(grads, state, net)


@pytest.mark.parametrize("is_low_rank", [False, True])
def test_losses_are_those_of_torch(is_low_rank):
    torch = pytest.importorskip("torch")
    sycl_dnn.manual_seed(0)
    net = decoder().train()
    if is_low_rank:
        targets = ["q_proj", "v_proj", "down_proj"]
        net = lora(net, rank=4, alpha=4 * SCALE, targets=targets)
    trained = [n for n, _ in net.named_parameters(trainable=True)]
    assert len(trained) == (12 if is_low_rank else 21)
    parameters = {
        n.replace(".base_layer", ""): torch.from_numpy(dpnp.asnumpy(p).copy())
        for n, p in net.state_dict().items()
    }
    for name in trained:
        parameters[name].requires_grad_()
    expected = torch_losses(torch, parameters, trained)
    opt = optim.AdamW(lr=RATE, weight_decay=DECAY)
    state, actual = opt.init(net), []
    for rows in batches():
        value, net, state = step(net, state, opt, dpnp.asarray(rows))
        actual.append(float(value))
    np.testing.assert_allclose(actual, expected, atol=1e-3)
    assert np.mean(actual[-5:]) < np.mean(actual[:5]) - 0.1
