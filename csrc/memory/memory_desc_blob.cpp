// SPDX-License-Identifier: Apache-2.0
// Serialization of memory descriptors. oneDNN accepts any bytes as a descriptor, and bytes may be
// untrusted, so their contents are validated first.
#include "memory/memory_desc_blob.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/errors.hpp"
#include "memory/make_memory_desc.hpp"
#include "memory/memory_desc.hpp"

namespace sycl_dnn {

using kind = memory::format_kind;
using dt = memory::data_type;

// A magic string, the version and a checksum, to detect damage but not malice.
static constexpr char blob_mark[] = "sycl_dnn.md1";

static uint64_t checksum(const uint8_t *data, size_t size) {
    uint64_t hash = 1469598103934665603ull;  // FNV-1a
    for (size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 1099511628211ull;
    return hash;
}

static std::string blob_header(const std::vector<uint8_t> &payload) {
    const auto *v = dnnl::version();
    return std::string(blob_mark) + ":" + std::to_string(v->major) + "." +
           std::to_string(v->minor) + "." + std::to_string(v->patch) + ":" +
           std::to_string(payload.size()) + ":" +
           std::to_string(checksum(payload.data(), payload.size())) + "\n";
}

// oneDNN leaves fields that a layout does not use uninitialized. They are zeroed, so that blobs of
// equal descriptors are equal and no process memory is leaked.
static std::vector<uint8_t> without_unused(desc d) {
    std::vector<uint8_t> payload = d.get_blob();
    for (size_t offset = 0; offset + 4 <= payload.size(); offset += 4) {
        uint32_t before;
        std::memcpy(&before, &payload[offset], sizeof before);
        if (!before) continue;
        std::fill_n(&payload[offset], sizeof before, 0);
        if (desc(payload) != d) std::memcpy(&payload[offset], &before, sizeof before);
    }
    return payload;
}

py::bytes to_blob(desc d) {
    const std::vector<uint8_t> payload = without_unused(std::move(d));
    std::string text = blob_header(payload);
    text.append(payload.begin(), payload.end());
    return py::bytes(text);
}

static void require_valid(bool ok, const std::string &text) {
    if (!ok) throw invalid_arguments("MemoryDesc.from_blob: blob " + text);
}

static std::vector<uint8_t> payload_of(const std::string &text) {
    const size_t end = text.find('\n');
    require_valid(
        end != std::string::npos && text.compare(0, sizeof(blob_mark) - 1, blob_mark) == 0,
        "must come from MemoryDesc.blob");
    const std::vector<uint8_t> payload(text.begin() + end + 1, text.end());
    // oneDNN copies the size of its own descriptors.
    static const size_t size = desc().get_blob().size();
    require_valid(blob_header(payload) == text.substr(0, end + 1) && payload.size() == size,
                  "is damaged or was written by another oneDNN version: " + text.substr(0, end));
    return payload;
}

// Enumerators as integers too, since their validity is to be checked.
static int number(const desc &d, dnnl_query_t query, int index = 0) {
    int value{};
    require_valid(dnnl_memory_desc_query_v2(d.get(), query, index, &value) == dnnl_success,
                  "must be a descriptor");
    return value;
}

static void check_type(const desc &d, int index) {
    const int type = number(d, dnnl_query_data_type, index);
    require_valid(type > dnnl_data_type_undef && type <= dnnl_data_type_max &&
                      std::string_view(name_of(static_cast<dt>(type))) != "unknown dt",
                  "has a data type that does not exist");
}

static void check_sparse(const desc &d) {
    const int encoding = number(d, dnnl_query_sparse_encoding);
    require_valid(encoding >= 0 && encoding <= dnnl_coo, "has an unknown sparse encoding");
    for (int i = 1; i <= (encoding == dnnl_csr ? 2 : encoding == dnnl_coo ? 1 : 0); ++i)
        check_type(d, i);
}

// Refuses sizes whose product exceeds 64 bits.
static void check_sizes(const dims &sizes) {
    for (const auto n : sizes)
        require_valid(n >= 0 || n == DNNL_RUNTIME_DIM_VAL, "has a size of " + std::to_string(n));
    require_valid(is_countable(sizes), "has sizes " + text_of(sizes));
}

// Counts first: oneDNN's getters copy that many entries from arrays of twelve.
static void check_numbers(const desc &d) {
    const int ndims = number(d, dnnl_query_ndims_s32);
    const int format = number(d, dnnl_query_format_kind);
    require_valid(ndims >= 0 && ndims <= DNNL_MAX_NDIMS,
                  "has " + std::to_string(ndims) + " dimensions");
    require_valid(format >= dnnl_format_kind_undef && format <= dnnl_format_kind_host_scalar,
                  "has format kind " + std::to_string(format));
    if (format != dnnl_format_kind_undef) check_type(d, 0);
    if (format == dnnl_format_kind_sparse) check_sparse(d);
    if (format != dnnl_blocked) return;
    const int blocks = number(d, dnnl_query_inner_nblks_s32);
    require_valid(blocks >= 0 && blocks <= DNNL_MAX_NDIMS,
                  "has " + std::to_string(blocks) + " blocks");
    check_sizes(d.get_dims());
    check_sizes(d.get_padded_dims());
    check_sizes(d.get_inner_blks());
    for (const auto index : d.get_inner_idxs())
        require_valid(index >= 0 && index < ndims,
                      "has a block of dimension " + std::to_string(index));
    for (const auto block : d.get_inner_blks())
        require_valid(block > 0, "has a block of " + std::to_string(block));
}

// A descriptor with the same strides in a larger tensor, so that its first element is at `offset`.
static desc with_offset(const desc &d, int64_t offset) {
    const dims strides = d.get_strides();
    dims shape = d.get_dims(), offsets(shape.size(), 0);
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return strides[a] > strides[b]; });
    for (const size_t i : order) {
        if (strides[i] < 1) continue;
        offsets[i] = offset / strides[i];
        offset %= strides[i];
    }
    dims whole = shape;
    for (size_t i = 0; i < shape.size(); ++i) whole[i] += offsets[i];
    return submemory_of(make_with_strides(whole, d.get_data_type(), strides), shape, offsets);
}

static desc rebuild_blocked(const desc &d) {
    const int64_t offset = d.get_submemory_offset();
    require_valid(offset >= 0, "has a negative offset");
    if (d.get_inner_nblks() == 0) {
        if (offset && !has_runtime_dims(d)) return with_offset(d, offset);
        return make_with_strides(d.get_dims(), d.get_data_type(), d.get_strides());
    }
    const std::string tag = has_runtime_dims(d) ? "" : dense_tag(d);
    const auto value = format_tag_of(tag);
    require_valid(value.has_value(), "has a blocked layout without a name: " + describe(d));
    return make_with_tag(d.get_dims(), d.get_data_type(),
                         {static_cast<memory::format_tag>(*value)});
}

static desc rebuild_sparse(const desc &d) {
    using encoding = memory::sparse_encoding;
    const auto nnz = d.get_nnz();
    switch (d.get_sparse_encoding()) {
        case encoding::csr:
            return make_csr(d.get_dims(), d.get_data_type(), nnz, d.get_data_type(1),
                            d.get_data_type(2));
        case encoding::coo:
            return make_coo(d.get_dims(), d.get_data_type(), nnz, d.get_data_type(1));
        case encoding::packed:
            return make_packed(d.get_dims(), d.get_data_type(), nnz);
        default:
            throw invalid_arguments("MemoryDesc.from_blob: blob has an unknown sparse encoding");
    }
}

// The same descriptor, rebuilt by functions that validate their arguments.
static desc rebuild(const desc &d) {
    switch (d.get_format_kind()) {
        case kind::undef:
            return desc();
        case kind::any:
            return make_with_tag(d.get_dims(), d.get_data_type(), {memory::format_tag::any});
        case kind::host_scalar:
            return desc::host_scalar(d.get_data_type());
        case kind::blocked:
            return rebuild_blocked(d);
        case kind::sparse:
            return rebuild_sparse(d);
        default:
            throw invalid_arguments(
                "MemoryDesc.from_blob: blob must describe a layout that has a name, got one that "
                "only its primitive knows");
    }
}

desc from_blob(const py::bytes &bytes) {
    const desc parsed(payload_of(bytes));
    check_numbers(parsed);
    desc rebuilt;
    try {
        rebuilt = rebuild(parsed);
    } catch (const py::error_already_set &refused) {
        require_valid(
            false, "must describe what oneDNN accepts: " + std::string(py::str(refused.value())));
    }
    require_valid(rebuilt == parsed, "contradicts itself");
    return rebuilt;
}

desc from_own_blob(const py::bytes &bytes) {
    const desc parsed(payload_of(bytes));
    check_numbers(parsed);
    return canonical(parsed);
}

}  // namespace sycl_dnn
