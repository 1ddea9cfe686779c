# SPDX-License-Identifier: Apache-2.0
"""Views, joins, padding, resizing."""
