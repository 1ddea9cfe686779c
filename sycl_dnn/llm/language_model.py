# SPDX-License-Identifier: Apache-2.0
"""``load`` and ``LanguageModel``: text generation, chat and scoring."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.llm.architectures import Config
from sycl_dnn.llm.decoder import Decoder
from sycl_dnn.llm.generation import Generator, perplexity
from sycl_dnn.llm.gguf_file import GgufFile
from sycl_dnn.llm.hugging_face_folder import Folder
from sycl_dnn.llm.projections import to_int8
from sycl_dnn.llm.sampling import Sampling
from sycl_dnn.llm.text_pieces import Pieces, joined
from sycl_dnn.llm.tokenization import Tokenizer

_DTYPES = ("float32", "bfloat16", "int8", "stored")


def load(
    path: str | os.PathLike[str], *, dtype: str = "float32", device: Any = None
) -> LanguageModel:
    """Load a language model.

    Parameters
    ----------
    path : str or path
        A GGUF file, or a folder with Hugging Face's ``config.json``, weights in files of
        safetensors and, for text, ``tokenizer.json``.
    dtype : {"float32", "bfloat16", "int8", "stored"}
        Type of the weights in memory, whatever the file has. With ``"int8"`` matrices are integers
        with one scale per output, and activations are quantized to 16 bits per row at run time.
        With ``"stored"`` matrices keep the type of the file (``packed_blocks.BLOCKS``) and its
        size. Neither can be trained.
    device : dpctl.SyclQueue or str, optional

    Returns
    -------
    LanguageModel

    Raises
    ------
    FileNotFoundError
        The file or folder does not exist.
    ValueError
        The file is damaged, lacks a tensor, or requires an unsupported feature.
    ImportError
        A library of the extra ``llm`` is missing.

    Examples
    --------
    >>> from sycl_dnn import llm
    >>> lm = llm.load("SmolLM2-135M-Instruct.Q4_1.gguf")  # doctest: +SKIP
    >>> lm.generate("The capital of France is", max_tokens=8)  # doctest: +SKIP
    ' Paris. It is located in the north'
    """
    if dtype not in _DTYPES:
        raise ValueError(f"load: dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}")
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"load: {path} does not exist")
    _check_libraries()
    if isinstance(device, str) or device is None:
        device = sycl_dnn.default_queue(device)
    file: Folder | GgufFile = Folder(path) if path.is_dir() else GgufFile(path)
    # The tokenizer first: the memory for building it is free again when the weights arrive.
    tokenizer = file.tokenizer()
    module = Decoder(file.config, _Placed(file, dtype, device))
    module.eval()
    return LanguageModel(module, tokenizer, device)


def _check_libraries() -> None:
    try:
        import gguf  # noqa: F401
        import jinja2  # noqa: F401
        import safetensors  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"language models need the extra llm: pip install 'sycl_dnn[llm]' ({error})"
        ) from None


class _Placed:
    """The parameters of a file on a device, in the requested dtype."""

    def __init__(self, file: Folder | GgufFile, dtype: str, device: Any) -> None:
        self._file, self._dtype, self._device = file, dtype, device
        names = file.config.row.names
        self._tables = ("lm_head", names["embedding"], names.get("positions"))

    def __call__(self, name: str, shape: tuple[int, ...]) -> Any:
        packed = self._dtype == "stored" and len(shape) == 2 and self._file.packed(name, shape)
        if packed:
            packed = packed.for_cpu() if self._device.sycl_device.is_cpu else packed
            data = F.asarray(np.ascontiguousarray(packed.data), sycl_queue=self._device)
            return packed._replace(data=data)
        values = self._file.array(name, shape)
        module = name.split(".")[-2]
        if self._dtype == "int8" and len(shape) == 2 and module != self._tables[2]:
            is_turned = self._file.config.row.is_transposed and module not in self._tables
            return to_int8(values.T if is_turned else values, self._device)
        array = F.asarray(np.ascontiguousarray(values), sycl_queue=self._device)
        return F.astype(array, "bfloat16") if self._dtype == "bfloat16" else array


class Score(NamedTuple):
    """The probability of a text under a model.

    Attributes
    ----------
    log_probability : float
        Of all tokens after the first, each given the previous ones.
    perplexity : float
    tokens : int
        Number of tokens scored.
    """

    log_probability: float
    perplexity: float
    tokens: int


class LanguageModel:
    """A decoder with its tokenizer and compiled generation steps.

    Parameters
    ----------
    module : Decoder
    tokenizer : Tokenizer, optional
        Without one, prompts and results are token sequences.
    device : dpctl.SyclQueue, optional
    """

    def __init__(
        self, module: Decoder, tokenizer: Tokenizer | None = None, device: Any = None
    ) -> None:
        self.tokenizer = tokenizer
        self._device = sycl_dnn.default_queue() if device is None else device
        self.module = module

    @property
    def module(self) -> Decoder:
        """The decoder, a trainable ``nn.Module``; may be assigned after training."""
        return self._module

    @module.setter
    def module(self, module: Decoder) -> None:
        self._module = module
        dtypes = {str(p.dtype) for p in module.parameters()}
        dtype = "bfloat16" if dtypes == {"bfloat16"} else "float32"
        self._generator = Generator(module, self._device, dtype)

    @property
    def config(self) -> Config:
        """Sizes and constants of the model."""
        return self._module.config

    def _encoded(self, name: str, prompt: Any, special: bool = True) -> list[int]:
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise ValueError(f"{name}: the model has no tokenizer; give tokens, not text")
            prompt = self.tokenizer.encode(prompt, special)
        ids = [int(i) for i in prompt]
        size, longest = self.config.vocab_size, self.config.max_positions
        if not ids:
            raise ValueError(f"{name}: the text must have at least one token, got none")
        if not all(0 <= i < size for i in ids):
            raise ValueError(f"{name}: tokens must be in [0, {size}), got {min(ids)} to {max(ids)}")
        if len(ids) > longest:
            raise ValueError(
                f"{name}: the text must have at most {longest} tokens, the context of the model, "
                f"got {len(ids)}"
            )
        return ids

    def generate(
        self, prompt: Any, max_tokens: int = 64, temperature: float = 0.0, *, top_k: int = 0,
        top_p: float = 1.0, min_p: float = 0.0, repetition_penalty: float = 1.0,
        seed: int | None = None, stop: str | Sequence[str] = (), stream: bool = False,
    ) -> Any:  # fmt: skip
        """Continue one or several prompts.

        Parameters
        ----------
        prompt : str, sequence of int, or a list of those
            A list of prompts is processed as one batch.
        max_tokens : int
            Maximum number of new tokens; also limited by the context of the model.
        temperature, top_k, top_p, min_p, repetition_penalty, seed
            As in ``Sampling``.
        stop : str or sequence of str
            The text ends before the first occurrence of one of these.
        stream : bool
            Return an iterator over pieces of the text as they are generated; for a list of prompts,
            over lists with one piece per prompt.

        Returns
        -------
        str, or a list of str
            Tokens instead of text if there is no tokenizer.

        Raises
        ------
        ValueError
            A prompt is empty or longer than the context, or a parameter is out of range.
        """
        sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty, seed)
        if max_tokens < 1:
            raise ValueError(f"generate: max_tokens must be at least 1, got {max_tokens}")
        is_list = isinstance(prompt, (list, tuple)) and not all(
            isinstance(p, numbers.Integral) for p in prompt
        )
        prompts = [self._encoded("generate", p) for p in (prompt if is_list else [prompt])]
        stops = (stop,) if isinstance(stop, str) else tuple(stop)
        pieces = self._pieces(prompts, max_tokens, sampling, stops)
        if stream:
            return pieces if is_list else (p[0] for p in pieces)
        texts = [joined(t) for t in zip(*pieces, strict=True)]
        return texts if is_list else texts[0]

    def chat(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        """Return the model's reply in a chat.

        Parameters
        ----------
        messages : sequence of dict
            ``{"role": "user", "content": "..."}``, with the roles of the model's template.
        **options
            Options of ``generate``.

        Raises
        ------
        ValueError
            The model has no template, or the template rejects the messages.
        """
        if self.tokenizer is None:
            raise ValueError("chat: the model has no tokenizer; use generate with tokens")
        return self.generate(self.tokenizer.encode(self.tokenizer.chat(messages), False), **options)

    def score(self, text: Any) -> Score:
        """Score a text (str, or sequence of int) by its probability under the model.

        Raises
        ------
        ValueError
            It has fewer than two tokens, or more than the context.
        """
        ids = self._encoded("score", text)
        if len(ids) < 2:
            raise ValueError(f"score: the text must have at least two tokens, got {len(ids)}")
        losses = self._generator.losses(ids)
        return Score(-float(losses.sum(dtype=np.float64)), perplexity(losses), len(losses))

    def _pieces(
        self, prompts: list[list[int]], max_tokens: int, sampling: Sampling, stops: tuple[str, ...]
    ) -> Iterator[list[Any]]:
        """Yield the text added by each step to every row."""
        room = self.config.max_positions - max(len(p) for p in prompts)
        max_tokens = min(max_tokens, room + 1)
        rows = [Pieces(self.tokenizer, stops, prompt) for prompt in prompts]
        for tokens in self._generator.tokens(prompts, max_tokens, sampling):
            yield [row.add(t) for row, t in zip(rows, tokens, strict=True)]
            if all(row.is_done for row in rows):
                return
        yield [row.rest() for row in rows]
