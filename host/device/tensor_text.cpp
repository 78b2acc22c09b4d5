#include <algorithm>
#include <string>

#include "device/tensor_impl.hpp"

namespace tenon {

template <class T>
static void append_element(std::string& text, const std::byte* at) {
  append_part(text, *reinterpret_cast<const T*>(at));
}

static void append_element(std::string& text, DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::boolean:
      return append_part(text, *at != std::byte{0});
    case DType::u8:
      return append_part(text, static_cast<int>(*reinterpret_cast<const std::uint8_t*>(at)));
    case DType::i8:
      return append_part(text, static_cast<int>(*reinterpret_cast<const std::int8_t*>(at)));
    case DType::i32:
      return append_element<std::int32_t>(text, at);
    case DType::i64:
      return append_element<std::int64_t>(text, at);
    case DType::f16:
      return append_part(text, static_cast<float>(*reinterpret_cast<const half*>(at)));
    case DType::bf16:
      return append_part(text, static_cast<float>(*reinterpret_cast<const bfloat16*>(at)));
    case DType::f32:
      return append_element<float>(text, at);
    case DType::f64:
      return append_element<double>(text, at);
  }
}

std::string Tensor::to_string(std::int64_t limit) const {
  if (impl_ == nullptr) return "empty";
  std::string text = join(dtype(), " ", shape());
  const std::int64_t shown = std::clamp<std::int64_t>(limit, 0, impl_->size);
  for (std::int64_t i = 0; i < shown; ++i) {
    std::int64_t offset = 0, rest = i;
    for (int axis = impl_->abi.dense.ndim; axis-- > 0; rest /= impl_->dims[axis]) offset += rest % impl_->dims[axis] * impl_->strides[axis];
    text += i == 0 ? "  " : " ";
    append_element(text, dtype(), impl_->data() + offset * static_cast<std::int64_t>(size_of(dtype())));
  }
  if (shown < impl_->size) text += shown == 0 ? "  ..." : " ...";
  return text;
}

}  // namespace tenon
