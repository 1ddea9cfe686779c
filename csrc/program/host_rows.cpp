// SPDX-License-Identifier: Apache-2.0
#include "program/host_rows.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sycl_dnn {

// Registers are passed to functions that are inlined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace row_loops {

#define INSTRUCTIONS baseline
#define WIDTH 4
#define BLOCKS 2
#include "program/host_rows.inc"

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define INSTRUCTIONS avx2
#define WIDTH 8
#define BLOCKS 2
#include "program/host_rows.inc"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,fma")
#define INSTRUCTIONS avx512
#define WIDTH 16
#define BLOCKS 4
#include "program/host_rows.inc"
#pragma GCC pop_options
#endif

}  // namespace row_loops

#pragma GCC diagnostic pop

const host_rows &host_rows::fast() {
    static const host_rows *chosen = [] {
#if defined(__x86_64__)
        const int isa = dnnl_get_effective_cpu_isa();
        const auto has = [isa](int all) { return (isa & all) == all; };
        if (has(dnnl_cpu_isa_avx512_core)) return &row_loops::avx512::all;
        if (has(dnnl_cpu_isa_avx2)) return &row_loops::avx2::all;
#endif
        return &row_loops::baseline::all;
    }();
    return *chosen;
}

}  // namespace sycl_dnn
