// Attributes in messages, and attributes that own their data.
#pragma once
#include <tenon/abi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tuple>
#include <vector>

#include "isolate/message.hpp"
#include "tensor/dtype_traits.hpp"

namespace tenon::isolate {

inline std::size_t element_bytes(std::uint32_t kind) {
  return kind == TENON_ATTR_TEXT || kind == TENON_ATTR_TEXTS    ? 1
         : kind == TENON_ATTR_INTS || kind == TENON_ATTR_FLOATS ? 8
                                                                : 0;
}

/// Returns the size of a dense tensor in bytes; empty if the dtype, rank or dimensions are invalid.
inline std::optional<std::size_t> tensor_bytes(std::uint32_t dtype,
                                               std::span<const std::int64_t> dims) {
  if (dtype >= TENON_DTYPE_COUNT || dims.size() > TENON_MAX_RANK) return {};
  std::uint64_t bytes = size_of(static_cast<DType>(dtype));
  if (std::any_of(dims.begin(), dims.end(), [](auto dim) { return dim < 0; })) return {};
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  for (const auto dim : dims)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim), &bytes)) return {};
  return bytes;
}

/// `values` are the elements of a text, a list or a tensor; `dtype` and `dims` those of a tensor.
struct AttributeMessage {
  std::string_view name;
  std::uint32_t kind;
  std::int64_t i;
  double f;
  std::span<const std::byte> values;
  std::uint32_t dtype;
  std::span<const std::int64_t> dims;

  static auto fields(auto& m) {
    return std::tie(m.name, m.kind, m.i, m.f, m.values, m.dtype, m.dims);
  }
};

/// A tensor that is not dense or not on the CPU is sent without elements, and the receiver rejects
/// it.
inline void set_tensor(AttributeMessage& message, const tenon_tensor* tensor) {
  message.dtype = TENON_DTYPE_COUNT;
  if (tensor == nullptr || tensor->storage != TENON_DENSE || tensor->dense.strides != nullptr ||
      tensor->dense.device_type != TENON_CPU || tensor->dense.ndim < 0)
    return;
  const std::span dims(tensor->dense.shape, static_cast<std::size_t>(tensor->dense.ndim));
  const auto bytes = tensor_bytes(tensor->dtype, dims);
  if (!bytes) return;
  message.dtype = tensor->dtype, message.dims = dims;
  message.values = {static_cast<const std::byte*>(tensor->dense.data) + tensor->dense.byte_offset,
                    *bytes};
}

/// The messages refer to the attributes.
inline std::vector<AttributeMessage> messages_of(std::span<const tenon_attribute> attributes) {
  std::vector<AttributeMessage> messages;
  for (const auto& attribute : attributes) {
    auto& message = messages.emplace_back(
        AttributeMessage{attribute.name, attribute.kind, attribute.i, attribute.f, {}, 0, {}});
    if (attribute.kind == TENON_ATTR_TENSOR)
      set_tensor(message, attribute.tensor);
    else if (const auto size = element_bytes(attribute.kind); size > 0 && attribute.text != nullptr)
      message.values = {reinterpret_cast<const std::byte*>(attribute.text),
                        static_cast<std::size_t>(attribute.count) * size};
  }
  return messages;
}

/// Attributes that own their names and values.
class OwnedAttributes {
 public:
  OwnedAttributes() = default;
  /// Throws ProtocolError.
  explicit OwnedAttributes(std::span<const AttributeMessage> messages) {
    for (const auto& message : messages) add(message);
  }
  OwnedAttributes(const OwnedAttributes&) = delete;
  OwnedAttributes& operator=(const OwnedAttributes&) = delete;

  std::span<const tenon_attribute> all() const { return all_; }

 private:
  void add(const AttributeMessage& message) {
    const auto size = element_bytes(message.kind);
    const bool is_tensor = message.kind == TENON_ATTR_TENSOR;
    if (message.name.find('\0') != std::string_view::npos)
      throw ProtocolError("an attribute's name contains a NUL");
    if (size == 0 && !is_tensor &&
        (!message.values.empty() || message.kind < TENON_ATTR_BOOL ||
         message.kind > TENON_ATTR_FLOAT))
      throw ProtocolError("an attribute has an invalid kind");
    if (size > 0 && message.values.size() % size != 0)
      throw ProtocolError("an attribute's last element is truncated");
    // includes a zero byte after a text
    auto& values = values_.emplace_back(message.values.size() / 8 + 1);
    if (!message.values.empty())
      std::memcpy(values.data(), message.values.data(), message.values.size());
    tenon_attribute attribute{};
    attribute.name = names_.emplace_back(message.name).c_str();
    attribute.kind = message.kind;
    attribute.i = message.i;
    attribute.f = message.f;
    if (is_tensor) {
      attribute.tensor = add_tensor(message, values.data());
    } else if (size > 0) {
      attribute.count = message.values.size() / size;
      attribute.ints = values.data();
    }
    all_.push_back(attribute);
  }

  const tenon_tensor* add_tensor(const AttributeMessage& message, void* elements) {
    if (tensor_bytes(message.dtype, message.dims) != message.values.size())
      throw ProtocolError("a tensor attribute's shape does not match its elements");
    auto& [tensor, dims] = tensors_.emplace_back();
    std::copy(message.dims.begin(), message.dims.end(), dims);
    const auto type = dlpack_type(static_cast<DType>(message.dtype));
    tensor.size = sizeof tensor;
    tensor.dtype = static_cast<std::uint8_t>(message.dtype);
    tensor.index_dtype = TENON_I64;
    tensor.dense = {.data = elements,
                    .device_type = TENON_CPU,
                    .device_id = 0,
                    .ndim = static_cast<std::int32_t>(message.dims.size()),
                    .type_code = type.code,
                    .type_bits = type.bits,
                    .type_lanes = 1,
                    .shape = dims,
                    .strides = nullptr,
                    .byte_offset = 0};
    return &tensor;
  }

  struct OwnedTensor {
    tenon_tensor tensor;
    std::int64_t dims[TENON_MAX_RANK];
  };
  std::deque<OwnedTensor> tensors_;
  std::deque<std::string> names_;
  std::deque<std::vector<std::int64_t>> values_;  // aligned like memory from operator new
  std::vector<tenon_attribute> all_;
};

}  // namespace tenon::isolate
