# SPDX-License-Identifier: Apache-2.0
"""A text recognizer from an ONNX file learns to read a font that it reads badly.

``--model PATH`` takes a recognizer of PaddleOCR, such as ``ch_PP-OCRv4_rec_infer.onnx`` of the
package rapidocr-onnxruntime; by default, a small one is trained on another font, exported and
loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import dpnp
import matplotlib
import numpy as np
import onnx
from _training import begin, check, finish, out_path, own_rows, train, write_once
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
UPRIGHT = FONTS / "DejaVuSans.ttf"
HEIGHT, WIDTH, BATCH, N_TEST = 48, 192, 16, 64
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class SmallReader(nn.Module):
    """Columns of an image are steps of a sequence; each is a letter, or 0 for none."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=(2, 1), padding=1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.Conv2d(64, 96, (HEIGHT // 8, 5), padding=(0, 2)), nn.BatchNorm2d(96), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Linear(96, 1 + len(LETTERS))
        # With smaller weights, one seed in seven goes on reading every column as no letter.
        nn.init.normal_(self.head.weight, std=0.25)

    def forward(self, images: Any) -> Any:
        """Return the probabilities (N, steps, letters) of images (N, 1, HEIGHT, WIDTH)."""
        columns = F.permute(F.flatten(self.features(images), 2), (0, 2, 1))
        return F.softmax(self.head(columns), -1)


def drawn(words: Sequence[str], font: Path, n_channels: int, rng: Any) -> np.ndarray:
    """Return words as images (N, n_channels, HEIGHT, WIDTH) from -1 to 1, each at another place."""
    face, rows = ImageFont.truetype(str(font), 30), []
    for word in words:
        page = Image.new("L", (WIDTH, HEIGHT), 255)
        left, top, right, bottom = ImageDraw.Draw(page).textbbox((0, 0), word, font=face)
        x = rng.integers(2, max(WIDTH - (right - left), 4)) - left
        y = (HEIGHT - (bottom - top)) // 2 - top + rng.integers(-3, 4)
        ImageDraw.Draw(page).text((x, y), word, font=face, fill=0)
        rows.append(np.asarray(page, "f4") / 127.5 - 1)
    return np.repeat(np.stack(rows)[:, None], n_channels, 1)


def batches(words: Sequence[str], font: Path, alphabet: str, n_channels: int, rng: Any, queue: Any
            ) -> Iterator[Any]:  # fmt: skip
    """Yield endless batches of images, letters padded with 0, and numbers of letters."""
    while True:
        chosen = [str(w) for w in own_rows(rng.choice(words, BATCH))]
        letters = np.zeros((len(chosen), max(map(len, words))), "i4")
        for row, word in zip(letters, chosen, strict=True):
            row[: len(word)] = [alphabet.index(letter) for letter in word]
        arrays = drawn(chosen, font, n_channels, rng), letters, np.array([*map(len, chosen)], "i4")
        yield tuple(dpnp.asarray(a, sycl_queue=queue) for a in arrays)


def loss(net: Any, images: Any, letters: Any, lengths: Any) -> Any:
    """Return the mean CTC loss of a letter."""
    logs = F.log(F.clamp(net(images), 1e-30))  # (images, steps, letters)
    steps = [logs.shape[1]] * logs.shape[0]
    return F.ctc_loss(F.permute(logs, (1, 0, 2)), letters, steps, lengths)


def read(net: Any, images: np.ndarray, alphabet: str, queue: Any) -> list[str]:
    """Return the text that the network reads: the likeliest letters, repetitions once."""
    found = net(dpnp.asarray(images, sycl_queue=queue))
    best = dpnp.asnumpy(found).argmax(-1)
    kept = (best != 0) & (best != np.pad(best, ((0, 0), (1, 0)))[:, :-1])
    return ["".join(alphabet[i] for i in row[k]) for row, k in zip(best, kept, strict=True)]


def right(texts: Sequence[str], words: Sequence[str]) -> float:
    """Return the share of words that were read without an error."""
    return float(np.mean([text == word for text, word in zip(texts, words, strict=True)]))


def small_model(options: Any, words: Sequence[str], rng: Any, queue: Any) -> Path:
    """Train a small recognizer on an upright font; return the ONNX file that it is written to."""
    net = SmallReader().to(queue)
    opt = optim.AdamW(optim.schedules.one_cycle(4e-3, options.steps), max_norm=1.0)
    rows = batches(words, UPRIGHT, "_" + LETTERS, 1, rng, queue)
    net, _, _ = train(net, opt, loss, rows, options)
    images = drawn(words[:N_TEST], UPRIGHT, 1, rng)
    share = right(read(net.eval(), images, "_" + LETTERS, queue), words[:N_TEST])
    print(f"small recognizer: {share:.0%} of words of {UPRIGHT.stem} read")
    images = dpnp.asarray(images, sycl_queue=queue)
    model = sycl_dnn.onnx.export(net, images, dynamic={0: "N"}, inputs=["image"])
    onnx.helper.set_model_props(model, {"character": "\n".join(LETTERS)})
    path = out_path("small_reader.onnx")
    write_once(options, onnx.save, model, path)
    return path


def draw(
    path: Path, images: np.ndarray, before: Sequence[str], after: Sequence[str], losses: Any
) -> None:
    """Write a picture of words, of what was read before and after, and of the loss."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    grid = figure.add_gridspec(6, 2, width_ratios=(1, 1))
    for i in range(6):
        axes = figure.add_subplot(grid[i, 0])
        axes.imshow(images[i, 0], cmap="gray")
        axes.set_axis_off()
        for x, text, color in ((205, before[i], "tab:red"), (325, after[i], "tab:green")):
            axes.text(x, 30, text or "(nothing)", color=color, clip_on=False)
    axes = figure.add_subplot(grid[:, 1])
    axes.plot(np.arange(1, len(losses) + 1), losses)
    axes.set(xlabel="step", ylabel="CTC loss of a letter", yscale="log")
    figure.suptitle("read before (red) and after (green) fine-tuning")
    figure.savefig(path, dpi=100)


def main() -> None:
    """Fine-tune and read; fail if the new font is not read after it."""

    def add(parser: Any) -> None:
        parser.add_argument("--model", type=Path, help="an ONNX file; a small model by default")
        parser.add_argument("--font", type=Path, default=FONTS / "cmsy10.ttf", help="to be learned")

    options, queue = begin(__doc__, steps=150, rate=2e-3, more=add)
    rng = np.random.default_rng(options.seed)
    found = sorted({w.upper() for t in topics.values() for w in re.findall(r"\b[a-z]{3,7}\b", t)})
    words = [str(w) for w in rng.permutation(found)]
    held_out, words = words[:N_TEST], words[N_TEST:]
    path = options.model or small_model(options, words, rng, queue)

    net = sycl_dnn.onnx.load(path, device=queue)
    properties = {p.key: p.value for p in onnx.load(path).metadata_props}
    alphabet = "".join(("_", *properties["character"].split("\n"), " "))
    n_channels = int((net.inputs[0].shape or (1, 1))[1] or 1)
    images = drawn(held_out, options.font, n_channels, rng)
    before = read(net, images, alphabet, queue)
    opt = optim.AdamW(optim.schedules.one_cycle(options.rate, options.steps), max_norm=1.0)
    rows = batches(words, options.font, alphabet, n_channels, rng, queue)
    net, _, losses = train(net, opt, loss, rows, options)
    after = read(net, images, alphabet, queue)
    shares = right(before, held_out), right(after, held_out)
    print(f"{options.font.stem}: {shares[0]:.0%} of {N_TEST} new words read, {shares[1]:.0%} after")
    picture = out_path("finetune_ocr.png")
    write_once(options, draw, picture, images, before, after, losses)
    print(f"picture: {picture}")
    check(options, "most words of the new font must be read", shares[1] > max(0.7, shares[0]))
    finish(options, "finetune_ocr", losses)


if __name__ == "__main__":
    main()
