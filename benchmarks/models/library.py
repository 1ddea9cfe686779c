# SPDX-License-Identifier: Apache-2.0
"""The library that `training_nets.py` uses: torch if ``LIBRARY`` says so, else ours."""

from __future__ import annotations

import os
from typing import Any

nn: Any
F: Any
cat: Any
if os.environ.get("LIBRARY", "ours") == "ours":
    from sycl_dnn import functional as F
    from sycl_dnn import nn

    cat = F.cat
else:
    import torch
    from torch import nn
    from torch.nn import functional as F

    cat = torch.cat

__all__ = ["F", "cat", "nn"]
