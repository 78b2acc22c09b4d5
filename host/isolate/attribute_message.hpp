// Serialization of attributes, and attributes that own their data.
#pragma once
#include <tenon/abi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <tenon/dtype.hpp>
#include <vector>

#include "isolate/message.hpp"
#include "isolate/protocol.hpp"

namespace tenon::isolate {

inline std::size_t element_bytes(std::uint32_t kind) {
  return kind == TENON_ATTR_TEXT || kind == TENON_ATTR_TEXTS    ? 1
         : kind == TENON_ATTR_INTS || kind == TENON_ATTR_FLOATS ? 8
                                                                : 0;
}

/// Returns the size of a dense tensor in bytes; empty if the dtype, rank or dimensions are invalid.
inline std::optional<std::size_t> tensor_bytes(std::uint32_t dtype, std::uint32_t rank,
                                               const std::int64_t* dims) {
  if (dtype >= TENON_DTYPE_COUNT || rank > TENON_MAX_RANK) return {};
  std::uint64_t bytes = size_of(static_cast<DType>(dtype));
  for (std::uint32_t axis = 0; axis < rank; ++axis)
    if (dims[axis] < 0) return {};
  for (std::uint32_t axis = 0; axis < rank; ++axis)
    if (dims[axis] == 0) return 0;
  for (std::uint32_t axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dims[axis]), &bytes)) return {};
  return bytes;
}

/// Returns the type_code of abi.h.
inline std::uint8_t dlpack_code(DType dtype) {
  const char letter = numpy_letter(dtype);
  return letter == 'i'   ? 0
         : letter == 'u' ? 1
         : letter == 'f' ? 2
         : letter == 'V' ? 4
         : letter == 'c' ? 5
                         : 6;
}

/// A tensor that is not dense or not on the CPU is sent without elements, and the receiver rejects
/// it.
inline void put_tensor(Writer& writer, const tenon_attribute& attribute) {
  const auto* tensor = attribute.tensor;
  TensorParameterRecord record{TENON_DTYPE_COUNT, 0, {}};
  std::optional<std::size_t> bytes;
  if (tensor != nullptr && tensor->storage == TENON_DENSE && tensor->dense.strides == nullptr &&
      tensor->dense.device_type == TENON_CPU)
    bytes = tensor_bytes(tensor->dtype, static_cast<std::uint32_t>(tensor->dense.ndim),
                         tensor->dense.shape);
  if (bytes) {
    record.dtype = tensor->dtype, record.rank = static_cast<std::uint32_t>(tensor->dense.ndim);
    std::copy_n(tensor->dense.shape, record.rank, record.dims);
  }
  const auto name = std::strlen(attribute.name);
  writer.put(
      AttributeRecord{attribute.kind, static_cast<std::uint32_t>(name), bytes.value_or(0), 0, 0});
  writer.put_text({attribute.name, name});
  writer.put(record);
  writer.put_array(
      bytes ? static_cast<const std::byte*>(tensor->dense.data) + tensor->dense.byte_offset
            : nullptr,
      bytes.value_or(0));
}

inline void put_attributes(Writer& writer, std::span<const tenon_attribute> attributes) {
  for (const auto& attribute : attributes) {
    if (attribute.kind == TENON_ATTR_TENSOR) {
      put_tensor(writer, attribute);
      continue;
    }
    const auto name = std::strlen(attribute.name);
    const auto size = element_bytes(attribute.kind);
    const auto count = size == 0 || attribute.text == nullptr ? 0 : attribute.count;
    writer.put(AttributeRecord{attribute.kind, static_cast<std::uint32_t>(name), count, attribute.i,
                               attribute.f});
    writer.put_text({attribute.name, name});
    writer.put_array(reinterpret_cast<const std::byte*>(attribute.text),
                     static_cast<std::size_t>(count) * size);
  }
}

/// Attributes that own their names and values.
class OwnedAttributes {
 public:
  OwnedAttributes() = default;
  /// Throws ProtocolError.
  OwnedAttributes(Reader& reader, std::uint64_t count) {
    for (; count > 0; --count) {
      const auto record = reader.take<AttributeRecord>();
      const auto name = reader.take_text(record.name_bytes);
      const auto size = element_bytes(record.kind);
      if (name.find('\0') != std::string_view::npos)
        throw ProtocolError("an attribute's name contains a NUL");
      if (record.kind == TENON_ATTR_TENSOR) {
        add_tensor(std::string(name), record, reader);
        continue;
      }
      if (size == 0 &&
          (record.count != 0 || record.kind < TENON_ATTR_BOOL || record.kind > TENON_ATTR_FLOAT))
        throw ProtocolError("an attribute has an invalid kind");
      const auto values =
          size == 1 ? std::as_bytes(reader.take_array<char>(record.count))
                    : std::as_bytes(reader.take_array<std::int64_t>(size == 0 ? 0 : record.count));
      add(std::string(name), record, values);
    }
  }
  OwnedAttributes(const OwnedAttributes&) = delete;
  OwnedAttributes& operator=(const OwnedAttributes&) = delete;

  std::span<const tenon_attribute> all() const { return all_; }

 private:
  void add(std::string name, const AttributeRecord& record, std::span<const std::byte> values) {
    tenon_attribute attribute{};
    attribute.name = names_.emplace_back(std::move(name)).c_str();
    attribute.kind = record.kind;
    attribute.count = record.count;
    attribute.i = record.i;
    attribute.f = record.f;
    if (element_bytes(record.kind) > 0) {
      // includes a zero byte after a text
      auto& owned = values_.emplace_back(values.size() / 8 + 1);
      if (!values.empty()) std::memcpy(owned.data(), values.data(), values.size());
      attribute.ints = owned.data();
    }
    all_.push_back(attribute);
  }

  void add_tensor(std::string name, const AttributeRecord& record, Reader& reader) {
    auto& owned = tensors_.emplace_back();
    owned.record = reader.take<TensorParameterRecord>();
    const auto bytes = reader.take_array<std::byte>(record.count);
    if (tensor_bytes(owned.record.dtype, owned.record.rank, owned.record.dims) != bytes.size())
      throw ProtocolError("a tensor attribute's shape does not match its elements");
    owned.elements.reserve(1);  // so that data() is not null even if empty
    owned.elements.assign(bytes.begin(), bytes.end());
    const auto dtype = static_cast<DType>(owned.record.dtype);
    auto& tensor = owned.tensor;
    tensor.size = sizeof tensor;
    tensor.dtype = static_cast<std::uint8_t>(owned.record.dtype);
    tensor.index_dtype = TENON_I64;
    tensor.dense = {owned.elements.data(),
                    TENON_CPU,
                    0,
                    static_cast<std::int32_t>(owned.record.rank),
                    dlpack_code(dtype),
                    static_cast<std::uint8_t>(8 * size_of(dtype)),
                    1,
                    owned.record.dims,
                    nullptr,
                    0};
    tenon_attribute attribute{};
    attribute.name = names_.emplace_back(std::move(name)).c_str();
    attribute.kind = record.kind;
    attribute.tensor = &tensor;
    all_.push_back(attribute);
  }

  struct OwnedTensor {
    TensorParameterRecord record;
    std::vector<std::byte> elements;  // aligned like memory from operator new
    tenon_tensor tensor{};
  };
  std::deque<OwnedTensor> tensors_;
  std::deque<std::string> names_;
  std::deque<std::vector<std::int64_t>> values_;
  std::vector<tenon_attribute> all_;
};

}  // namespace tenon::isolate
