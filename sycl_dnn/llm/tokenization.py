# SPDX-License-Identifier: Apache-2.0
"""Tokenizers and chat templates, from tokenizer.json or the fields of a GGUF file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: Pre-tokenization patterns by ``tokenizer.ggml.pre``. None: that of the library's ByteLevel
#: (GPT-2); "digits": split into single digits first.
_CASES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPLITS: dict[str, str | None] = {
    "default": None, "gpt-2": None, "smollm": "digits", "starcoder": "digits",
    "llama-bpe": _CASES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                          r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": _CASES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                      r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}  # fmt: skip
for _name in ("llama3", "llama-v3", "smaug-bpe"):
    _SPLITS[_name] = _SPLITS["llama-bpe"]
#: Token types in GGUF files.
_CONTROL, _USER_DEFINED = 3, 4


class Tokenizer:
    """Conversion of text to tokens and back, and chat formatting.

    Parameters
    ----------
    inner : tokenizers.Tokenizer
    template : str, optional
        Chat template in Jinja's language.
    bos, eos : str, optional
        Beginning- and end-of-sequence tokens, as templates name them.
    ends : iterable of int
        Tokens that end a text.
    adds_bos : bool
        Whether ``encode`` prepends ``bos`` itself.

    Attributes
    ----------
    ends : frozenset of int
    """

    def __init__(
        self, inner: Any, template: str | None, bos: str | None, eos: str | None,
        ends: Iterable[int], adds_bos: bool = False,
    ) -> None:  # fmt: skip
        self.inner, self.template, self.bos, self.eos = inner, template, bos, eos
        self.ends = frozenset(ends)
        self._adds_bos = adds_bos

    @classmethod
    def of_file(
        cls, path: Path, template: str | None, bos: str | None, eos: str | None, ends: Any
    ) -> Tokenizer:
        """Read a tokenizer.json; ValueError if it is damaged."""
        import tokenizers

        try:
            inner = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain exceptions
            raise ValueError(f"llm: {path} is not a tokenizer: {error}") from None
        end_ids = [ends] if isinstance(ends, int) else list(ends or ())
        if eos is not None and inner.token_to_id(eos) is not None:
            end_ids.append(inner.token_to_id(eos))
        return cls(inner, template, bos, eos, end_ids)

    @classmethod
    def of_gguf(cls, fields: Mapping[str, Any]) -> Tokenizer:
        """Build the tokenizer described by the fields of a GGUF file; ValueError if unsupported."""
        kind = fields.get("tokenizer.ggml.model")
        builders = {"gpt2": _of_bytes, "llama": _of_sentence_pieces}
        if kind not in builders:
            supported = ", ".join(builders)
            raise ValueError(f"llm: the tokenizer must be one of {supported}, got {kind!r}")
        tokens: Sequence[str] = list(fields["tokenizer.ggml.tokens"])
        try:
            inner = builders[kind](fields, tokens)
        except ValueError:
            raise
        except Exception as error:  # the library raises plain exceptions
            raise ValueError(f"llm: the tokens make no tokenizer: {error}") from None
        _add_special(inner, tokens, fields.get("tokenizer.ggml.token_type", ()))
        names = {n: fields.get(f"tokenizer.ggml.{n}_token_id") for n in ("bos", "eos", "eot")}
        wrong = [n for n, i in names.items() if i is not None and not 0 <= i < len(tokens)]
        if wrong:
            raise ValueError(f"llm: tokenizer.ggml.{wrong[0]}_token_id must be that of a token")
        bos, eos = (None if (i := names[n]) is None else tokens[i] for n in ("bos", "eos"))
        ends = {i for n in ("eos", "eot") if (i := names[n]) is not None}
        ends |= {tokens.index(t) for t in ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>")
                 if t in tokens}  # fmt: skip
        adds = fields.get("tokenizer.ggml.add_bos_token", kind == "llama")
        template = fields.get("tokenizer.chat_template")
        return cls(inner, template, bos, eos, ends, bool(adds) and bos is not None)

    def encode(self, text: str, special: bool = True) -> list[int]:
        """Return the tokens of a text.

        Parameters
        ----------
        text : str
        special : bool
            Whether to add the special tokens that begin a text. Special tokens written out in
            ``text`` are recognized in either case.
        """
        ids: list[int] = self.inner.encode(text, add_special_tokens=special).ids
        if special and self._adds_bos:
            ids.insert(0, self.inner.token_to_id(self.bos))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without special ones."""
        text: str = self.inner.decode(list(ids), skip_special_tokens=True)
        return text

    def chat(self, messages: Sequence[Mapping[str, Any]], **more: Any) -> str:
        """Format messages with the model's template, up to the start of the reply.

        Parameters
        ----------
        messages : sequence of dict
            With ``role`` and ``content``.
        **more
            Additional variables of the template.

        Raises
        ------
        ValueError
            The model has no template, or the template rejects the messages.
        """
        import jinja2
        import jinja2.sandbox

        if self.template is None:
            raise ValueError("chat: the model has no chat template; use generate")
        world = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        world.globals["raise_exception"] = _refuse
        world.globals["strftime_now"] = _now
        world.filters["tojson"] = _json
        try:
            return world.from_string(self.template).render(
                messages=list(messages), add_generation_prompt=True, bos_token=self.bos or "",
                eos_token=self.eos or "", **more,
            )  # fmt: skip
        except jinja2.TemplateError as error:
            raise ValueError(f"chat: the model's template refuses the messages: {error}") from None


def _refuse(message: str) -> None:
    import jinja2

    raise jinja2.TemplateError(message)


def _now(form: str) -> str:
    import datetime

    return datetime.datetime.now().strftime(form)


def _json(value: Any, indent: int | None = None) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent)


def _add_special(inner: Any, tokens: Sequence[str], kinds: Sequence[int]) -> None:
    import tokenizers

    for is_special, kind in ((True, _CONTROL), (False, _USER_DEFINED)):
        added = [
            tokenizers.AddedToken(t, normalized=False, special=is_special)
            for t, k in zip(tokens, kinds, strict=False)
            if k == kind
        ]
        if is_special:
            inner.add_special_tokens(added)
        else:
            inner.add_tokens(added)


def _of_bytes(fields: Mapping[str, Any], tokens: Sequence[str]) -> Any:
    """Return a byte-level BPE tokenizer with ordered merges."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    name = fields.get("tokenizer.ggml.pre", "default")
    if name not in _SPLITS:
        raise ValueError(
            f"llm: tokenizer.ggml.pre must be one of {', '.join(_SPLITS)}, got {name!r}"
        )
    own = {t: t for t in tokens}  # merges of these strings need a third of the memory
    merges = [
        tuple(own.get(part, part) for part in merge.split(" ", 1))
        for merge in fields.get("tokenizer.ggml.merges", ())
    ]
    tokenizer = tokenizers.Tokenizer(models.BPE(
        {t: i for i, t in enumerate(tokens)}, merges,
        ignore_merges=name in ("llama-bpe", "llama3", "llama-v3"),
    ))  # fmt: skip
    split, steps = _SPLITS[name], list[Any]()
    if split == "digits":
        steps.append(pre_tokenizers.Digits(individual_digits=True))
    elif split is not None:
        steps.append(pre_tokenizers.Split(tokenizers.Regex(split), "isolated"))
    uses_regex = split is None or split == "digits"
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=uses_regex))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _of_sentence_pieces(fields: Mapping[str, Any], tokens: Sequence[str]) -> Any:
    """Return a SentencePiece tokenizer, whose merges are ordered by the score of the result."""
    import tokenizers
    from tokenizers import decoders, models, normalizers

    vocabulary = {t: i for i, t in enumerate(tokens)}
    merges = _merges(vocabulary, fields["tokenizer.ggml.scores"])
    unknown = fields.get("tokenizer.ggml.unknown_token_id", 0)
    tokenizer = tokenizers.Tokenizer(models.BPE(
        vocabulary, merges, unk_token=tokens[unknown], fuse_unk=True, byte_fallback=True
    ))  # fmt: skip
    has_prefix = fields.get("tokenizer.ggml.add_space_prefix", True)
    steps = [normalizers.Prepend("▁")] if has_prefix else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    strip = [decoders.Strip(" ", 1, 0)] if has_prefix else []
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    )
    return tokenizer


def _merges(vocabulary: Mapping[str, int], scores: Sequence[float]) -> list[tuple[str, str]]:
    """Return the merges of pieces, highest score first."""
    scored = []
    for piece, number in vocabulary.items():
        pairs = [
            (piece[:i], piece[i:])
            for i in range(1, len(piece))
            if piece[:i] in vocabulary and piece[i:] in vocabulary
        ]
        pairs.sort(key=lambda p: (vocabulary[p[0]], vocabulary[p[1]]))
        scored += [(scores[number], number, pair) for pair in pairs]
    scored.sort(key=lambda f: (-f[0], f[1]))
    return [pair for *_, pair in scored]
