# SPDX-License-Identifier: Apache-2.0
"""Files: trees of arrays written and read."""
