# SPDX-License-Identifier: Apache-2.0
"""Elements by number, sorted and counted."""
