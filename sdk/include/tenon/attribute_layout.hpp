// Attributes on their way to the host: side by side, with what they point to. For the SDK; OperatorGraph passes them to the host's add().
//
// Numbers, texts and lists of numbers are what the author holds, and are borrowed as they are. Two kinds have another form at the boundary
// than in an operator's members, which is made here and lives as long as the layout:
//
//     TEXTS     one text after the other, each with a zero byte behind it. An attribute comes with a Texts, and count is set: the bytes
//     TENSOR    a tenon_tensor. An attribute comes with the dimensions; i is the dtype, count the rank and text the elements
//
// Threads: used by one. Memory: the layout's own, freed with it; the host copies what it keeps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "abi.h"
#include "dtype.hpp"
#include "error.hpp"
#include "text.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

class AttributeLayout {
 public:
  /// most: how many attributes are added at most.
  explicit AttributeLayout(std::size_t most) {
    all_.reserve(most), tensors_.reserve(most), texts_.reserve(most);  // none of them moves
  }
  AttributeLayout(const AttributeLayout&) = delete;
  AttributeLayout& operator=(const AttributeLayout&) = delete;

  /// held: of TEXTS a Texts, of TENSOR its dimensions, else null.
  [[gnu::cold, gnu::noinline]] void add(tenon_attribute attribute, const void* held) {
    if (attribute.kind == TENON_ATTR_TEXTS) attribute.text = joined(*static_cast<const Texts*>(held));
    if (attribute.kind == TENON_ATTR_TENSOR) attribute = with_tensor(attribute, static_cast<const std::int64_t*>(held));
    all_.push_back(attribute);
  }

  /// The attributes in the order in which they were added, for the length of a call of the host.
  const tenon_attribute* data() const { return all_.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(all_.size()); }

 private:
  const char* joined(const Texts& list) {
    std::string& text = texts_.emplace_back();
    for (const Text& one : list) append_text(text, join(one, '\0'));
    return text.data();
  }
  // The host only reads elements and dimensions, so both may be the author's own.
  tenon_attribute with_tensor(tenon_attribute attribute, const std::int64_t* dims) {
    const auto dtype = static_cast<DType>(attribute.i);
    tenon_tensor& tensor = tensors_.emplace_back();  // strides null: contiguous; storage 0: dense
    tensor.size = sizeof tensor;
    tensor.dtype = static_cast<std::uint8_t>(dtype);
    tensor.index_dtype = TENON_I64;
    tensor.dense.data = const_cast<char*>(attribute.text);
    tensor.dense.device_type = TENON_CPU;
    tensor.dense.ndim = static_cast<std::int32_t>(attribute.count);
    tensor.dense.type_code = numpy_letter(dtype) == 'f' ? 2 : 0;  // DLPack's numbers; a Table holds no other dtypes
    tensor.dense.type_bits = static_cast<std::uint8_t>(8 * size_of(dtype));
    tensor.dense.type_lanes = 1;
    tensor.dense.shape = const_cast<std::int64_t*>(dims);
    attribute.tensor = &tensor;
    attribute.i = 0, attribute.count = 0;
    return attribute;
  }

  std::vector<tenon_attribute> all_;
  std::vector<tenon_tensor> tensors_;
  std::vector<std::string> texts_;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
