// SPDX-License-Identifier: Apache-2.0
#include "memory/make_memory_desc.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <cstring>

#include "base/errors.hpp"
#include "memory/memory_desc.hpp"

namespace sycl_dnn {

using dt = memory::data_type;

static void require(bool ok, const std::string &message, const char *context = "MemoryDesc") {
    if (!ok) throw invalid_arguments(context + (": " + message));
}

// If oneDNN refuses for another reason, the error includes the values.
template <class Create, class Values>
static desc or_explain(const Create &create, const Values &values) {
    try {
        return create();
    } catch (const dnnl::error &e) {
        raise_status(e.status, std::string("MemoryDesc: ") + e.message + ", got " + values());
    }
}

static std::string shape_and_type(const dims &shape, dt type) {
    return "dims " + text_of(shape) + ", data_type " + name_of(type);
}

static void check_size(const dims &shape, const char *name = "dims") {
    require(is_countable(shape),
            std::string(name) + " must stand for fewer than 2**56 elements, got " + text_of(shape));
}

static void check_shape(const dims &shape, dt type) {
    require(shape.size() <= DNNL_MAX_NDIMS,
            "dims must have at most 12 entries, got " + std::to_string(shape.size()));
    for (auto d : shape)
        require(d >= 0 || d == DNNL_RUNTIME_DIM_VAL,
                "dims must not be negative, got " + std::to_string(d));
    require(!shape.empty(), "dims must have at least one entry, got ()");
    require(type != dt::undef, "data_type must not be undef");
    check_size(shape);
}

// --- plain and blocked ones ---

// `layout()` returns "strides (1, 3)" or similar, for the message.
template <class Text, class... Layout>
static desc make(const dims &shape, dt type, const Text &layout, const Layout &...layout_args) {
    return or_explain([&] { return desc(shape, type, layout_args...); },
                      [&] {
                          const std::string values = shape_and_type(shape, type) + layout();
                          // Two such elements share a byte; a row must not begin in the middle of a
                          // byte.
                          require(bits_of(type) != 4 || type == dt::f4_e3m0,
                                  "strides must be 1 or even for 4-bit types, got " + values);
                          return values;
                      });
}

// Offset of the strides in a descriptor's bytes: oneDNN has no function to change them.
static size_t place_of_strides() {
    const dims marked{7654321, 1234567};
    const std::vector<uint8_t> bytes = desc({2, 2}, dt::f32, marked).get_blob();
    const auto *first = reinterpret_cast<const uint8_t *>(marked.data());
    const auto position =
        std::search(bytes.begin(), bytes.end(), first, first + 2 * sizeof(int64_t));
    require(position != bytes.end(), "oneDNN's descriptors must hold strides as numbers");
    return position - bytes.begin();
}

desc canonical(const desc &d) {
    if (!is_plain(d) || has_runtime_dims(d)) return d;
    const dims shape = d.get_dims(), current_strides = d.get_strides();
    if (element_count(shape) == 0) return desc(shape, d.get_data_type(), dims{});
    const dims strides = canonical_strides(shape, current_strides);
    if (strides == current_strides) return d;
    static const size_t offset = place_of_strides();
    std::vector<uint8_t> bytes = desc(d).get_blob();
    std::memcpy(&bytes[offset], strides.data(), strides.size() * sizeof(int64_t));
    return desc(bytes);
}

desc make_row_major(const dims &shape, dt type) {
    check_shape(shape, type);
    return make(shape, type, [] { return ""; }, dims{});
}

// "aBcd16b" has four dimensions, named by its letters.
static int rank_of(const std::string &tag) {
    int rank = 0;
    for (const char c : tag)
        if (std::isalpha(c)) rank = std::max(rank, std::tolower(c) - 'a' + 1);
    return rank;
}

desc make_with_tag(const dims &shape, dt type, const format_tag &tag) {
    using t = memory::format_tag;
    check_shape(shape, type);
    require(tag.value != t::undef, "format_tag must not be undef");
    const std::string name = dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag.value));
    const int n_axes = static_cast<int>(shape.size()), rank = rank_of(name);
    if (tag.value != t::any && rank != n_axes)
        require(false, "format_tag must be for the " + std::to_string(n_axes) + " dimensions of " +
                           text_of(shape) + ", got " + name + " for " + std::to_string(rank));
    return canonical(make(shape, type, [&] { return ", format_tag " + name; }, tag.value));
}

desc make_with_strides(const dims &shape, dt type, const dims &strides) {
    check_shape(shape, type);
    require(strides.size() == shape.size(), "strides must have one entry per dimension (" +
                                                std::to_string(shape.size()) + "), got " +
                                                std::to_string(strides.size()));
    if (element_count(shape) == 0) return make_row_major(shape, type);
    const dims steps = canonical_strides(shape, strides);
    for (auto s : steps)
        require(s >= 0 || s == DNNL_RUNTIME_DIM_VAL,
                "strides must not be negative (copy the array first), got " + std::to_string(s));
    require(is_within_reach(shape, steps), "strides must reach fewer than 2**56 elements, got " +
                                               text_of(strides) + " for dims " + text_of(shape));
    return make(shape, type, [&] { return ", strides " + text_of(strides); }, steps);
}

// --- sparse ones ---

template <class Create>
static desc make_sparse(const dims &shape, dt type, int64_t nnz, const Create &create) {
    check_shape(shape, type);
    require(nnz >= 0, "nnz must not be negative, got " + std::to_string(nnz));
    check_size({nnz}, "nnz");
    return or_explain(create, [&] { return shape_and_type(shape, type); });
}

// An element without a type has size -1, which makes the total size a huge unsigned number.
static void check_index(dt type, const char *name) {
    require(type != dt::undef, std::string(name) + " must not be undef");
}

desc make_csr(const dims &shape, dt type, int64_t nnz, dt index, dt pointer) {
    check_index(index, "index_dt");
    check_index(pointer, "pointer_dt");
    return make_sparse(shape, type, nnz,
                       [&] { return desc::csr(shape, type, nnz, index, pointer); });
}

desc make_coo(const dims &shape, dt type, int64_t nnz, dt index) {
    check_index(index, "index_dt");
    return make_sparse(shape, type, nnz, [&] { return desc::coo(shape, type, nnz, index); });
}

desc make_packed(const dims &shape, dt type, int64_t nnz) {
    return make_sparse(shape, type, nnz, [&] { return desc::packed(shape, type, nnz); });
}

// --- from another one ---

desc submemory_of(const desc &whole, const dims &shape, const dims &offsets) {
    const dims limits = whole.get_dims();
    const char *context = "MemoryDesc.submemory_desc";
    const auto one_each = [&](const std::string &name, const dims &values) {
        const std::string rule = " must have one entry per dimension (";
        require(values.size() == limits.size(),
                name + rule + std::to_string(limits.size()) + "), got " + text_of(values), context);
    };
    one_each("dims", shape);
    one_each("offsets", offsets);
    for (size_t i = 0; i < limits.size(); ++i)
        require(limits[i] == DNNL_RUNTIME_DIM_VAL ||
                    (shape[i] >= 0 && offsets[i] >= 0 && shape[i] <= limits[i] - offsets[i]),
                "dims must lie within " + text_of(limits) + " at offsets " + text_of(offsets) +
                    ", got " + text_of(shape),
                context);
    return or_explain([&] { return canonical(whole.submemory_desc(shape, offsets)); },
                      [&] {
                          return "dims " + text_of(shape) + " at offsets " + text_of(offsets) +
                                 " of " + describe(whole);
                      });
}

desc reshaped(const desc &d, const dims &shape) {
    check_shape(shape, d.get_data_type());
    const int64_t expected = element_count(d), count = element_count(shape);
    require(expected < 0 || count < 0 || expected == count,
            "dims must hold " + std::to_string(expected) + " elements, as " +
                text_of(d.get_dims()) + " does, got " + text_of(shape) + " (" +
                std::to_string(count) + ")",
            "MemoryDesc.reshape");
    return or_explain([&] { return canonical(d.reshape(shape)); },
                      [&] { return "dims " + text_of(shape) + " for " + describe(d); });
}

desc permuted(const desc &d, const std::vector<int> &permutation) {
    const size_t ndims = d.get_ndims();
    std::vector<int> sorted = permutation;
    std::sort(sorted.begin(), sorted.end());
    bool ok = sorted.size() == ndims;
    for (size_t i = 0; ok && i < ndims; ++i) ok = sorted[i] == static_cast<int>(i);
    const std::string text = text_of(dims(permutation.begin(), permutation.end()));
    require(ok,
            "permutation must hold each axis below " + std::to_string(ndims) + " once, got " + text,
            "MemoryDesc.permute_axes");
    return or_explain([&] { return canonical(d.permute_axes(permutation)); },
                      [&] { return "permutation " + text + " of " + describe(d); });
}

}  // namespace sycl_dnn
