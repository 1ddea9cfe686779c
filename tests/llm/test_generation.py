# SPDX-License-Identifier: Apache-2.0
"""Generated text: batches, streams, stop words, limits; scores."""

import dpnp
import numpy as np
import pytest
from small_language_models import decoder, write_folder

import sycl_dnn
from sycl_dnn import llm
from sycl_dnn.llm.generation import CHUNK, padded


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    return llm.load(write_folder(tmp_path_factory.mktemp("models") / "folder"))


@pytest.fixture(scope="module")
def bare():
    """A model without a tokenizer."""
    return llm.LanguageModel(decoder())


def by_hand(net, ids, n):
    """Return the tokens that the whole text's logits choose, one after the other."""
    ids = list(ids)
    for _ in range(n):
        logits = dpnp.asnumpy(net(dpnp.asarray([ids], dtype="i4")))[0, -1]
        ids.append(int(logits.argmax()))
    return ids[-n:]


def test_greedy_tokens_have_the_largest_logits(bare):
    prompt = [5, 20, 33]
    expected = by_hand(bare.module, prompt, 4)
    assert bare.generate(prompt, 4) == expected
    assert bare.generate(list(np.array(prompt)), 4) == expected
    assert bare.generate(np.array(prompt), 4) == expected


def test_prompts_of_a_batch_are_independent(bare):
    prompts = [[5, 20, 33], [7], list(range(10, 30))]
    together = bare.generate(prompts, max_tokens=6)
    assert together == [bare.generate(p, max_tokens=6) for p in prompts]


def test_long_prompts_are_processed_in_chunks():
    given = padded([[1] * (2 * CHUNK + 3), [2] * 5])
    assert given.chunks == (8, CHUNK, CHUNK)
    assert given.ids.shape == (2, 2 * CHUNK + 8)
    assert given.starts.tolist() == [5, 2 * CHUNK + 3]
    assert given.ids[1, -6:].tolist() == [0, 2, 2, 2, 2, 2]
    assert padded([[1] * CHUNK]).chunks == (CHUNK,)
    half = CHUNK // 2
    assert padded([[1] * (half + 1)]).chunks == (8, half)
    assert padded([[1] * (3 * half)]).chunks == (half, CHUNK)
    assert padded([[1] * (4 * half - 1)]).chunks == (CHUNK, CHUNK)


def test_chunked_logits_equal_those_of_the_whole_prompt(bare, monkeypatch):
    monkeypatch.setattr("sycl_dnn.llm.generation.CHUNK", 16)
    prompt = list(range(3, 40))
    assert padded([prompt]).chunks == (8, 16, 16)
    assert bare.generate(prompt, 3) == by_hand(bare.module, prompt, 3)


def test_the_last_token_needs_no_slot(bare, monkeypatch):
    monkeypatch.setattr("sycl_dnn.llm.generation._LEAST_CAPACITY", 8)
    sizes, new_cache = [], bare._generator.new_cache

    def noted(n, capacity):
        sizes.append(capacity)
        return new_cache(n, capacity)

    monkeypatch.setattr(bare._generator, "new_cache", noted)
    prompt = list(range(3, 11))
    assert bare.generate(prompt, 9) == by_hand(bare.module, prompt, 9)
    assert sizes == [16]


def test_a_stream_yields_the_pieces_of_the_text(lm):
    whole = lm.generate("the cat", max_tokens=12)
    pieces = list(lm.generate("the cat", max_tokens=12, stream=True))
    assert "".join(pieces) == whole
    assert len(pieces) > 3
    rows = list(lm.generate(["the cat", "a"], max_tokens=5, stream=True))
    assert ["".join(r) for r in zip(*rows, strict=True)] == lm.generate(
        ["the cat", "a"], max_tokens=5
    )


def test_a_text_ends_before_a_stop_word(lm):
    whole = lm.generate("the cat", max_tokens=16)
    stop = whole[4:6]
    assert lm.generate("the cat", max_tokens=16, stop=stop) == whole[: whole.index(stop)]
    both = lm.generate("the cat", max_tokens=16, stop=["nowhere", stop])
    assert both == whole[: whole.index(stop)]


def test_seeds_make_texts_reproducible(bare):
    options = {"max_tokens": 12, "temperature": 1.5, "top_k": 40, "top_p": 0.95}
    one = bare.generate([4, 5], seed=1, **options)
    assert one == bare.generate([4, 5], seed=1, **options)
    assert one != bare.generate([4, 5], seed=2, **options)


def test_a_prompt_of_a_batch_draws_what_it_draws_alone(bare):
    """Also with padding, which the random numbers do not count and the penalty does not see."""
    options = {"max_tokens": 6, "temperature": 1.5, "top_p": 0.9, "repetition_penalty": 1.5}
    prompts = [[5, 20, 33], [7, 8], list(range(10, 30))]
    together = bare.generate(prompts, seed=3, **options)
    assert together[0] == bare.generate(prompts[0], seed=3, **options)
    same = bare.generate([prompts[0]] * 3, seed=3, **options)
    assert same[0] == together[0]
    assert same[1] != same[0]


def test_seeds_without_a_number_follow_manual_seed(bare):
    result = []
    for _ in range(2):
        sycl_dnn.manual_seed(0)
        result.append([bare.generate([4, 5], 12, temperature=1.5) for _ in range(2)])
    assert result[0] == result[1]
    assert result[0][0] != result[0][1]


def test_penalized_tokens_are_those_of_the_whole_text(bare):
    """Prompts in chunks and drawn tokens: as computed from the logits of the whole text."""
    ids = list(range(3, 20))
    prompt = len(ids)
    for _ in range(8):
        x = dpnp.asnumpy(bare.module(dpnp.asarray([ids], dtype="i4")))[0, -1]
        seen = np.isin(np.arange(len(x)), ids)
        ids.append(int(np.where(seen, np.where(x > 0, x / 1.5, x * 1.5), x).argmax()))
    assert bare.generate(ids[:prompt], 8, repetition_penalty=1.5) == ids[prompt:]


def test_a_repetition_penalty_changes_the_text(bare):
    plain = bare.generate([5, 20, 33], 30)
    other = bare.generate([5, 20, 33], 30, repetition_penalty=5.0)
    assert len(set(other)) > len(set(plain))


def test_a_chat_follows_the_template(lm):
    text = lm.tokenizer.chat([{"role": "user", "content": "hi"}])
    assert text == "<|user|>hi<|assistant|>"
    ids = lm.tokenizer.encode(text, False)
    assert ids[0] == 3
    assert ids[-1] == 4
    answer = lm.chat([{"role": "user", "content": "hi"}], max_tokens=6)
    assert answer == lm.generate(ids, max_tokens=6)


def test_the_context_limits_the_length(bare):
    assert len(bare.generate([5] * 60, max_tokens=50)) == 5
    with pytest.raises(ValueError, match=r"at most 64 tokens, the context of the model, got 65"):
        bare.generate([5] * 65)


@pytest.mark.parametrize(("call", "said"), [
    (lambda lm: lm.generate([]), "at least one token"),
    (lambda lm: lm.generate([1], max_tokens=0), "max_tokens must be at least 1"),
    (lambda lm: lm.generate([1, 96]), r"tokens must be in \[0, 96\), got 1 to 96"),
    (lambda lm: lm.generate("text"), "the model has no tokenizer"),
    (lambda lm: lm.chat([]), "the model has no tokenizer"),
    (lambda lm: lm.score([1]), "at least two tokens"),
    (lambda lm: lm.generate([1], temperature=-1), "temperature must be at least 0"),
    (lambda lm: lm.generate([1], top_p=0), r"top_p must be in \(0, 1\]"),
])  # fmt: skip
def test_invalid_arguments_are_refused(bare, call, said):
    with pytest.raises(ValueError, match=said):
        call(bare)


def test_a_score_is_the_log_probability(bare):
    ids = list(range(20, 45))
    logits = dpnp.asnumpy(bare.module(dpnp.asarray([ids], dtype="i4")))[0].astype(float)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = np.log(p[np.arange(24), ids[1:]])
    actual = bare.score(ids)
    assert actual.tokens == 24
    assert actual.log_probability == pytest.approx(expected.sum(), rel=1e-5)
    assert actual.perplexity == pytest.approx(np.exp(-expected.mean()), rel=1e-5)


def test_another_module_has_its_own_programs(bare):
    before = bare.module
    try:
        config = before.config
        bare.module = llm.Decoder(config, lambda name, shape: dpnp.zeros(shape, dtype="f4"))
        assert bare.generate([5, 6], 3) == [0, 0, 0]
    finally:
        bare.module = before
    assert bare.generate([5, 20, 33], 4) == by_hand(before, [5, 20, 33], 4)


def test_caches_are_written_in_place(bare):
    generator = bare._generator
    cache = generator.new_cache(1, 256)
    given = padded([[5, 6, 7]])
    places = [a.get_array()._pointer for pair in cache for a in pair]
    _, result, _ = generator.prefilled(given, cache)
    assert [a.get_array()._pointer for pair in result for a in pair] == places
