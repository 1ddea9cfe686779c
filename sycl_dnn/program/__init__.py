# SPDX-License-Identifier: Apache-2.0
"""What is submitted: executables, segments with their memory, constants."""
