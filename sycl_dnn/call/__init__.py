# SPDX-License-Identifier: Apache-2.0
"""From a user's call to a program: trees of arrays, captured values and their guards, numbers."""
