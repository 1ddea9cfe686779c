# SPDX-License-Identifier: Apache-2.0
"""Graph rewrites, one topic per file."""
