#include <algorithm>
#include <string>
#include <tenon/visit.hpp>
#include <type_traits>

#include "tensor/tensor_impl.hpp"

namespace tenon {

static void append_element(std::string& text, DType dtype, const std::byte* at) {
  if (low_bit.has(dtype)) {
    text += join(low_bit_format(dtype).decode(std::to_integer<std::uint8_t>(*at)));
    return;
  }
  visit<every_type>(dtype, [&]<class T>() {
    const T value = *reinterpret_cast<const T*>(at);
    if constexpr (is_half<T>) {
      text += join(static_cast<float>(value));
    } else if constexpr (is_complex<T>) {
      const auto im = join(value.im);
      text += join(value.re, im.starts_with('-') ? "" : "+", im, "j");  // like numpy
    } else if constexpr (sizeof(T) == 1 && !std::is_same_v<T, bool>) {
      text += join(static_cast<int>(value));  // a number, not a character
    } else {
      text += join(value);
    }
  });
}

// Prints the coordinates of stored values: for csr before each value, for row_sparse before each
// row.
class CoordinatePrinter {
 public:
  explicit CoordinatePrinter(const Tensor& tensor)
      : tensor_(tensor),
        row_size_(tensor.stored() == 0 ? 1 : tensor.stored_values().size() / tensor.stored()) {}

  void append(std::string& text, std::int64_t i) {
    if (tensor_.storage() == Storage::csr) {
      while (index(tensor_.row_starts(), row_ + 1) <= i) ++row_;
      text += join("(", row_, ", ", index(tensor_.columns(), i), ") ");
    } else if (i % row_size_ == 0) {
      text += join("(", index(tensor_.row_ids(), i / row_size_), ") ");
    }
  }

 private:
  static std::int64_t index(const Tensor& indices, std::int64_t i) {
    return indices.dtype() == i32 ? indices.data<std::int32_t>()[i]
                                  : indices.data<std::int64_t>()[i];
  }

  const Tensor& tensor_;
  std::int64_t row_size_, row_ = 0;
};

static std::string sparse_text(const Tensor& tensor, const std::string& where, std::int64_t limit) {
  std::string text = join(tensor.storage(), " ", tensor.dtype(), " ", tensor.shape(), ", ",
                          tensor.stored(), " stored", where);
  const Tensor values = tensor.stored_values();
  const std::int64_t shown = std::clamp<std::int64_t>(limit, 0, values.size());
  CoordinatePrinter coordinates(tensor);
  for (std::int64_t i = 0; i < shown; ++i) {
    text += i == 0 ? "  " : " ";
    coordinates.append(text, i);
    append_element(text, tensor.dtype(),
                   static_cast<const std::byte*>(values.data()) +
                       i * static_cast<std::int64_t>(size_of(tensor.dtype())));
  }
  if (shown < values.size()) text += shown == 0 ? "  ..." : " ...";
  return text;
}

std::string Tensor::to_string(std::int64_t limit) const {
  if (impl_ == nullptr) return "empty";
  const std::string where = device() == "cpu" ? "" : " on " + device();
  const Tensor here = to("cpu");
  return here.impl_->sparse() ? sparse_text(here, where, limit) : here.dense_text(where, limit);
}

std::string Tensor::dense_text(const std::string& where, std::int64_t limit) const {
  std::string text = join(dtype(), " ", shape(), where);
  const std::int64_t shown = std::clamp<std::int64_t>(limit, 0, impl_->size);
  for (std::int64_t i = 0; i < shown; ++i) {
    std::int64_t offset = 0, rest = i;
    for (int axis = impl_->abi.dense.ndim; axis-- > 0; rest /= impl_->dims[axis])
      offset += rest % impl_->dims[axis] * impl_->strides[axis];
    text += i == 0 ? "  " : " ";
    append_element(text, dtype(),
                   impl_->data() + offset * static_cast<std::int64_t>(size_of(dtype())));
  }
  if (shown < impl_->size) text += shown == 0 ? "  ..." : " ...";
  return text;
}

}  // namespace tenon
