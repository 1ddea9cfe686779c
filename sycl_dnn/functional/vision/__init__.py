# SPDX-License-Identifier: Apache-2.0
"""Images sampled at any place, and boxes in them."""
