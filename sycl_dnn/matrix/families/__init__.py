# SPDX-License-Identifier: Apache-2.0
"""The table of what the matrix tries, in the language of `sycl_dnn.verify`.

Sizes are ordinary ones: channels are multiples of 16 unless a kind is about the contrary, so that
no implementation declines for a remainder.
"""

from __future__ import annotations

from sycl_dnn.matrix.families.data import DATA
from sycl_dnn.matrix.families.family import Family
from sycl_dnn.matrix.families.moving import MOVING
from sycl_dnn.matrix.families.products import PRODUCTS
from sycl_dnn.matrix.families.recurrent import RECURRENT

__all__ = ["FAMILIES", "Family"]

FAMILIES: dict[str, Family] = {
    family.driver: family for family in (*PRODUCTS, *DATA, *MOVING, *RECURRENT)
}
