# SPDX-License-Identifier: Apache-2.0
"""Complex numbers: their parts, and what other functions compute for them."""
