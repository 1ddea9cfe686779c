// SPDX-License-Identifier: Apache-2.0
#include "program/host_sequence.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/errors.hpp"

namespace sycl_dnn {

namespace {

using operation = HostSequence::operation;
using function = HostSequence::function;

// --- Loops over rows, compiled for several instruction sets

struct host_rows {
    // Four rows of x, `x_step` apart, times a matrix (k, n) of at least 16 columns, plus `start`.
    void (*multiply_four)(const float *x, int64_t x_step, const float *w, int64_t n, int64_t k,
                          const float *start, float *y);
    void (*multiply_one)(const float *x, const float *w, int64_t n, int64_t k, const float *start,
                         float *y);
    // One row times the transpose of (n, w_step), of which k columns count.
    void (*multiply_narrow)(const float *x, const float *w, int64_t w_step, int64_t n, int64_t k,
                            const float *start, float *y);
    void (*add)(float *y, const float *x, int64_t n);
    void (*mean_of_rows)(const float *x, int64_t rows, int64_t n, float *y);
    void (*scale_rows)(const float *x, const float *factors, int64_t rows, int64_t n, float *y);
};

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

// As many instructions as oneDNN uses.
const host_rows &fast() {
    static const host_rows *chosen = [] {
#if defined(__x86_64__)
        const int isa = dnnl_get_effective_cpu_isa();
        const auto has = [isa](int all) { return (isa & all) == all; };
        if (has(dnnl_cpu_isa_avx512_core)) return &avx512::functions;
        if (has(dnnl_cpu_isa_avx2)) return &avx2::functions;
#endif
        return &baseline::functions;
    }();
    return *chosen;
}

// --- Element-wise functions; NaN stays NaN

struct elementwise {
    int algorithm;
    float (*apply)(float x, float alpha, float beta);
};

// Without a slope, the result is 0: not -0, nor NaN for -infinity.
float relu(float x, float a, float) { return x < 0 ? (a == 0 ? 0 : a * x) : x; }
float clipped(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
float gelu(float x, float, float) { return 0.5f * x * (1 + std::erf(x * 0.70710678f)); }
// log(1 + exp(a x)) / a, where exp may overflow.
float softplus(float x, float a, float) { return a * x > 20 ? x : std::log1p(std::exp(a * x)) / a; }
float logistic(float x) { return 1.0f / (1.0f + std::exp(-x)); }

const elementwise functions[] = {
    {dnnl_eltwise_relu, relu},
    {dnnl_eltwise_linear, [](float x, float a, float b) { return a * x + b; }},
    {dnnl_eltwise_clip, clipped},
    {dnnl_eltwise_clip_v2, clipped},
    {dnnl_eltwise_logistic, [](float x, float, float) { return logistic(x); }},
    {dnnl_eltwise_tanh, [](float x, float, float) { return std::tanh(x); }},
    {dnnl_eltwise_abs, [](float x, float, float) { return std::fabs(x); }},
    {dnnl_eltwise_square, [](float x, float, float) { return x * x; }},
    {dnnl_eltwise_pow, [](float x, float a, float b) { return a * std::pow(x, b); }},
    {dnnl_eltwise_sqrt, [](float x, float, float) { return std::sqrt(x); }},
    {dnnl_eltwise_exp, [](float x, float, float) { return std::exp(x); }},
    {dnnl_eltwise_log, [](float x, float, float) { return std::log(x); }},
    {dnnl_eltwise_elu, [](float x, float a, float) { return x < 0 ? a * std::expm1(x) : x; }},
    {dnnl_eltwise_gelu_erf, gelu},
    {dnnl_eltwise_soft_relu, softplus},
    {dnnl_eltwise_mish, [](float x, float, float) { return x * std::tanh(softplus(x, 1, 0)); }},
    {dnnl_eltwise_swish, [](float x, float a, float) { return x * logistic(a * x); }},
    {dnnl_eltwise_hardsigmoid, [](float x, float a, float b) { return clipped(a * x + b, 0, 1); }},
    {dnnl_eltwise_hardswish,
     [](float x, float a, float b) { return x * clipped(a * x + b, 0, 1); }},
};

const elementwise *function_of(int algorithm) {
    for (const elementwise &f : functions)
        if (f.algorithm == algorithm) return &f;
    return nullptr;
}

void apply(const std::vector<function> &chain, float *y, int64_t n) {
    for (const function &f : chain)
        for (int64_t i = 0; i < n; ++i) y[i] = f.apply(y[i], f.alpha, f.beta);
}

// --- Operations

// Returns what is summed, if the result overwrites it.
std::vector<float> copy_if_same(const float *summand, const float *dst, int64_t n) {
    return summand == dst ? std::vector<float>(dst, dst + n) : std::vector<float>();
}

// arrays: src, weights, bias, summand, dst. sizes: batches, rows of each, n, k; steps between
// batches and rows of src; elements before the source that the first row begins, elements of a
// source; step between batches of dst, whose rows are dense; whether the weights are (n, k), not
// (k, n) with at least 16 columns. Elements outside the source are 0.
void multiply(const operation &o, float *const *arrays) {
    const int64_t *s = o.sizes.data();
    const int64_t batches = s[0], rows = s[1], n = s[2], k = s[3], step = s[5], lead = s[6];
    const int64_t length = s[7];
    const bool is_turned = s[9];
    const auto is_whole = [&](int64_t r) {
        return r * step >= lead && r * step - lead + k <= length;
    };
    for (int64_t batch = 0; batch < batches; ++batch) {
        const float *x = arrays[0] + batch * s[4] - lead;
        float *y = arrays[4] + batch * s[8];
        const float *summand = arrays[3] ? arrays[3] + batch * s[8] : nullptr;
        const std::vector<float> previous = copy_if_same(summand, y, rows * n);
        for (int64_t r = 0; r < rows;) {
            if (!is_turned && r + 4 <= rows && is_whole(r) && is_whole(r + 3)) {
                fast().multiply_four(x + r * step, step, arrays[1], n, k, arrays[2], y + r * n);
                r += 4;
                continue;
            }
            const int64_t first = std::max<int64_t>(0, lead - r * step);
            const int64_t last = std::max(first, std::min(k, length + lead - r * step));
            const float *row = x + r * step + first;
            if (!is_turned)
                fast().multiply_one(row, arrays[1] + first * n, n, last - first, arrays[2],
                                    y + r * n);
            else
                fast().multiply_narrow(row, arrays[1] + first, k, n, last - first, arrays[2],
                                       y + r * n);
            ++r;
        }
        if (summand) fast().add(y, previous.empty() ? summand : previous.data(), rows * n);
        apply(o.functions, y, rows * n);
    }
}

// arrays: src, dst. sizes: batches, rows, columns.
void average(const operation &o, float *const *arrays) {
    const int64_t rows = o.sizes[1], n = o.sizes[2];
    for (int64_t batch = 0; batch < o.sizes[0]; ++batch)
        fast().mean_of_rows(arrays[0] + batch * rows * n, rows, n, arrays[1] + batch * n);
    apply(o.functions, arrays[1], o.sizes[0] * n);
}

// arrays: src, factors, summand, dst. sizes: batches, rows, columns.
void scale(const operation &o, float *const *arrays) {
    const int64_t rows = o.sizes[1], n = o.sizes[2], whole = rows * n;
    const std::vector<float> previous = copy_if_same(arrays[2], arrays[3], o.sizes[0] * whole);
    for (int64_t batch = 0; batch < o.sizes[0]; ++batch)
        fast().scale_rows(arrays[0] + batch * whole, arrays[1] + batch * n, rows, n,
                          arrays[3] + batch * whole);
    if (arrays[2])
        fast().add(arrays[3], previous.empty() ? arrays[2] : previous.data(), o.sizes[0] * whole);
    apply(o.functions, arrays[3], o.sizes[0] * whole);
}

using operation_runner = void (*)(const operation &, float *const *arrays);

struct operation_kind {
    const char *name;
    size_t n_arrays, n_sizes;
    operation_runner run;
};

const operation_kind operation_kinds[] = {
    {"product", 5, 10, multiply},
    {"mean", 2, 3, average},
    {"scale", 4, 3, scale},
};

operation_runner runner_of(const operation &o) {
    for (const function &f : o.functions)
        if (!function_of(f.algorithm))
            throw invalid_arguments("Kernel.sequence: algorithm " + std::to_string(f.algorithm) +
                                    " is not one that host sequences apply");
    for (const operation_kind &k : operation_kinds)
        if (o.kind == k.name && o.arrays.size() == k.n_arrays && o.sizes.size() == k.n_sizes)
            return k.run;
    throw invalid_arguments(
        "Kernel.sequence: operations must be product, mean or scale with "
        "their numbers of arrays and sizes, got " +
        o.kind);
}

}  // namespace

bool HostSequence::has(int algorithm) { return function_of(algorithm); }

void HostSequence::append(operation what) {
    const auto run_one = runner_of(what);
    for (function &f : what.functions) f.apply = function_of(f.algorithm)->apply;
    const std::vector<place> arrays = what.arrays;
    steps.push_back({arrays, [run_one, what = std::move(what)](void *const *addresses) {
                         float *given[5];
                         for (size_t i = 0; i < what.arrays.size(); ++i)
                             given[i] = static_cast<float *>(addresses[i]);
                         run_one(what, given);
                     }});
}

void HostSequence::append(std::shared_ptr<const SpirvInterpreter> kernel, std::vector<place> arrays,
                          std::vector<uint64_t> numbers, size_t n_groups) {
    const size_t n = arrays.size();
    steps.push_back({std::move(arrays), [=, kernel = std::move(kernel),
                                         words = std::move(numbers)](void *const *addresses) {
                         std::vector<uint64_t> parameters;
                         for (size_t i = 0; i < n; ++i)
                             parameters.push_back(reinterpret_cast<uintptr_t>(addresses[i]));
                         parameters.insert(parameters.end(), words.begin(), words.end());
                         kernel->run(parameters, n_groups);
                     }});
}

void HostSequence::run(void *const *addresses) const {
    std::vector<void *> chosen;
    for (const step &s : steps) {
        chosen.clear();
        for (const auto &[position, before] : s.arrays)
            chosen.push_back(position < 0 ? nullptr
                                          : static_cast<char *>(addresses[position]) + before);
        s.run(chosen.data());
    }
}

}  // namespace sycl_dnn
