# SPDX-License-Identifier: Apache-2.0
"""Views, concatenation, padding and resizing."""
