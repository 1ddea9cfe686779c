# SPDX-License-Identifier: Apache-2.0
"""Files of each architecture, as llama.cpp writes them, have the values of a folder."""

import json

import dpnp
import gguf
import numpy as np
import pytest
from gguf_files import write_gguf
from small_language_models import decoder
from transformers_answers import ANSWERS, CASES, IDS

from sycl_dnn import llm

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
    wanted = dpnp.asnumpy(decoder(config)(dpnp.asarray(IDS)))
    lm = llm.load(write_gguf(tmp_path / "a.gguf", config=config))
    np.testing.assert_allclose(dpnp.asnumpy(lm.module(dpnp.asarray(IDS))), wanted, atol=2e-5)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("case", ["llama_biases", "smollm3", "gemma3", "phi3", "gpt2"])
def test_blocks_are_permuted_with_their_rows(tmp_path, case):
    """Rows are permuted, joined or transposed in the file; 16-bit blocks change no number."""
    config = CONFIGS[case]
    path = write_gguf(tmp_path / "a.gguf", gguf.GGMLQuantizationType.F16, config=config)
    wanted, got = (
        dpnp.asnumpy(llm.load(path, dtype=dtype).module(dpnp.asarray(IDS)))
        for dtype in ("float32", "stored")
    )
    np.testing.assert_allclose(got, wanted, atol=2e-5)
