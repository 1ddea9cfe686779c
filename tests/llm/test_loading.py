# SPDX-License-Identifier: Apache-2.0
"""Models from folders and GGUF files: values, dtypes, and what is refused."""

import json
import os
import subprocess
import sys

import dpnp
import gguf
import numpy as np
import pytest
import safetensors
from gguf_files import write_gguf
from safetensors.numpy import load_file, save_file
from small_language_models import CONFIG, decoder, vocabulary, write_folder

import sycl_dnn
from sycl_dnn import llm
from sycl_dnn.llm.gguf_file import GgufFile
from sycl_dnn.llm.gguf_format import GgufReader
from sycl_dnn.llm.hugging_face_folder import Folder
from sycl_dnn.llm.temporaries import read_array

IDS = dpnp.asarray([[5, 6, 7, 30, 40, 50, 60]], dtype="i4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("models") / "folder")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("models") / "model.gguf")


@pytest.fixture(scope="module")
def logits():
    return dpnp.asnumpy(decoder()(IDS))


def test_a_folder_loads_the_values_of_its_files(folder, logits):
    lm = sycl_dnn.llm.load(folder)
    np.testing.assert_array_equal(dpnp.asnumpy(lm.module(IDS)), logits)
    assert not lm.module.training


def test_a_gguf_file_loads_the_values_of_its_model(file, logits):
    lm = llm.load(str(file))
    np.testing.assert_array_equal(dpnp.asnumpy(lm.module(IDS)), logits)
    eps = np.float32(1e-5).item()
    assert lm.config == llm.Config.of({**CONFIG, "rms_norm_eps": eps})


def test_shards_and_float16_are_read(tmp_path, folder, logits):
    found = load_file(folder / "model.safetensors")
    names = sorted(found)
    parts = {"a.safetensors": names[:5], "b.safetensors": names[5:]}
    for part, inside in parts.items():
        save_file({n: found[n].astype(np.float16) for n in inside}, tmp_path / part)
    index = {"weight_map": {n: part for part, inside in parts.items() for n in inside}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    lm = llm.load(tmp_path)
    assert lm.tokenizer is None
    np.testing.assert_allclose(dpnp.asnumpy(lm.module(IDS)), logits, atol=0.02)


@pytest.mark.parametrize(("dtype", "most"), [("bfloat16", 0.03), ("int8", 0.06)])
def test_reduced_precision_weights_have_small_errors(folder, logits, dtype, most):
    lm = llm.load(folder, dtype=dtype)
    held = {str(v.dtype) for v in lm.module.state_dict().values() if v.ndim == 2}
    assert held == {dtype}
    actual = dpnp.asnumpy(sycl_dnn.functional.astype(lm.module(IDS), "float32"))
    assert 0 < np.linalg.norm(actual - logits) / np.linalg.norm(logits) < most


def test_bfloat16_files_are_exact(tmp_path):
    values = np.arange(-48, 48, dtype=np.float32) / 8
    stored = (values.view(np.uint32) >> 16).astype(np.uint16)
    write_folder(tmp_path)
    spec = safetensors.TensorSpec(
        dtype="bfloat16", shape=(96,), data_ptr=stored.ctypes.data, data_len=stored.nbytes
    )
    safetensors.serialize_file({"x": spec}, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(Folder(tmp_path).array("x", (96,)), values)


# --- Blocks of GGUF files, compared with their definition in llama.cpp's ggml-quants.c


def _scales(raw):
    """Return the eight scales and minima of 6 bits in twelve bytes."""
    low = [raw[j] & 63 for j in range(4)]
    low += [(raw[j + 4] & 15) | (raw[j - 4] >> 6 << 4) for j in range(4, 8)]
    high = [raw[j + 4] & 63 for j in range(4)]
    high += [(raw[j + 4] >> 4) | (raw[j] >> 6 << 4) for j in range(4, 8)]
    return low, high


def _half(raw):
    return float(np.frombuffer(bytes(raw), np.float16)[0])


def _q8_0(b):
    return [_half(b[:2]) * v for v in np.frombuffer(bytes(b[2:]), np.int8).tolist()]


def _q4_0(b):
    return [_half(b[:2]) * (v - 8) for v in [x & 15 for x in b[2:]] + [x >> 4 for x in b[2:]]]


def _q4_1(b):
    d, m = _half(b[:2]), _half(b[2:4])
    return [d * v + m for v in [x & 15 for x in b[4:]] + [x >> 4 for x in b[4:]]]


def _q4_k(b):
    d, m = _half(b[:2]), _half(b[2:4])
    scales, minima = _scales(b[4:16])
    quants = b[16:]
    return [d * scales[j] * ((quants[j // 2 * 32 + i] >> j % 2 * 4) & 15) - m * minima[j]
            for j in range(8) for i in range(32)]  # fmt: skip


def _q5_k(b):
    d, m = _half(b[:2]), _half(b[2:4])
    scales, minima = _scales(b[4:16])
    high, quants = b[16:48], b[48:]
    return [d * scales[j] * (((quants[j // 2 * 32 + i] >> j % 2 * 4) & 15)
                             + 16 * (high[i] >> j & 1)) - m * minima[j]
            for j in range(8) for i in range(32)]  # fmt: skip


def _q6_k(b):
    low, high = b[:128], b[128:192]
    scales, d = np.frombuffer(bytes(b[192:208]), np.int8).tolist(), _half(b[208:])
    found = []
    for i in range(256):
        half, inside = divmod(i, 128)
        quarter, k = divmod(inside, 32)
        four = low[half * 64 + k + quarter % 2 * 32] >> quarter // 2 * 4 & 15
        two = high[half * 32 + k] >> quarter * 2 & 3
        found.append(d * scales[i // 16] * ((four | two << 4) - 32))
    return found


@pytest.mark.parametrize(("kind", "count", "of_block"), [
    ("Q8_0", 32, _q8_0), ("Q4_0", 32, _q4_0), ("Q4_1", 32, _q4_1), ("Q4_K", 256, _q4_k),
    ("Q5_K", 256, _q5_k), ("Q6_K", 256, _q6_k),
])  # fmt: skip
def test_blocks_are_exact(tmp_path, kind, count, of_block):
    kind = gguf.GGMLQuantizationType[kind]
    _, size = gguf.GGML_QUANT_SIZES[kind]
    raw = np.random.default_rng(0).integers(0, 256, (3, 2 * size), dtype=np.uint8)
    for start in range(0, 2 * size, size):  # scales must be numbers
        places = (208,) if kind.name == "Q6_K" else (0, 2)
        for at in places:
            raw[:, start + at : start + at + 2] = np.frombuffer(np.float16(0.07).tobytes(), "u1")
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tensor("x", raw, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    actual = GgufReader(tmp_path / "a.gguf").read("x")
    expected = [sum((of_block(row[i : i + size].tolist()) for i in (0, size)), []) for row in raw]
    assert actual.shape == (3, 2 * count)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


_GROWTH = """
import sys
import dpnp, gguf, jinja2, safetensors, tokenizers
from sycl_dnn import functional as F, llm

def own(name):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(name)) * 1024

llm.load(sys.argv[1], dtype="stored")  # libraries and drivers
open("/proc/self/clear_refs", "w").write("5")
before = own("VmRSS")
lm = llm.load(sys.argv[2], dtype="stored")
print(own("VmHWM") - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="memory is read from /proc")
def test_loading_needs_little_more_than_the_file(tmp_path, file):
    config = {**CONFIG, "vocab_size": 49152, "hidden_size": 512, "intermediate_size": 1536}
    large = write_gguf(
        tmp_path / "large.gguf", gguf.GGMLQuantizationType.Q8_0,
        config=config | {"num_hidden_layers": 8},
    )  # fmt: skip
    command = [sys.executable, "-c", _GROWTH, file, large]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    # Two matrices are a third of the file each; the last one is in memory twice for a moment.
    assert grown < 1.6 * large.stat().st_size


def test_a_field_of_strings_is_read_again_at_each_iteration(file):
    tokens = GgufReader(file).fields["tokenizer.ggml.tokens"]
    assert list(tokens) == list(tokens) == vocabulary()
    assert len(tokens) == 96


# --- What is refused


def test_a_file_that_became_shorter_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(bytes(10))
    with pytest.raises(ValueError, match="ends within a tensor"):
        read_array(tmp_path / "x", 4, (2,), np.float32)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"load: .*nothing\.gguf does not exist"):
        llm.load(tmp_path / "nothing.gguf")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors does not exist"):
        llm.load(tmp_path)


def test_an_unknown_dtype_is_refused(file):
    with pytest.raises(ValueError, match="dtype must be one of .*int8, stored, got 'q4'"):
        llm.load(file, dtype="q4")


def test_a_missing_tensor_is_named(tmp_path):
    name = "model.layers.1.mlp.up_proj.weight"
    with pytest.raises(ValueError, match=f"has no tensor {name}"):
        llm.load(write_folder(tmp_path / "a", more={name: None}))
    file = write_gguf(tmp_path / "a.gguf", without=("blk.1.ffn_up.weight",))
    with pytest.raises(ValueError, match=r"no tensor blk\.1\.ffn_up\.weight \(model\.layers\.1"):
        llm.load(file)


def test_a_tensor_of_another_shape_is_named(tmp_path):
    more = {"model.norm.weight": np.ones(63)}
    with pytest.raises(ValueError, match=r"model.norm.weight must have shape \(64,\), got \(63,\)"):
        llm.load(write_folder(tmp_path / "a", more=more))


def test_a_type_without_a_decoder_is_named(tmp_path):
    more = {"model.norm.weight": np.ones(64)}
    with pytest.raises(ValueError, match="must be of type F32, F16, BF16, F64, got I64"):
        llm.load(write_folder(tmp_path / "a", more=more, dtype=np.int64))


def test_an_unknown_architecture_is_named(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ValueError, match="architecture must be one of llama, .*got 'mamba'"):
        llm.load(tmp_path / "a.gguf")


def test_damaged_files_are_refused(tmp_path, file, folder):
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    ends = [0, 3, 4, 20, 100, 1000, len(whole) // 2, *rng.integers(0, len(whole) - 40, 10)]
    for end in ends:
        (tmp_path / "cut.gguf").write_bytes(whole[:end])
        with pytest.raises(ValueError, match="llm: "):
            llm.load(tmp_path / "cut.gguf")
    (tmp_path / "other.gguf").write_bytes(b"no GGUF file" * 40)
    with pytest.raises(ValueError, match="is not a whole GGUF file"):
        llm.load(tmp_path / "other.gguf")
    weights = (folder / "model.safetensors").read_bytes()
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for end in (0, 7, 100, len(weights) - 1):
        (tmp_path / "model.safetensors").write_bytes(weights[:end])
        with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
            llm.load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json must be JSON"):
        llm.load(tmp_path)


def test_changed_bytes_are_read_or_refused(tmp_path, file):
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(whole)
        for at in rng.integers(0, 5000, 3):
            data[at] = rng.choice([0, 1, 127, 255])
        (tmp_path / "a.gguf").write_bytes(data)
        try:
            found = GgufFile(tmp_path / "a.gguf")
            found.tokenizer()
            assert found.array("model.norm.weight", (64,)).shape == (64,)
        except ValueError as error:
            assert "llm: " in str(error)  # noqa: PT017


def test_a_shard_index_must_not_escape_the_folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    index = {"weight_map": {"x": "../other/model.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match="must name files of its folder"):
        llm.load(tmp_path)
