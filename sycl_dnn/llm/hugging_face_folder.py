# SPDX-License-Identifier: Apache-2.0
"""``Folder``: a model in a Hugging Face folder (config.json, safetensors, tokenizer.json)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sycl_dnn.kernels.packed_blocks import BLOCKS
from sycl_dnn.llm.architectures import Config
from sycl_dnn.llm.packed_matrices import PackedMatrix
from sycl_dnn.llm.temporaries import read_array, temporary
from sycl_dnn.llm.tokenization import Tokenizer

#: Supported safetensors dtypes.
_DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "F64": np.float64}


class Folder:
    """A model saved by Hugging Face's ``save_pretrained``.

    Raises ValueError if a file is damaged or lacks something that the model needs, and
    FileNotFoundError if a file is missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        config = _json(path / "config.json")
        if "text_config" in config:  # the language model of a multimodal one
            config = {**config, **config["text_config"]}
        self._config = config
        self.config = Config.of(config)
        self._places = _places(path)

    def array(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return a parameter as a NumPy float32 array.

        Raises ValueError if it is missing, or has an unexpected shape or type.
        """
        stored, dtype = self._stored(name, shape)
        values = temporary(shape, np.float32)
        if dtype == "BF16":
            np.left_shift(stored, 16, out=values.view(np.uint32), dtype=np.uint32)
        else:
            values[...] = stored
        return values

    def packed(self, name: str, shape: tuple[int, ...]) -> PackedMatrix | None:
        """Return a matrix of 16-bit numbers as stored, (outputs, bytes); None for other types."""
        stored, dtype = self._stored(name, shape)
        is_turned = self.config.row.is_transposed and f".{self.config.row.names['layers']}." in name
        rows = stored.T if is_turned else stored
        if dtype not in BLOCKS or rows.shape[1] % 32:
            return None
        return PackedMatrix(np.ascontiguousarray(rows).view(np.uint8), dtype)

    def _stored(self, name: str, shape: tuple[int, ...]) -> tuple[Any, str]:
        """Return a parameter as stored, and its type; ValueError if it does not fit."""
        base = self.config.row.names["base"] + "."
        inner = name.removeprefix(base)
        names = [name, inner, f"{base}language_model.{inner}", f"language_model.{name}"]
        place = next((self._places[n] for n in names if n in self._places), None)
        if place is None:
            raise ValueError(f"llm: {self._path} has no tensor {name}")
        file, dtype, stored_shape, start = place
        if stored_shape != shape:
            raise ValueError(f"llm: {name} must have shape {shape}, got {stored_shape} in {file}")
        if dtype not in _DTYPES:
            supported = ", ".join(_DTYPES)
            raise ValueError(f"llm: {name} must be of type {supported}, got {dtype} in {file}")
        return read_array(file, start, shape, _DTYPES[dtype]), dtype

    def tokenizer(self) -> Tokenizer | None:
        """Return the tokenizer; None if the folder has none."""
        path = self._path / "tokenizer.json"
        if not path.exists():
            return None
        settings = _optional(self._path / "tokenizer_config.json")
        generation = _optional(self._path / "generation_config.json")
        template = settings.get("chat_template")
        if isinstance(template, list):
            template = {t["name"]: t["template"] for t in template}.get("default")
        separate = self._path / "chat_template.jinja"
        if separate.exists():
            template = separate.read_text()
        end_ids = generation.get("eos_token_id", self._config.get("eos_token_id"))
        return Tokenizer.of_file(
            path, template, _content(settings.get("bos_token")),
            _content(settings.get("eos_token")), end_ids,
        )  # fmt: skip


def _content(token: Any) -> str | None:
    text = token["content"] if isinstance(token, dict) else token
    return None if text is None else str(text)


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"llm: {path} must be JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"llm: {path} must hold an object, got {type(value).__name__}")
    return value


def _optional(path: Path) -> dict[str, Any]:
    return _json(path) if path.exists() else {}


_Place = tuple[Path, str, tuple[int, ...], int]


def _places(folder: Path) -> Mapping[str, _Place]:
    """Return file, type, shape and offset of every tensor."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        names = sorted(set(_json(index)["weight_map"].values()))
        if any(Path(n).name != n for n in names):
            raise ValueError(f"llm: {index} must name files of its folder, got {names}")
        files = [folder / n for n in names]
    else:
        files = [folder / "model.safetensors"]
    if not files[0].exists():
        raise FileNotFoundError(
            f"llm: {files[0]} does not exist; weights must be in files of safetensors"
        )
    places: dict[str, _Place] = {}
    for file in files:
        places.update(_header(file))
    return places


def _header(file: Path) -> dict[str, _Place]:
    import safetensors

    try:
        with safetensors.safe_open(file, "numpy"):  # validates sizes, offsets and overlaps
            pass
    except safetensors.SafetensorError as error:
        raise ValueError(f"llm: {file} is damaged: {error}") from None
    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(size))
    header.pop("__metadata__", None)
    return {
        n: (file, e["dtype"], tuple(e["shape"]), 8 + size + e["data_offsets"][0])
        for n, e in header.items()
    }
