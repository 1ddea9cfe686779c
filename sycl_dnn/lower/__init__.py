# SPDX-License-Identifier: Apache-2.0
"""From nodes to steps."""
