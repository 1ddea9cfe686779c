// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

py::bytes to_blob(desc d);
// From untrusted bytes: throws invalid_arguments unless they describe something that the other
// constructors could have made.
desc from_blob(const py::bytes &bytes);
// From a pickle, which must be trusted anyway: also accepts layouts that only a primitive knows.
desc from_own_blob(const py::bytes &bytes);

}  // namespace sycl_dnn
