# SPDX-License-Identifier: Apache-2.0
"""Tokenizers built from the fields of GGUF files, pieces of text, templates of chats."""

import pytest
from small_language_models import MERGES, SPECIAL, TEMPLATE, vocabulary

from sycl_dnn.llm import Tokenizer
from sycl_dnn.llm.text_pieces import Pieces, joined


def fields(**more):
    tokens = vocabulary()
    found = {
        "model": "gpt2", "pre": "gpt-2", "tokens": tokens, "merges": MERGES, "bos_token_id": 1,
        "eos_token_id": 2, "token_type": [3 if t in SPECIAL else 1 for t in tokens],
        "add_bos_token": False,
    }  # fmt: skip
    found.update(more)
    return {f"tokenizer.ggml.{k}": v for k, v in found.items()} | {
        "tokenizer.chat_template": TEMPLATE
    }


def test_pieces_are_merged_in_the_order_of_the_file():
    result = Tokenizer.of_gguf(fields())
    tokens = vocabulary()
    assert [tokens[i] for i in result.encode("then the in")] == ["th", "e", "n", "Ġthe", "Ġ", "in"]
    assert result.decode(result.encode("then the in")) == "then the in"
    assert result.ends == {2}


def test_special_tokens_are_not_split_and_not_in_the_text():
    result = Tokenizer.of_gguf(fields(add_bos_token=True))
    assert result.encode("<|user|>a</s>") == [1, 3, vocabulary().index("a"), 2]
    assert result.encode("a", special=False) == [vocabulary().index("a")]
    assert result.decode(result.encode("<|user|>a</s>")) == "a"


@pytest.mark.parametrize(("pre", "pieces"), [
    ("smollm", ["a", "1", "2", "3", "4"]), ("qwen2", ["a", "1", "2", "3", "4"]),
    ("llama-bpe", ["a", "123", "4"]), ("gpt-2", ["a", "1234"]),
])  # fmt: skip
def test_numbers_are_split_by_the_pre_tokenizer_of_the_file(pre, pieces):
    result = Tokenizer.of_gguf(fields(pre=pre))
    split = result.inner.pre_tokenizer.pre_tokenize_str("a1234")
    assert [piece for piece, _ in split] == pieces


def sentence_pieces():
    pieces = {"▁": -1.0, "h": -2.0, "e": -3.0, "l": -4.0, "o": -5.0, "he": -6.0, "ll": -5.5,
              "hell": -9.0, "▁hell": -10.0, "▁hello": -8.0, "ell": -7.0}  # fmt: skip
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), *pieces]
    scores = [0.0] * 259 + list(pieces.values())
    kinds = [2, 3, 3] + [6] * 256 + [1] * len(pieces)
    return {
        f"tokenizer.ggml.{k}": v
        for k, v in {
            "model": "llama", "tokens": tokens, "scores": scores, "token_type": kinds,
            "bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0,
        }.items()
    }  # fmt: skip


def test_sentence_pieces_merge_by_score_with_byte_fallback():
    found = sentence_pieces()
    tokens = found["tokenizer.ggml.tokens"]
    result = Tokenizer.of_gguf(found)
    assert [tokens[i] for i in result.encode("hello")] == ["<s>", "▁hello"]
    assert [tokens[i] for i in result.encode("é", False)] == ["▁", "<0xC3>", "<0xA9>"]
    assert result.decode(result.encode("hello hello é")) == "hello hello é"
    found["tokenizer.ggml.add_space_prefix"] = False
    plain = Tokenizer.of_gguf(found)
    assert [tokens[i] for i in plain.encode("hell", False)] == ["hell"]
    assert plain.decode(plain.encode(" hell")) == " hell"


def test_unknown_tokenizers_are_refused_by_name():
    with pytest.raises(ValueError, match="tokenizer must be one of gpt2, llama, got 'rwkv'"):
        Tokenizer.of_gguf(fields(model="rwkv"))
    with pytest.raises(ValueError, match=r"tokenizer.ggml.pre must be one of .*, got 'viking'"):
        Tokenizer.of_gguf(fields(pre="viking"))


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": 3}')
    with pytest.raises(ValueError, match=r"tokenizer\.json is not a tokenizer"):
        Tokenizer.of_file(tmp_path / "tokenizer.json", None, None, None, None)


# --- Chats


def chat(template):
    return Tokenizer(None, template, "<s>", "</s>", ()).chat([{"role": "user", "content": "hi"}])


def test_templates_see_messages_and_special_tokens():
    assert chat("{{ bos_token }}{{ messages[0]['content'] }}{{ eos_token }}") == "<s>hi</s>"
    assert chat("{{ messages | tojson }}") == '[{"role": "user", "content": "hi"}]'


def test_template_errors_are_reported():
    with pytest.raises(ValueError, match="refuses the messages: roles must alternate"):
        chat("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(ValueError, match="has no chat template"):
        chat(None)


@pytest.mark.parametrize("template", [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ messages.append(1) }}",
    "{{ cycler.__init__.__globals__.os.system('true') }}", "{% for %}",
])  # fmt: skip
def test_templates_are_sandboxed(template):
    with pytest.raises(ValueError, match="refuses the messages"):
        chat(template)


# --- Pieces of text


class Letters:
    """A tokenizer whose tokens are bytes."""

    ends = frozenset({0})

    def decode(self, ids):
        return bytes(ids).decode(errors="replace")


def pieces(text, stops=(), more=()):
    found = Pieces(Letters(), stops)
    return [found.add(b) for b in (*text.encode(), *more)] + [found.rest()]


def test_characters_are_not_split():
    assert pieces("aé€") == ["a", "", "é", "", "", "€", ""]


def test_possible_stop_word_prefixes_are_held_back():
    assert pieces("abxaby", ["aby"]) == ["", "", "abx", "", "", "", ""]
    assert joined(pieces("abxab", ["aby"])) == "abxab"
    assert joined(pieces("one two", ["two", "e t"])) == "on"


def test_the_end_token_ends_the_text():
    assert pieces("ab", more=(0, 65)) == ["a", "b", "", "", ""]
    found = Pieces(Letters(), ())
    assert [found.add(0), found.is_done] == ["", True]


def test_an_unfinished_character_is_shown_at_the_end():
    assert joined(pieces("a", more=(0xE2, 0x82))) == "a\ufffd"
