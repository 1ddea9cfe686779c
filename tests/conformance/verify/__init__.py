# SPDX-License-Identifier: Apache-2.0
"""Cases in benchdnn's language, run through `sycl_dnn.onednn`, against the references."""
