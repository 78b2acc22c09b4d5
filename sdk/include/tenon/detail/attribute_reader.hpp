// Conversion of an attribute of the C boundary to a C++ value, with an error that shows the actual
// value. For the SDK: parameters arrive in the members that describe() names.
//
//     member                      attribute of the boundary         rejected
//     bool                        BOOL                              INT: 1 is not true
//     std::int32_t, std::int64_t  INT                               FLOAT, even 3.0; values out of
//                                                                   the member's range
//     float, double               INT, FLOAT                        finite numbers that overflow
//                                                                   float
//     tenon::Text, enums          TEXT, as UTF-8 with its length    names that are not in one_of
//                                                                   (attributes.hpp)
//     tenon::Ints                 INTS                              FLOATS; more than 32 values
//     tenon::Floats               INTS, FLOATS                      more than 32 values
//     tenon::Texts                TEXTS                             more than 32 texts; an
//                                                                   unterminated last text
//     tenon::Table<T>             TENSOR                            dtypes other than T's; sparse,
//                                                                   strided or device tensors
//
// Infinity and NaN are valid numbers unless bounds exclude them. Errors (parameter) as users see
// them:
//
//     parameter 'k' must be an integer, not 'five'
//     parameter 'k' must be a 32-bit integer, not 3000000000
//     parameter 'keep' must be true or false, not 1
//     parameter 'scale' must be a number that fits float32, not 1e+300
//     parameter 'axes' has 40 values, but a list parameter holds at most 32
//     parameter 'taps' must be a float32 tensor, not a float64 tensor [3]
//
// Example, with an attribute of the C boundary:
//
//     std::int32_t k = 0;
//     AttributeReader(attribute).read(k);
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "../abi.h"
#include "../list.hpp"
#include "../number_table.hpp"
#include "../text.hpp"
#include "../version.hpp"
#include "written_attribute.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Reads one attribute, which it borrows. Each read() throws Error (parameter) for a kind or value
/// that the member cannot have, and leaves the member unchanged.
class AttributeReader {
 public:
  /// Errors: a text, list or tensor with values but a null pointer; unterminated texts.
  explicit AttributeReader(const tenon_attribute& attribute) : attribute_(&attribute) {
    const bool pointer = attribute.kind >= TENON_ATTR_TEXT && attribute.kind <= TENON_ATTR_TEXTS;
    if (pointer && attribute.count > 0 && !attribute.text) refuse_null();
    if (attribute.kind == TENON_ATTR_TENSOR && !attribute.tensor) refuse_null();
    if (attribute.kind == TENON_ATTR_TEXTS && attribute.count > 0 &&
        attribute.text[attribute.count - 1] != 0)
      fail(ErrorKind::parameter,
           {"the last text of parameter '", attribute.name, "' does not end with a zero byte"});
  }

  /// Accepts only true and false.
  void read(bool& value) const {
    if (attribute_->kind != TENON_ATTR_BOOL) refuse("true or false");
    value = attribute_->i != 0;
  }
  /// Reads std::int32_t and std::int64_t. A value that does not fit a 32-bit member is an error,
  /// never truncated.
  template <class Int>
  requires std::is_integral_v<Int>
  void read(Int& value) const {
    if (attribute_->kind != TENON_ATTR_INT) refuse("an integer");
    value = static_cast<Int>(attribute_->i);
    if (value != attribute_->i) refuse("a 32-bit integer");
  }
  /// Integers beyond 2^53 are rounded.
  void read(double& value) const { value = number(); }
  /// Rounds to the nearest float, as for a literal.
  void read(float& value) const {
    const double wide = number();
    value = static_cast<float>(wide);
    const double limit = 3.4028235677973366e38;  // the midpoint above the largest float: numbers
                                                 // from here on round to infinity
    if ((wide >= limit || wide <= -limit) && wide - wide == 0) refuse("a number that fits float32");
  }
  /// The text is borrowed: Text copies it.
  std::string_view text() const {
    if (attribute_->kind != TENON_ATTR_TEXT) refuse("text");
    return attribute_->count ? std::string_view(attribute_->text, attribute_->count)
                             : std::string_view();
  }
  void read(Ints& value) const {
    if (attribute_->kind != TENON_ATTR_INTS) refuse("a list of integers");
    check_length();
    value = Ints(attribute_->ints, attribute_->count);
  }
  /// Integers are converted to double.
  void read(Floats& value) const {
    if (attribute_->kind != TENON_ATTR_INTS && attribute_->kind != TENON_ATTR_FLOATS)
      refuse("a list of numbers");
    check_length();
    double numbers[Floats::capacity];
    for (std::uint64_t i = 0; i < attribute_->count; ++i)
      numbers[i] = attribute_->kind == TENON_ATTR_INTS ? static_cast<double>(attribute_->ints[i])
                                                       : attribute_->floats[i];
    value = Floats(numbers, attribute_->count);
  }
  /// Each text is copied into a Text.
  void read(Texts& value) const {
    if (attribute_->kind != TENON_ATTR_TEXTS) refuse("a list of texts");
    Text texts[Texts::capacity];  // texts beyond the capacity are counted for the error
    std::size_t count = 0;
    each_text(*attribute_, [&](std::string_view text) {
      if (count < Texts::capacity) texts[count] = Text(text);
      ++count;
    });
    if (count > Texts::capacity) refuse_length(count);
    value = Texts(texts, count);
  }
  /// The elements are copied. The host has converted them to the declared dtype, dense and
  /// contiguous; anything else is an error of the host.
  template <class T>
  void read(Table<T>& value) const {
    const tenon_tensor* const tensor = attribute_->tensor;
    if (attribute_->kind != TENON_ATTR_TENSOR || static_cast<DType>(tensor->dtype) != dtype_of<T>)
      refuse(table_text(dtype_of<T>).c_str());
    if (tensor->storage != TENON_DENSE || tensor->dense.strides ||
        tensor->dense.device_type != TENON_CPU)
      refuse("dense, contiguous and in CPU memory");
    const Shape shape(tensor->dense.shape, tensor->dense.ndim);
    if (shape.size() > 0 && !tensor->dense.data) refuse_null();
    value =
        Table<T>(shape, reinterpret_cast<const T*>(static_cast<const char*>(tensor->dense.data) +
                                                   tensor->dense.byte_offset));
  }

 private:
  // Accepts integers for floating-point parameters: users write 2 for 2.0.
  double number() const {
    if (attribute_->kind == TENON_ATTR_INT) return static_cast<double>(attribute_->i);
    if (attribute_->kind != TENON_ATTR_FLOAT) refuse("a number");
    return attribute_->f;
  }
  // Called before the list is copied: the list's own error would not name the parameter.
  void check_length() const {
    if (attribute_->count > Ints::capacity) refuse_length(attribute_->count);
  }
  [[noreturn, gnu::cold]] void refuse_length(std::uint64_t count) const {
    fail(ErrorKind::parameter, {"parameter '", attribute_->name, "' has ", count,
                                " values, but a list parameter holds at most ", Ints::capacity});
  }
  // expected: for example "a number", as in "parameter 'scale' must be a number, not 'big'".
  [[noreturn, gnu::cold]] void refuse(const char* expected) const {
    fail(ErrorKind::parameter,
         {"parameter '", attribute_->name, "' must be ", expected, ", not ", written(*attribute_)});
  }
  [[noreturn, gnu::cold]] void refuse_null() const {
    fail(ErrorKind::parameter, {"parameter '", attribute_->name, "' has no values"});
  }

  const tenon_attribute* attribute_;  // owned by the caller
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
