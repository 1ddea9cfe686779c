// SPDX-License-Identifier: Apache-2.0
// oneDNN's matrix products without descriptors. They run on the host and are complete on return;
// sycl_dnn/onednn/blas.py validates the arrays and passes addresses.
#include "base/bind.hpp"
#include "base/errors.hpp"
#include "base/gil.hpp"

namespace sycl_dnn {

template <class T>
static T *at(size_t address) {
    return reinterpret_cast<T *>(address);
}

static void sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, size_t a,
                  int64_t lda, size_t b, int64_t ldb, float beta, size_t c, int64_t ldc) {
    ReleasedGil nogil;
    check(dnnl_sgemm(transa, transb, m, n, k, alpha, at<float>(a), lda, at<float>(b), ldb, beta,
                     at<float>(c), ldc),
          "sgemm: oneDNN refuses these sizes");
}

template <class A, auto product>
static void gemm_s32(char transa, char transb, char offsetc, int64_t m, int64_t n, int64_t k,
                     float alpha, size_t a, int64_t lda, A ao, size_t b, int64_t ldb, int8_t bo,
                     float beta, size_t c, int64_t ldc, size_t co) {
    ReleasedGil nogil;
    check(product(transa, transb, offsetc, m, n, k, alpha, at<A>(a), lda, ao, at<int8_t>(b), ldb,
                  bo, beta, at<int32_t>(c), ldc, at<int32_t>(co)),
          "gemm: oneDNN refuses these sizes");
}

void bind_blas(py::module_ &m) {
    m.def("_sgemm", &sgemm);
    m.def("_gemm_u8s8s32", &gemm_s32<uint8_t, &dnnl_gemm_u8s8s32>);
    m.def("_gemm_s8s8s32", &gemm_s32<int8_t, &dnnl_gemm_s8s8s32>);
}

}  // namespace sycl_dnn
