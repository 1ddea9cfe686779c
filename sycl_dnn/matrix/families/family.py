# SPDX-License-Identifier: Apache-2.0
"""What a family of cases is, and the words that families share."""

from __future__ import annotations

from dataclasses import dataclass

Texts = dict[str, str]


@dataclass(frozen=True)
class Family:
    """One driver and what varies.

    kinds : name -> problem, with options in front where the kind needs some
    types : name -> options; after ``|`` the directions that have such types (all without)
    layouts : name -> options
    directions : values of --dir (or --prop)
    option : name of the option of directions; empty where there is none
    """

    driver: str
    kinds: Texts
    types: Texts
    layouts: Texts
    directions: tuple[str, ...] = ("",)
    option: str = "dir"


def same(options: tuple[str, ...], tags: Texts) -> Texts:
    """Give several options one tag each time."""
    return {name: " ".join(f"--{o}={tag}" for o in options) for name, tag in tags.items()}


def types(option: str, *names: str) -> Texts:
    """Return types of one kind each: ``f32`` -> ``--dt=f32``."""
    return {name: f"--{option}={name}" for name in names}


def from_to(*pairs: str, only: str = "") -> Texts:
    """Return sources and destinations: ``f32:s8`` -> ``--sdt=f32 --ddt=s8``."""
    split = {pair: pair.rpartition(":") for pair in pairs}
    return {pair: f"--sdt={a} --ddt={b}{only}" for pair, (a, _, b) in split.items()}


FLOATS = ("f32", "bf16", "f16", "f64")
SMALL_FLOATS = ("f8_e5m2", "f8_e4m3")
FORWARD = "|FWD"
LAYOUTS = {"plain": "abx", "last": "axb", "blocked": "aBx16b"}
BOTH = ("FWD_D", "FWD_I", "BWD_D")
BYTES = {name: f"--dt={name}{FORWARD}" for name in ("s8", "u8")}
