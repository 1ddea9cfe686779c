# SPDX-License-Identifier: Apache-2.0
"""Long runs and stress tests: threads, memory, signals, forks, exit."""
