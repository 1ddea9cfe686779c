// SPDX-License-Identifier: Apache-2.0
// Properties of memory descriptors that oneDNN does not provide.
#include "memory/memory_desc.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <numeric>

namespace sycl_dnn {

using kind = memory::format_kind;

const char *name_of(memory::data_type type) { return dnnl_dt2str(memory::convert_to_c(type)); }

int bits_of(memory::data_type type) {
    using t = memory::data_type;
    if (type == t::s4 || type == t::u4 || type == t::f4_e2m1 || type == t::f4_e3m0) return 4;
    return static_cast<int>(dnnl_data_type_size(memory::convert_to_c(type))) * 8;
}

static bool has_unknown(const dims &values) {
    return std::count(values.begin(), values.end(), DNNL_RUNTIME_DIM_VAL) > 0;
}

bool has_runtime_dims(const desc &d) { return has_unknown(d.get_dims()); }

int64_t element_count(const dims &shape) {
    if (has_unknown(shape)) return -1;
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}
int64_t element_count(const desc &d) { return element_count(d.get_dims()); }

static constexpr int64_t most_elements = int64_t{1} << 56;

bool is_countable(const dims &shape) {
    __int128 product = 1;
    for (const auto n : shape)
        if (n != DNNL_RUNTIME_DIM_VAL && n != 0 && product < most_elements) product *= n;
    return product < most_elements;
}

bool is_within_reach(const dims &shape, const dims &strides) {
    __int128 sum = 0;
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] != DNNL_RUNTIME_DIM_VAL && strides[i] != DNNL_RUNTIME_DIM_VAL)
            sum += static_cast<__int128>(shape[i]) * strides[i];
    return sum < most_elements;
}

bool is_plain(const desc &d) {
    return d.get_format_kind() == kind::blocked && d.get_inner_nblks() == 0 &&
           d.get_dims() == d.get_padded_dims();
}

bool same_offsets(const desc &a, const desc &b) {
    if (a.get_format_kind() != b.get_format_kind() || a.get_dims() != b.get_dims()) return false;
    if (a.get_format_kind() != kind::blocked) return true;
    if (a.get_padded_dims() != b.get_padded_dims() || a.get_inner_blks() != b.get_inner_blks() ||
        a.get_inner_idxs() != b.get_inner_idxs())
        return false;
    const dims padded = a.get_padded_dims(), left = a.get_strides(), right = b.get_strides();
    for (size_t i = 0; i < padded.size(); ++i)
        if (padded[i] != 1 && left[i] != right[i]) return false;
    return true;
}

// The smallest distance between two elements; 1 if there is only one.
static int64_t least_step(const dims &shape, const dims &strides) {
    int64_t least = 0;
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] > 1 && strides[i] > 0 && (!least || strides[i] < least)) least = strides[i];
    return std::max<int64_t>(least, 1);
}

// The stride of the last axis of size greater than 1; 1 if there is none.
static int64_t last_step(const dims &shape, const dims &strides) {
    for (size_t i = shape.size(); i-- > 0;)
        if (shape[i] > 1) return std::max<int64_t>(strides[i], 1);
    return 1;
}

// Axes of length 1 are nested outside the following axes, and the last one inside the previous
// axis. If all others have gaps between their elements, it is a slice of the innermost axis.
dims canonical_strides(const dims &shape, const dims &strides) {
    if (has_unknown(shape) || has_unknown(strides)) return strides;
    const bool is_empty = element_count(shape) == 0;
    int64_t step = is_empty ? 1 : last_step(shape, strides);
    bool is_cut = !is_empty && least_step(shape, strides) > 1;
    dims result = strides;
    for (size_t i = shape.size(); i-- > 0;) {
        if (is_empty || (shape[i] == 1 && !is_cut))
            result[i] = step;
        else if (shape[i] == 1)
            result[i] = 1, is_cut = false;
        step = std::max(step, result[i] * std::max<int64_t>(shape[i], 1));
    }
    return result;
}

static bool is_dense_in(const desc &d, const std::vector<size_t> &innermost_first) {
    if (!is_plain(d) || d.get_submemory_offset()) return false;
    const dims shape = d.get_dims(), strides = d.get_strides();
    int64_t step = 1;
    for (const size_t axis : innermost_first) {
        if (shape[axis] != 1 && strides[axis] != step) return false;
        step *= shape[axis];
    }
    return true;
}

bool is_row_major(const desc &d) {
    std::vector<size_t> order;
    for (size_t axis = d.get_dims().size(); axis-- > 0;) order.push_back(axis);
    return is_dense_in(d, order);
}

bool is_channels_last(const desc &d) {
    const size_t n_axes = d.get_dims().size();
    if (n_axes < 3) return is_row_major(d);
    std::vector<size_t> order{1};
    for (size_t axis = n_axes; axis-- > 2;) order.push_back(axis);
    order.push_back(0);
    return is_dense_in(d, order);
}

size_t extent(const desc &d) {
    if (!is_plain(d) || has_runtime_dims(d)) return d.get_size();
    if (element_count(d) == 0) return 0;
    const dims shape = d.get_dims(), strides = d.get_strides();
    int64_t last = d.get_submemory_offset();
    for (size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
    return static_cast<size_t>((last + 1) * bits_of(d.get_data_type()) + 7) / 8;
}

std::string text_of(const dims &values) {
    std::string text = "(";
    for (size_t i = 0; i < values.size(); ++i) {
        if (i) text += ", ";
        text += values[i] == DNNL_RUNTIME_DIM_VAL ? "?" : std::to_string(values[i]);
    }
    return text + (values.size() == 1 ? ",)" : ")");
}

// The dimensions from outermost to innermost, by stride.
static std::vector<int> nesting(const dims &outer, const dims &strides) {
    std::vector<int> order(outer.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return strides[a] != strides[b] ? strides[a] > strides[b] : outer[a] > outer[b];
    });
    return order;
}

std::string dense_tag(const desc &d) {
    dims outer = d.get_padded_dims();
    const dims blocks = d.get_inner_blks(), index = d.get_inner_idxs(), strides = d.get_strides();
    int64_t expected = 1;
    for (size_t i = 0; i < blocks.size(); ++i) {
        outer[index[i]] /= blocks[i];
        expected *= blocks[i];
    }
    const std::vector<int> order = nesting(outer, strides);
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
        if (outer[*i] != 1 && strides[*i] != expected) return "";
        expected *= outer[*i];
    }
    std::string tag;
    for (int i : order)
        tag += static_cast<char>((std::count(index.begin(), index.end(), i) ? 'A' : 'a') + i);
    for (size_t i = 0; i < blocks.size(); ++i)
        tag += std::to_string(blocks[i]) + static_cast<char>('a' + index[i]);
    return tag;
}

// A view has the strides of the whole tensor; for a dimension of size 1 nothing else shows that.
static bool strides_fit(const desc &d) {
    int64_t elements = 1;
    for (const auto n : d.get_padded_dims()) elements *= n;
    const dims strides = d.get_strides();
    return std::all_of(strides.begin(), strides.end(), [=](auto s) { return s <= elements; });
}

bool is_dense(const desc &d) {
    if (d.get_format_kind() != kind::blocked || element_count(d) == 0) return true;
    const int bits = bits_of(d.get_data_type());
    if (bits * d.get_submemory_offset() % 8 || bits * element_count(d) % 8) return false;
    return !dense_tag(d).empty() && (is_plain(d) || strides_fit(d));
}

static std::string blocked_layout(const desc &d) {
    if (has_runtime_dims(d)) return "strides=" + text_of(d.get_strides());
    std::string text = element_count(d) ? dense_tag(d) : "empty";
    if (text.empty()) text = "strides=" + text_of(d.get_strides());
    if (d.get_submemory_offset()) text += " offset=" + std::to_string(d.get_submemory_offset());
    return text;
}

std::string layout_of(const desc &d) {
    switch (d.get_format_kind()) {
        case kind::any:
            return "any";
        case kind::blocked:
            return blocked_layout(d);
        case kind::host_scalar:
            return "host_scalar";
        case kind::sparse:
            return std::string(dnnl_sparse_encoding2str(
                       static_cast<dnnl_sparse_encoding_t>(d.get_sparse_encoding()))) +
                   " nnz=" + std::to_string(d.get_nnz());
        default:
            return "opaque " + std::to_string(d.get_size()) + " bytes";
    }
}

std::string describe(const desc &d) {
    if (d.get_format_kind() == kind::host_scalar)
        return std::string(name_of(d.get_data_type())) + " host_scalar";
    if (d.is_zero()) return "absent";
    return std::string(name_of(d.get_data_type())) + " " + text_of(d.get_dims()) + " " +
           layout_of(d);
}

}  // namespace sycl_dnn
