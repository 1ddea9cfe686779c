# SPDX-License-Identifier: Apache-2.0
"""Matrices in the blocks of a file: their rows, products with them, models that hold them."""

import dpnp
import gguf
import numpy as np
import pytest
from gguf_files import write_gguf
from small_language_models import CONFIG, write_folder

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import llm
from sycl_dnn._core import cpu_isa, get_effective_cpu_isa
from sycl_dnn.kernels import packed_blocks, tiled_blocks
from sycl_dnn.kernels.packed_blocks import BLOCKS
from sycl_dnn.kernels.tiled_blocks import TILED, in_tiles
from sycl_dnn.llm.layer_norms import activated
from sycl_dnn.llm.packed_matrices import PackedMatrix, decoded, looked_up, packed_linears

IDS = dpnp.asarray([[5, 6, 7, 30, 40, 50, 60]], dtype="i4")
RNG = np.random.default_rng(0)
KINDS = (*BLOCKS, *TILED)


def packed_linear(x, data, kind):
    return packed_linears(x, [data], kind)[0]


def blocks(kind, n=48, count=2):
    """Return random rows of blocks, and the weights that the library ``gguf`` finds in them."""
    if kind in TILED:
        raw, weights = blocks(TILED[kind], n, count)
        return in_tiles(raw, TILED[kind]), weights
    block, kind = BLOCKS[kind], gguf.GGMLQuantizationType[kind]
    if kind.name in ("F16", "BF16"):
        raw = gguf.quantize(RNG.standard_normal((n, 32 * count)).astype("f4"), kind).view("u1")
    else:
        raw = RNG.integers(0, 256, (n, count, block.n_bytes), dtype=np.uint8)
        for at in (208,) if kind.name == "Q6_K" else (0, 2) if kind.name != "Q8_0" else (0,):
            if kind.name != "Q4_0" or at == 0:
                scales = RNG.uniform(-0.1, 0.1, (n, count)).astype(np.float16)
                raw[:, :, at : at + 2] = scales[..., None].view(np.uint8)
    raw = raw.reshape(n, -1)
    return raw, gguf.dequantize(raw, kind).reshape(n, -1)


@pytest.fixture(params=["kernels", "functions"])
def way(request, monkeypatch):
    """Decode by kernels, or by the functions that devices without OpenCL C have."""
    if request.param == "functions":
        for file, products, rows in (
            (packed_blocks, "packed_products", "packed_rows"),
            (tiled_blocks, "tiled_products", "tiled_columns"),
        ):
            for name in (products, rows):
                monkeypatch.setattr(file, name, lambda *args: None)
    return request.param


@pytest.mark.sweep(8)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_match_the_gguf_library(kind, way):
    raw, expected = blocks(kind)
    data = dpnp.asarray(raw)
    actual = sycl_dnn.compile(lambda data: decoded(data, kind))(data)
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 3, 8, 9, 40])
def test_products_equal_those_of_the_decoded_matrix(kind, rows, monkeypatch):
    raw, weights = blocks(kind)
    x = RNG.standard_normal((rows, weights.shape[1])).astype("f4")
    expected = x.astype("f8") @ weights.T.astype("f8")
    size = np.abs(x).astype("f8") @ np.abs(weights.T)
    actual = dpnp.asnumpy(packed_linear(dpnp.asarray(x), dpnp.asarray(raw), kind))
    few = 2.0**-15 if kind in TILED else 1e-6  # tiles are multiplied by 16-bit integers
    # In bfloat16 on some CPUs, or 8 bits of the greatest of 32 elements.
    most = few if rows <= packed_blocks.MOST_ROWS else 2.0**-7
    assert actual.dtype == np.float32
    assert np.all(np.abs(actual - expected) <= most * size)


@pytest.mark.parametrize("n", [16, 32, 64, 80, 144])
def test_many_rows_by_matrices_of_any_width(n):
    """The tiles that are multiplied at once depend on it, or the layout of decoded columns."""
    raw, weights = blocks("Q4_1 in tiles", n)
    x = RNG.standard_normal((24, 64)).astype("f4")
    actual = dpnp.asnumpy(packed_linear(dpnp.asarray(x), dpnp.asarray(raw), "Q4_1 in tiles"))
    size = np.abs(x) @ np.abs(weights.T)
    assert np.all(np.abs(actual - x.astype("f8") @ weights.T.astype("f8")) <= 2.0**-7 * size)


@pytest.mark.parametrize("kind", TILED)
@pytest.mark.sweep(3)
def test_prompts_are_multiplied_as_bytes(kind):
    """An odd number of tiles, and more rows than stay in a cache; their number is no power of 2."""
    raw, weights = blocks(kind, 48, 16 if "K" not in kind else 2)
    x = RNG.standard_normal((1037, 512)).astype("f4")
    data = dpnp.asarray(raw)
    with sycl_dnn.profile(wait=True) as found:
        actual = dpnp.asnumpy(packed_linear(dpnp.asarray(x), data, kind))
    # Errors of rounded elements are independent of each other.
    errors = np.abs(actual - x @ weights.T) / np.sqrt((x**2) @ (weights**2).T)
    assert errors.max() < 0.05
    isa = get_effective_cpu_isa()
    if isa.value & cpu_isa.avx2.value == cpu_isa.avx2.value and "amx" not in isa.name:
        assert "tiled_columns" not in {r.name for r in found.records}


@pytest.mark.slow
def test_rows_may_be_longer_than_a_cache():
    raw, weights = blocks("Q8_0 in tiles", 16, 17_000)
    x = RNG.standard_normal((9, weights.shape[1])).astype("f4")
    actual = dpnp.asnumpy(packed_linear(dpnp.asarray(x), dpnp.asarray(raw), "Q8_0 in tiles"))
    errors = np.abs(actual - x @ weights.T) / np.sqrt((x**2) @ (weights**2).T)
    assert errors.max() < 0.05


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sweep(4)
def test_rows_are_looked_up(kind, way):
    raw, expected = blocks(kind)
    ids = np.array([[47, 0, 16], [15, 31, 0]], np.int32)
    actual = sycl_dnn.compile(lambda data, ids: looked_up(data, ids, kind))(
        dpnp.asarray(raw), dpnp.asarray(ids)
    )
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected[ids], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", TILED.values())
def test_matrices_of_whole_tiles_are_tiled(kind):
    raw, _ = blocks(kind)
    result = PackedMatrix(raw, kind).for_cpu()
    assert result.kind in TILED
    assert sorted(result.data.ravel()) == sorted(raw.ravel())
    assert PackedMatrix(raw[:24], kind).for_cpu().kind == kind


def test_many_rows_are_tiled_in_parts():
    raw = np.random.default_rng(0).integers(0, 256, (2 * 1024 + 48, 68), dtype=np.uint8)
    tiles = [in_tiles(raw[i : i + 16].copy(), "Q8_0") for i in range(0, len(raw), 16)]
    np.testing.assert_array_equal(in_tiles(raw, "Q8_0"), np.concatenate(tiles))


@pytest.mark.parametrize("kind", ["Q8_0", "Q8_0 in tiles"])
@pytest.mark.parametrize("rows", [2, 20])
@pytest.mark.sweep(2)
def test_several_matrices_and_a_summand(rows, kind):
    found = [blocks(kind, n) for n in ((48, 16, 32) if kind in TILED else (24, 7, 9))]
    x = RNG.standard_normal((rows, 64)).astype("f4")
    actual = packed_linears(dpnp.asarray(x), [dpnp.asarray(raw) for raw, _ in found], kind)
    for y, (_, weights) in zip(actual, found, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(y), x @ weights.T, atol=2 if rows > 8 else 6e-3)
    added = RNG.standard_normal(actual[0].shape).astype("f4")
    data = dpnp.asarray(found[0][0])
    one = packed_linears(dpnp.asarray(x), [data], kind, dpnp.asarray(added))[0]
    np.testing.assert_allclose(dpnp.asnumpy(one - actual[0]), added, atol=1e-3)


@pytest.mark.parametrize("kind", ["Q4_1", "Q4_1 in tiles"])
def test_any_axes_and_no_rows(kind):
    raw, weights = blocks(kind)
    x = RNG.standard_normal((2, 3, 64)).astype("f4")
    data = dpnp.asarray(raw)
    actual = packed_linear(dpnp.asarray(x), data, kind)
    np.testing.assert_allclose(dpnp.asnumpy(actual), x @ weights.T, rtol=1e-4, atol=1e-3)
    turned = dpnp.asarray(np.ascontiguousarray(x[0].T)).T
    actual = packed_linear(turned, data, kind)
    np.testing.assert_allclose(dpnp.asnumpy(actual), x[0] @ weights.T, rtol=1e-4, atol=1e-3)
    assert packed_linear(dpnp.zeros((0, 64), dtype="f4"), data, kind).shape == (0, 48)


@pytest.mark.parametrize("kind", ["Q8_0", "Q8_0 in tiles"])
def test_nan_propagates(kind):
    raw, _ = blocks(kind)
    x = np.ones((3, 64), "f4")
    x[0, 5], x[1, 63] = np.nan, np.inf
    actual = dpnp.asnumpy(packed_linear(dpnp.asarray(x), dpnp.asarray(raw), kind))
    assert np.isnan(actual[0]).all()
    assert not np.isfinite(actual[1]).any()
    assert np.isfinite(actual[2]).all()


@pytest.mark.parametrize("rows", [2, 20])
@pytest.mark.parametrize("kind", ["Q4_K", "Q4_1 in tiles"])
def test_gradients_of_the_other_operands(rows, kind):
    (raw, weights), (other, more) = blocks(kind), blocks(kind)
    x, dy = (RNG.standard_normal((rows, w)).astype("f4") for w in weights.shape[::-1])
    given = dpnp.asarray(raw), dpnp.asarray(other)

    def total(x, added):
        a, b = packed_linears(x, given, kind)
        c = packed_linears(x, given[:1], kind, added)[0]
        return F.sum((a + 2 * b + c) * dpnp.asarray(dy))

    actual, of_added = sycl_dnn.grad(total, argnums=(0, 1))(dpnp.asarray(x), dpnp.asarray(dy))
    expected = dy @ (2 * weights + 2 * more)
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-3, atol=1e-2)
    np.testing.assert_array_equal(dpnp.asnumpy(of_added), dy)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1"])
@pytest.mark.sweep(9)
def test_weights_of_a_file_stay_packed(tmp_path, kind):
    path = write_gguf(tmp_path / "a.gguf", gguf.GGMLQuantizationType[kind])
    expected, lm = llm.load(path), llm.load(path, dtype="stored")
    held = sum(v.nbytes for v in lm.module.state_dict().values())
    assert held < 1.001 * path.stat().st_size
    most = 2e-3 if kind[0] == "Q" else 1e-4  # tiles are multiplied by 16-bit integers
    np.testing.assert_allclose(
        dpnp.asnumpy(lm.module(IDS)), dpnp.asnumpy(expected.module(IDS)), atol=most
    )
    assert lm.generate([5, 20, 33], max_tokens=5) == expected.generate([5, 20, 33], max_tokens=5)


@pytest.mark.parametrize("config", [CONFIG, {
    "model_type": "gpt2", "vocab_size": 96, "n_embd": 64, "n_layer": 1, "n_head": 4,
    "n_positions": 64,
}])  # fmt: skip
def test_weights_of_a_16_bit_folder_stay_in_16_bits(tmp_path, config):
    folder = write_folder(tmp_path / "folder", config, dtype=np.float16)
    expected, lm = llm.load(folder), llm.load(folder, dtype="stored")
    matrices = [v for n, v in lm.module.state_dict().items() if v.ndim == 2]
    assert {str(v.dtype) for v in matrices} == {"uint8"}
    np.testing.assert_allclose(
        dpnp.asnumpy(lm.module(IDS)), dpnp.asnumpy(expected.module(IDS)), atol=1e-4
    )


def test_other_types_are_decoded(tmp_path):
    path = write_gguf(tmp_path / "a.gguf", gguf.GGMLQuantizationType.Q5_1)
    lm = llm.load(path, dtype="stored")
    assert {str(v.dtype) for v in lm.module.state_dict().values()} == {"float32"}
    expected = dpnp.asnumpy(llm.load(path).module(IDS))
    np.testing.assert_array_equal(dpnp.asnumpy(lm.module(IDS)), expected)


@pytest.mark.slow
def test_the_whole_model_has_gradients_of_its_other_parameters(tmp_path):
    path = write_gguf(tmp_path / "a.gguf", gguf.GGMLQuantizationType.Q8_0)
    ids = dpnp.asarray([[5, 9, 13, 17]], dtype="i4")

    def slope(net):
        def loss(net):
            return F.cross_entropy(net(ids)[0, :-1], dpnp.asarray([9, 13, 17]))

        grads = sycl_dnn.grad(loss)(net)
        return dpnp.asnumpy(dict(grads.named_parameters())["model.layers.0.input_layernorm.weight"])

    expected = slope(llm.load(path).module)
    np.testing.assert_allclose(slope(llm.load(path, dtype="stored").module), expected, atol=1e-4)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("gate", ["", *packed_blocks.GATES])
@pytest.mark.parametrize("kind", ["Q4_1", "Q4_1 in tiles"])
def test_normalized_rows_and_an_activated_gate(gate, rows, kind):
    """In a compiled function one kernel does this, elsewhere functions do."""
    found = [blocks(kind) for _ in range(2)]
    data = [dpnp.asarray(raw) for raw, _ in found]
    x = RNG.standard_normal((rows, 64)).astype("f4")
    norm = RNG.standard_normal(64).astype("f4")

    def f(x, norm, data):
        return packed_linears(x, data, kind, norm=norm, eps=0.5, gate=gate)

    given = dpnp.asarray(x), dpnp.asarray(norm), data
    result, compiled = f(*given), sycl_dnn.compile(f)(*given)
    normed = x / np.sqrt((x.astype("f8") ** 2).mean(1, keepdims=True) + 0.5) * norm
    expected = [normed @ weights.T for _, weights in found]
    if gate:
        active = dpnp.asarray(expected[0].astype("f4"))
        active = activated(active, gate)
        expected = [dpnp.asnumpy(active) * expected[1]]
    for one in (result, compiled):
        for y, right in zip(one, expected, strict=True):
            few = 5e-4 if kind in TILED else 1e-4
            most = 0.05 if rows > packed_blocks.MOST_ROWS else few  # in bfloat16 on some CPUs
            np.testing.assert_allclose(dpnp.asnumpy(y), right, atol=most * np.abs(right).max())


@pytest.mark.parametrize("kind", ["Q8_0", "Q8_0 in tiles"])
def test_gradients_pass_the_normalization_and_the_gate(kind):
    found = [blocks(kind) for _ in range(2)]
    data = [dpnp.asarray(raw) for raw, _ in found]
    x, norm = dpnp.asarray(RNG.standard_normal((3, 64)).astype("f4")), F.ones(64)

    def packed(x, norm):
        return F.sum(packed_linears(x, data, kind, norm=norm, eps=1e-5, gate="silu")[0])

    def plain(x, norm):
        rows = F.rms_norm(x, (64,), norm, 1e-5)
        gate, up = (F.matmul(rows, dpnp.asarray(np.ascontiguousarray(w.T))) for _, w in found)
        return F.sum(F.mul(F.silu(gate), up))

    actual = sycl_dnn.compile(sycl_dnn.grad(packed, argnums=(0, 1)))(x, norm)
    for one, right in zip(actual, sycl_dnn.grad(plain, argnums=(0, 1))(x, norm), strict=True):
        right = dpnp.asnumpy(right)
        most = 5e-4 if kind in TILED else 1e-5
        np.testing.assert_allclose(dpnp.asnumpy(one), right, atol=most * np.abs(right).max())


@pytest.mark.parametrize("kind", ["Q8_0", "Q8_0 in tiles"])
def test_a_program_of_many_rows_decodes_at_each_call(kind):
    """Decoded matrices would need more memory than the blocks save."""
    raw, _ = blocks(kind)
    data = dpnp.asarray(raw)
    f = sycl_dnn.compile(lambda x, data: packed_linear(x, data, kind), constants="data")
    x = dpnp.asarray(RNG.standard_normal((20, 64)).astype("f4"))
    f(x, data)
    with sycl_dnn.profile(wait=True) as found:
        f(x, data)
    names = {"tiled_columns", "tiled_products"} if kind in TILED else {"packed_rows"}
    assert names & {r.name for r in found.records}
