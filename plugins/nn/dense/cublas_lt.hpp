// A wrapper of cuBLASLt for plugins: owns descriptors, and turns failures into tenon::Error.
#pragma once
#include <cublasLt.h>

#include <memory>
#include <tenon/gpu/library_handle.hpp>
#include <type_traits>

namespace cublas_lt {

[[gnu::cold]] inline void refuse(cublasStatus_t status) {
  throw tenon::Error("cuBLASLt failed: ", cublasLtGetStatusName(status), ", ",
                     cublasLtGetStatusString(status));
}
inline void require(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) refuse(status);
}

inline cublasLtHandle_t handle() {
  return tenon::gpu::library_handle<cublasLtHandle_t>(
      [](cublasLtHandle_t* made) { require(cublasLtCreate(made)); });
}

template <auto destroy>
struct Destroy {
  template <class Handle>
  void operator()(Handle* handle) const {
    destroy(handle);
  }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;

using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// Column-major, as cuBLAS requires.
inline Layout layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                     std::int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  require(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), step));
  return Layout(made);
}

inline Operation operation(cublasComputeType_t compute, cudaDataType_t scale) {
  cublasLtMatmulDesc_t made = nullptr;
  require(cublasLtMatmulDescCreate(&made, compute, scale));
  return Operation(made);
}

inline Preference preference() {
  cublasLtMatmulPreference_t made = nullptr;
  require(cublasLtMatmulPreferenceCreate(&made));
  return Preference(made);
}

template <class T>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  require(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value));
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  require(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
}

}  // namespace cublas_lt
