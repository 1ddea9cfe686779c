# SPDX-License-Identifier: Apache-2.0
"""From a user's call to a program: trees of arrays, runs of functions, guards, numbers."""
