#include <algorithm>
#include <string>
#include <tenon/visit.hpp>
#include <type_traits>

#include "device/tensor_impl.hpp"

namespace tenon {

static void append_element(std::string& text, DType dtype, const std::byte* at) {
  visit(dtype, [&]<class T>() {
    const T value = *reinterpret_cast<const T*>(at);
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
      text += join(static_cast<float>(value));
    } else if constexpr (sizeof(T) == 1 && !std::is_same_v<T, bool>) {
      text += join(static_cast<int>(value));  // a number, not a character
    } else {
      text += join(value);
    }
  });
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
