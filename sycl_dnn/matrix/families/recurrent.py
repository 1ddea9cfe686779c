# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells."""

from __future__ import annotations

from sycl_dnn.matrix.families.family import FORWARD, Family, types

_CELLS = ("VANILLA_RNN", "VANILLA_LSTM", "VANILLA_GRU", "LBR_GRU", "VANILLA_AUGRU", "LBR_AUGRU")

RECURRENT = (
    Family(
        "rnn",
        {c.lower().removeprefix("vanilla_"): f"--alg={c} l1t4mb16sic64" for c in _CELLS}
        | {
            "lstm both ways": "--alg=VANILLA_LSTM --direction=concat l1t4mb16sic64",
            "lstm projection": "--alg=VANILLA_LSTM --with-projection=true l1t4mb16sic64",
        },
        types("cfg", "f32", "bf16", "bf16f32", "f16")
        | {"u8": f"--cfg=u8u8u8u8{FORWARD}", "s8": f"--cfg=s8s8s8s8{FORWARD}"},
        {"weights any": "--tag=any", "plain": "--tag=abx"},
        ("FWD_I", "FWD_D", "BWD_DW"),
        "prop",
    ),
)
