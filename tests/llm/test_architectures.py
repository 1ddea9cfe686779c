# SPDX-License-Identifier: Apache-2.0
"""Every architecture has the logits of transformers, at once and over a cache."""

import json

import dpnp
import gguf
import numpy as np
import pytest
from gguf_files import write_gguf
from small_language_models import CONFIG, decoder
from transformers_answers import ANSWERS, CASES, IDS, STORED

from sycl_dnn import llm
from sycl_dnn.llm.generation import padded
from sycl_dnn.llm.key_value_slots import Slots

CASES_STORED = {k: v for line in ANSWERS.read_text().splitlines()
                for k, v in json.loads(line).items()}  # fmt: skip


def test_every_case_is_stored():
    assert list(CASES_STORED) == list(CASES)
    assert {kind for kind, _ in CASES.values()} == set(llm.ARCHITECTURES)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("case", CASES_STORED)
def test_logits_match_transformers(case):
    stored = CASES_STORED[case]
    actual = dpnp.asnumpy(decoder(stored["config"])(dpnp.asarray(IDS)))
    np.testing.assert_allclose(actual[STORED], stored["logits"], atol=1e-4)


#: But those whose rotations depend on the length of the whole text.
OVER_A_CACHE = [
    case for case in CASES_STORED if case not in ("llama_dynamic", "phi3_longrope_long")
]


@pytest.mark.sweep(20)
@pytest.mark.parametrize("case", OVER_A_CACHE)
def test_cached_logits_equal_those_of_the_whole_sequence(case):
    net = decoder(CASES_STORED[case]["config"])
    lm = llm.LanguageModel(net)
    rows = [IDS[0].tolist(), IDS[1, :5].tolist()]
    given = padded(rows)
    slots = Slots(dpnp.asarray(np.int32(0)), dpnp.asarray(given.starts))
    result, _ = net(dpnp.asarray(given.ids), lm._generator.new_cache(2, 64), slots, last_only=True)
    result = dpnp.asnumpy(result)
    expected = [dpnp.asnumpy(net(dpnp.asarray([r], dtype="i4")))[0, -1] for r in rows]
    np.testing.assert_allclose(result, expected, atol=1e-4)


def test_names_match_hugging_face():
    names = set(decoder().state_dict())
    assert "model.layers.1.self_attn.q_proj.weight" in names
    assert {n.split(".")[0] for n in names} == {"model", "lm_head"}
    gpt2 = decoder(CASES_STORED["gpt2"]["config"]).state_dict()
    assert gpt2["transformer.h.0.attn.c_attn.weight"].shape == (64, 192)
    assert "lm_head.weight" not in gpt2


@pytest.mark.parametrize(("change", "said"), [
    ({"model_type": "bert"}, "architecture must be one of .*'bert'"),
    ({"hidden_act": "tanhshrink"}, "activation must be one of .*'tanhshrink'"),
    ({"rope_scaling": {"rope_type": "curved"}}, "rope_type must be one of .*'curved'"),
    ({"rope_scaling": {"rope_type": "linear"}}, "rope_type linear must have the key 'factor'"),
    ({"hidden_size": None}, "hidden_size of the config must be a positive integer, got None"),
    ({"layer_types": ["full_attention"]}, "layer_types must name 2 layers"),
])  # fmt: skip
def test_unknown_configs_are_refused_by_name(change, said):
    with pytest.raises(ValueError, match=said):
        llm.Config.of({**CONFIG, **change})


def test_legacy_rope_keys_are_read():
    old = llm.Config.of({**CONFIG, "rope_theta": 5e5, "rope_scaling": {
        "type": "linear", "factor": 4.0}})  # fmt: skip
    new = llm.Config.of({**CONFIG, "rope_parameters": {
        "rope_theta": 5e5, "rope_type": "linear", "factor": 4.0}})  # fmt: skip
    assert old.rotations == new.rotations
    assert old.rotations[0].frequencies[0] == 0.25


# --- GGUF files


CONFIGS = {k: v["config"] for line in ANSWERS.read_text().splitlines()
           for k, v in json.loads(line).items()}  # fmt: skip
# Gemma's scale is that of its head, and every sixth layer of Gemma 3 is full.
CONFIGS["gemma2"]["query_pre_attn_scalar"] = CONFIGS["gemma2"]["head_dim"]
CONFIGS["gemma3_linear"] |= {
    "query_pre_attn_scalar": CONFIGS["gemma3_linear"]["head_dim"], "num_hidden_layers": 6,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}  # fmt: skip
#: What the format has no fields for: other rotations, windows outside of Gemma and Phi.
LESS = ("llama_dynamic", "mistral_window", "qwen2_windows")


def test_every_architecture_is_covered():
    kinds = {CASES[case][0] for case in CONFIGS if case not in LESS}
    assert kinds == set(llm.ARCHITECTURES)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("case", [c for c in CONFIGS if c not in LESS])
def test_logits_equal_those_of_the_hugging_face_model(tmp_path, case):
    config = CONFIGS[case]
    expected = dpnp.asnumpy(decoder(config)(dpnp.asarray(IDS)))
    lm = llm.load(write_gguf(tmp_path / "a.gguf", config=config))
    np.testing.assert_allclose(dpnp.asnumpy(lm.module(dpnp.asarray(IDS))), expected, atol=2e-5)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("case", ["llama_biases", "smollm3", "gemma3", "phi3", "gpt2"])
def test_blocks_are_permuted_with_their_rows(tmp_path, case):
    """Rows are permuted, joined or transposed in the file; 16-bit blocks change no number."""
    config = CONFIGS[case]
    path = write_gguf(tmp_path / "a.gguf", gguf.GGMLQuantizationType.F16, config=config)
    expected, actual = (
        dpnp.asnumpy(llm.load(path, dtype=dtype).module(dpnp.asarray(IDS)))
        for dtype in ("float32", "stored")
    )
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=5e-5)
