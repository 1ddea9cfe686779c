# SPDX-License-Identifier: Apache-2.0
"""Training: the losses of torch, and text of the trained module."""

import json

import dpnp
import numpy as np
import pytest
from small_language_models import decoder, write_folder
from transformers_answers import ANSWERS, LOSSES, TRAINED

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import llm, optim
from sycl_dnn.nn.utils import lora, merge_lora


@sycl_dnn.compile(donate=("net", "state"))
def _stepped(net, state, opt, ids):
    def loss(net):
        logits = net(ids)[:, :-1]
        return F.cross_entropy(F.reshape(logits, (-1, 96)), F.reshape(ids[:, 1:], (-1,)))

    value, grads = sycl_dnn.value_and_grad(loss)(net)
    return value, *opt.update(grads, state, net)


def trained(net, opt, ids, n):
    state, losses = opt.init(net), []
    for _ in range(n):
        value, net, state = _stepped(net, state, opt, ids)
        losses.append(value)
    return net, [float(v) for v in losses]


@pytest.mark.slow
@pytest.mark.smoke
def test_losses_of_50_steps_match_torch():
    config = json.loads(ANSWERS.read_text().splitlines()[0])["llama"]["config"]
    opt = optim.AdamW(lr=1e-3, weight_decay=0.01)
    _, losses = trained(decoder(config).train(), opt, dpnp.asarray(TRAINED), 50)
    np.testing.assert_allclose(losses, json.loads(LOSSES.read_text()), atol=1e-3)


@pytest.mark.slow
@pytest.mark.smoke
def test_a_trained_module_generates_what_it_learned(tmp_path):
    lm = llm.load(write_folder(tmp_path / "folder"))
    ids = [5, 9, 13, 17, 21, 25, 29, 33]
    before = lm.generate("cat", max_tokens=4)
    net = lora(lm.module, rank=4, targets=["q_proj", "v_proj", "down_proj"])
    net, losses = trained(net, optim.AdamW(lr=0.02), dpnp.asarray([ids], dtype="i4"), 60)
    assert losses[-1] < 0.1 < losses[0]
    lm.module = merge_lora(net.eval())
    lm.tokenizer = None
    assert lm.generate(ids[:3], max_tokens=5) == ids[3:]
    assert isinstance(before, str)
