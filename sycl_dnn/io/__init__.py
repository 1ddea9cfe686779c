# SPDX-License-Identifier: Apache-2.0
"""Files of arrays: trees, state dicts and checkpoints."""
