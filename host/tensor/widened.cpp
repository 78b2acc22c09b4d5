#include "tensor/widened.hpp"

#include <algorithm>
#include <tenon/visit.hpp>

namespace tenon {

bool widens(DType from, DType to) {
  if (from == to) return true;
  const bool small = from == DType::boolean || from == DType::u8 || from == DType::i8;
  if (to == DType::f64) return small || from == DType::i32 || from == DType::f16 || from == DType::bf16 || from == DType::f32;
  if (to == DType::f32) return small || from == DType::f16 || from == DType::bf16;
  if (to == DType::i64) return small || from == DType::i32;
  return to == DType::i32 && small;
}

Tensor widened(const Tensor& tensor, DType to) {
  if (tensor.dtype() == to) return tensor;
  if (tensor.storage() == Storage::csr)
    return Tensor::csr(widened(tensor.stored_values(), to), tensor.columns(), tensor.row_starts(), tensor.shape());
  if (tensor.storage() == Storage::row_sparse)
    return Tensor::row_sparse(widened(tensor.stored_values(), to), tensor.row_ids(), tensor.shape());
  const auto here = tensor.to("cpu").make_contiguous();
  auto wide = Tensor::empty(to, tensor.shape());
  visit(tensor.dtype(), [&]<class From>() {
    const auto from = here.values<From>();
    visit(to, [&]<class To>() {
      std::transform(from.begin(), from.end(), wide.values<To>().begin(), [](From x) { return static_cast<To>(x); });
    });
  });
  return wide;
}

}  // namespace tenon
