// SPDX-License-Identifier: Apache-2.0
#include "program/host_expression.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/errors.hpp"

namespace sycl_dnn {

namespace {

using value = HostExpression::value;

// Elements that are computed at once.
constexpr int block = 128;

template <auto function>
void reals(value *y, const value *const *x, int n) {
    for (int i = 0; i < n; ++i) y[i].real = function(x[0][i].real);
}

template <auto function>
void pairs_of_reals(value *y, const value *const *x, int n) {
    for (int i = 0; i < n; ++i) y[i].real = function(x[0][i].real, x[1][i].real);
}

template <auto function>
void wholes(value *y, const value *const *x, int n) {
    for (int i = 0; i < n; ++i) y[i].whole = function(x[0][i].whole);
}

template <auto function>
void pairs_of_wholes(value *y, const value *const *x, int n) {
    for (int i = 0; i < n; ++i) y[i].whole = function(x[0][i].whole, x[1][i].whole);
}

template <auto function>
void compared_reals(value *y, const value *const *x, int n) {
    for (int i = 0; i < n; ++i) y[i].whole = function(x[0][i].real, x[1][i].real);
}

void chosen(value *y, const value *const *x, int n) {
    for (int i = 0; i < n; ++i) y[i] = x[0][i].whole ? x[1][i] : x[2][i];
}

// Integers wrap around.
int64_t sum_of(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t difference_of(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
int64_t product_of(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

struct host_operation {
    const char *name;
    char operands, result;  // kinds: 'f' for float32, 'i' for int64, 'b' for bool
    HostExpression::compute run;
};

// A maximum or minimum with NaN is NaN.
const host_operation host_operations[] = {
    {"add", 'f', 'f', pairs_of_reals<[](float a, float b) { return a + b; }>},
    {"sub", 'f', 'f', pairs_of_reals<[](float a, float b) { return a - b; }>},
    {"mul", 'f', 'f', pairs_of_reals<[](float a, float b) { return a * b; }>},
    {"div", 'f', 'f', pairs_of_reals<[](float a, float b) { return a / b; }>},
    {"maximum", 'f', 'f', pairs_of_reals<[](float a, float b) { return b < a || a != a ? a : b; }>},
    {"minimum", 'f', 'f', pairs_of_reals<[](float a, float b) { return a < b || a != a ? a : b; }>},
    {"abs", 'f', 'f', reals<[](float x) { return std::fabs(x); }>},
    {"neg", 'f', 'f', reals<[](float x) { return -x; }>},
    {"square", 'f', 'f', reals<[](float x) { return x * x; }>},
    {"reciprocal", 'f', 'f', reals<[](float x) { return 1 / x; }>},
    {"sqrt", 'f', 'f', reals<[](float x) { return std::sqrt(x); }>},
    {"rsqrt", 'f', 'f', reals<[](float x) { return 1 / std::sqrt(x); }>},
    {"exp", 'f', 'f', reals<[](float x) { return std::exp(x); }>},
    {"exp_nonpositive", 'f', 'f', reals<[](float x) { return std::exp(x); }>},
    {"expm1", 'f', 'f', reals<[](float x) { return std::expm1(x); }>},
    {"log", 'f', 'f', reals<[](float x) { return std::log(x); }>},
    {"log1p", 'f', 'f', reals<[](float x) { return std::log1p(x); }>},
    {"tanh", 'f', 'f', reals<[](float x) { return std::tanh(x); }>},
    {"erf", 'f', 'f', reals<[](float x) { return std::erf(x); }>},
    {"sigmoid", 'f', 'f', reals<[](float x) { return 1 / (1 + std::exp(-x)); }>},
    {"lt", 'f', 'b', compared_reals<[](float a, float b) { return a < b; }>},
    {"le", 'f', 'b', compared_reals<[](float a, float b) { return a <= b; }>},
    {"gt", 'f', 'b', compared_reals<[](float a, float b) { return b < a; }>},
    {"ge", 'f', 'b', compared_reals<[](float a, float b) { return a >= b; }>},
    {"eq", 'f', 'b', compared_reals<[](float a, float b) { return a == b; }>},
    {"ne", 'f', 'b', compared_reals<[](float a, float b) { return a != b; }>},
    {"add", 'i', 'i', pairs_of_wholes<sum_of>},
    {"sub", 'i', 'i', pairs_of_wholes<difference_of>},
    {"mul", 'i', 'i', pairs_of_wholes<product_of>},
    {"abs", 'i', 'i', wholes<[](int64_t x) { return x < 0 ? difference_of(0, x) : x; }>},
    {"neg", 'i', 'i', wholes<[](int64_t x) { return difference_of(0, x); }>},
    {"maximum", 'i', 'i', pairs_of_wholes<[](int64_t a, int64_t b) { return b < a ? a : b; }>},
    {"minimum", 'i', 'i', pairs_of_wholes<[](int64_t a, int64_t b) { return a < b ? a : b; }>},
    {"lt", 'i', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return int64_t(a < b); }>},
    {"le", 'i', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return int64_t(a <= b); }>},
    {"gt", 'i', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return int64_t(b < a); }>},
    {"ge", 'i', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return int64_t(a >= b); }>},
    {"eq", 'i', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return int64_t(a == b); }>},
    {"ne", 'i', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return int64_t(a != b); }>},
    {"bitwise_and", 'i', 'i', pairs_of_wholes<[](int64_t a, int64_t b) { return a & b; }>},
    {"bitwise_or", 'i', 'i', pairs_of_wholes<[](int64_t a, int64_t b) { return a | b; }>},
    {"bitwise_and", 'b', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return a & b; }>},
    {"bitwise_or", 'b', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return a | b; }>},
    {"logical_and", 'b', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return a & b; }>},
    {"logical_or", 'b', 'b', pairs_of_wholes<[](int64_t a, int64_t b) { return a | b; }>},
    {"logical_not", 'b', 'b', wholes<[](int64_t x) { return int64_t(!x); }>},
    {"logical_not", 'i', 'b', wholes<[](int64_t x) { return int64_t(!x); }>},
    {"where", 'f', 'f', chosen},
    {"where", 'i', 'i', chosen},
    {"where", 'b', 'b', chosen},
};

// 'w' for int32 and 'u' for uint8, which are computed as int64 and then wrap; '\0' for others.
char kind_of(const std::string &dtype) {
    const std::pair<const char *, char> kinds[] = {
        {"float32", 'f'}, {"int64", 'i'}, {"int32", 'w'}, {"uint8", 'u'}, {"bool", 'b'}};
    for (const auto &[name, kind] : kinds)
        if (dtype == name) return kind;
    return '\0';
}

char in_register(char kind) { return kind == 'w' || kind == 'u' ? 'i' : kind; }

int64_t size_of(char kind) { return kind == 'i' ? 8 : kind == 'b' || kind == 'u' ? 1 : 4; }

int64_t wrapped(int64_t number, char kind) {
    return kind == 'w' ? int32_t(number) : kind == 'u' ? uint8_t(number) : number;
}

// Null for the operations that read arrays, coordinates or numbers, and for unknown ones.
HostExpression::compute function_for(const std::string &name, const std::vector<char> &operands,
                                     char result) {
    if (operands.empty() || (name == "where" && operands[0] != 'b')) return nullptr;
    for (const host_operation &o : host_operations)
        if (name == o.name && in_register(operands.back()) == o.operands &&
            in_register(result) == o.result)
            return o.run;
    return nullptr;
}

bool reads_more(const std::string &name) {
    return name == "number" || name == "gather" || name == "iota" || name == "cast";
}

value read(const char *address, char kind) {
    value v;
    if (kind == 'f')
        std::memcpy(&v.real, address, sizeof v.real);
    else if (kind == 'i')
        std::memcpy(&v.whole, address, sizeof v.whole);
    else if (kind == 'w')
        v.whole = *reinterpret_cast<const int32_t *>(address);
    else if (kind == 'u')
        v.whole = *reinterpret_cast<const uint8_t *>(address);
    else
        v.whole = *address != 0;
    return v;
}

// From bool and integers, or to the same kind.
void convert_all(const value *x, char from, char to, int n, value *y) {
    for (int i = 0; i < n; ++i) {
        if (from == 'f')
            y[i] = x[i];
        else if (to == 'f')
            y[i].real = float(x[i].whole);
        else
            y[i].whole = to == 'b' ? x[i].whole != 0 : wrapped(x[i].whole, to);
    }
}

void write_to(char *address, value v, char kind) {
    if (kind == 'f')
        std::memcpy(address, &v.real, sizeof v.real);
    else if (kind == 'i')
        std::memcpy(address, &v.whole, sizeof v.whole);
    else if (kind == 'w')
        *reinterpret_cast<int32_t *>(address) = int32_t(v.whole);
    else
        *address = char(v.whole);
}

}  // namespace

bool HostExpression::has(const std::string &name, const std::vector<std::string> &operands,
                         const std::string &result) {
    std::vector<char> of_operands;
    for (const std::string &dtype : operands) of_operands.push_back(kind_of(dtype));
    const auto is_whole = [](char kind) { return in_register(kind) == 'i'; };
    if (name == "gather" && !std::all_of(of_operands.begin(), of_operands.end(), is_whole))
        return false;
    // Conversions of floats to integers depend on the processor where these overflow.
    if (name == "cast" && of_operands[0] == 'f') return kind_of(result) == 'f';
    return reads_more(name) ? kind_of(result) != 0
                            : function_for(name, of_operands, kind_of(result)) != nullptr;
}

HostExpression::HostExpression(form f) : what(std::move(f)) {
    for (int i = 0; i < what.n_inputs; ++i) kinds.push_back(kind_of(what.dtypes[i]));
    for (const term &t : what.terms) {
        std::vector<char> operands;
        for (int o : t.operands) operands.push_back(kinds.at(o));
        functions.push_back(function_for(t.name, operands, kind_of(t.dtype)));
        if (!functions.back() && !reads_more(t.name))
            throw invalid_arguments("Kernel.sequence: operation " + t.name + " of " + t.dtype +
                                    " is not one that the host interprets");
        kinds.push_back(kind_of(t.dtype));
    }
}

void HostExpression::compute_term(size_t index, void *const *arrays, const offsets &starts,
                                  int64_t first, int n, value *values) const {
    const term &t = what.terms[index];
    value *result = values + (what.n_inputs + index) * block;
    const value *operands[3];
    for (size_t i = 0; functions[index] && i < t.operands.size(); ++i)
        operands[i] = values + t.operands[i] * block;
    const char kind = kinds[what.n_inputs + index];
    if (functions[index]) {
        functions[index](result, operands, n);
        for (int i = 0; in_register(kind) == 'i' && i < n; ++i)
            result[i].whole = wrapped(result[i].whole, kind);
        return;
    }
    if (t.name == "cast")
        return convert_all(values + t.operands[0] * block, kinds[t.operands[0]], kind, n, result);
    if (t.name == "number") {
        std::fill(result, result + n, t.number);
        return;
    }
    const int64_t number = t.number.whole;
    const size_t n_sources = what.indexed.size();
    const size_t array =
        what.n_inputs + number + (t.name == "iota" ? n_sources + what.results.size() : 0);
    const int64_t step = what.strides[array].back();
    for (int i = 0; i < n; ++i) {
        int64_t offset = starts[array] + (first + i) * step;
        if (t.name == "iota") {
            if (kind == 'f')
                result[i].real = float(offset);
            else
                result[i].whole = offset;
            continue;
        }
        for (size_t axis = 0; axis < t.operands.size(); ++axis) {
            const auto [size, stride] = what.indexed[number][axis];
            const int64_t at = values[t.operands[axis] * block + i].whole;
            offset += std::clamp<int64_t>(at, 0, size - 1) * stride;
        }
        result[i] = read(static_cast<const char *>(arrays[array]) + offset * size_of(kind), kind);
    }
}

void HostExpression::run_row(void *const *arrays, const offsets &starts, value *values) const {
    const size_t n_read = what.n_inputs + what.indexed.size();
    for (int64_t first = 0; first < what.sizes.back(); first += block) {
        const int n = int(std::min<int64_t>(block, what.sizes.back() - first));
        const auto address = [&](size_t array, int i, char kind) {
            const int64_t offset = starts[array] + (first + i) * what.strides[array].back();
            return static_cast<char *>(arrays[array]) + offset * size_of(kind);
        };
        for (int a = 0; a < what.n_inputs; ++a)
            for (int i = 0; i < n; ++i)
                values[a * block + i] = read(address(a, i, kinds[a]), kinds[a]);
        for (size_t t = 0; t < what.terms.size(); ++t)
            compute_term(t, arrays, starts, first, n, values);
        for (size_t r = 0; r < what.results.size(); ++r) {
            const int number = what.results[r];
            for (int i = 0; i < n; ++i)
                write_to(address(n_read + r, i, kinds[number]), values[number * block + i],
                         kinds[number]);
        }
    }
}

void HostExpression::run(void *const *arrays) const {
    std::vector<value> values((what.n_inputs + what.terms.size()) * block);
    offsets starts(what.strides.size(), 0);
    std::vector<int64_t> position(what.sizes.size() - 1, 0);
    for (;;) {
        run_row(arrays, starts, values.data());
        size_t axis = position.size();
        for (; axis > 0; --axis) {
            const bool wraps = ++position[axis - 1] == what.sizes[axis - 1];
            const int64_t steps = wraps ? 1 - what.sizes[axis - 1] : 1;
            for (size_t a = 0; a < starts.size(); ++a)
                starts[a] += steps * what.strides[a][axis - 1];
            if (!wraps) break;
            position[axis - 1] = 0;
        }
        if (axis == 0) return;
    }
}

}  // namespace sycl_dnn
