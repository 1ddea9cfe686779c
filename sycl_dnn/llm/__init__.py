# SPDX-License-Identifier: Apache-2.0
"""Language models from GGUF files and Hugging Face folders, as trainable modules."""

from sycl_dnn.llm.architectures import ARCHITECTURES, Config
from sycl_dnn.llm.decoder import Decoder
from sycl_dnn.llm.generation import Generator
from sycl_dnn.llm.language_model import LanguageModel, Score, load
from sycl_dnn.llm.sampling import Sampling
from sycl_dnn.llm.tokenization import Tokenizer

__all__ = [
    "ARCHITECTURES",
    "Config",
    "Decoder",
    "Generator",
    "LanguageModel",
    "Sampling",
    "Score",
    "Tokenizer",
    "load",
]
