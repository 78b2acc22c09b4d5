// Layout of attributes for a call of the host: attributes and what they point to, in contiguous
// memory. For the SDK; OperatorGraph passes them to the host's add().
//
// Numbers, texts and lists of numbers are borrowed from the author's objects. Two kinds differ
// between the boundary and an operator's members. They are converted here and live as long as the
// layout:
//
//     TEXTS     concatenated NUL-terminated texts. The attribute is added with a Texts; count is
//               the number of bytes
//     TENSOR    a tenon_tensor. The attribute is added with the dimensions; i is the dtype, count
//               the rank and text
//               the elements
//
// Not thread-safe. The layout owns its memory; the host copies what it keeps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "../abi.h"
#include "../dtype.hpp"
#include "../error.hpp"
#include "../text.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

class AttributeLayout {
 public:
  /// `capacity`: the maximum number of attributes.
  explicit AttributeLayout(std::size_t capacity) : all_(new tenon_attribute[capacity]) {}
  ~AttributeLayout() {
    delete[] all_;
    while (owned_) {
      const OwnedValue* const next = owned_->next;
      delete owned_;
      owned_ = next;
    }
  }
  AttributeLayout(const AttributeLayout&) = delete;
  AttributeLayout& operator=(const AttributeLayout&) = delete;

  /// `object`: the Texts for kind TEXTS, the dimensions for kind TENSOR, otherwise null.
  [[gnu::cold, gnu::noinline]] void add(tenon_attribute attribute, const void* object) {
    if (attribute.kind == TENON_ATTR_TEXTS)
      attribute.text = joined(*static_cast<const Texts*>(object));
    if (attribute.kind == TENON_ATTR_TENSOR)
      attribute = with_tensor(attribute, static_cast<const std::int64_t*>(object));
    all_[size_++] = attribute;
  }

  /// Returns the attributes in the order in which they were added, for a call of the host.
  const tenon_attribute* data() const { return all_; }
  std::uint32_t size() const { return size_; }

 private:
  /// The memory that one attribute points to. A linked list, because <vector> would add 5,000 lines
  /// to each plugin.
  struct OwnedValue {
    std::string text;
    tenon_tensor tensor{};
    const OwnedValue* next;
  };
  OwnedValue& make() {
    OwnedValue* const owned = new OwnedValue{{}, {}, owned_};
    owned_ = owned;
    return *owned;
  }
  const char* joined(const Texts& list) {
    std::string& text = make().text;
    for (const Text& one : list) append_text(text, join(one, '\0'));
    return text.data();
  }
  // The host only reads elements and dimensions, so both may be the author's objects.
  tenon_attribute with_tensor(tenon_attribute attribute, const std::int64_t* dims) {
    const auto dtype = static_cast<DType>(attribute.i);
    tenon_tensor& tensor = make().tensor;  // strides null: contiguous; storage 0: dense
    tensor.size = sizeof tensor;
    tensor.dtype = static_cast<std::uint8_t>(dtype);
    tensor.index_dtype = TENON_I64;
    tensor.dense.data = const_cast<char*>(attribute.text);
    tensor.dense.device_type = TENON_CPU;
    tensor.dense.ndim = static_cast<std::int32_t>(attribute.count);
    tensor.dense.type_code =
        numpy_letter(dtype) == 'f' ? 2 : 0;  // DLPack's type codes; a Table has no other dtypes
    tensor.dense.type_bits = static_cast<std::uint8_t>(8 * size_of(dtype));
    tensor.dense.type_lanes = 1;
    tensor.dense.shape = const_cast<std::int64_t*>(dims);
    attribute.tensor = &tensor;
    attribute.i = 0, attribute.count = 0;
    return attribute;
  }

  tenon_attribute* all_;
  std::uint32_t size_ = 0;
  const OwnedValue* owned_ = nullptr;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
