// One attribute of the C boundary as a C++ value, or an error that says what it is instead.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "abi.h"
#include "list.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// The value as people write it: true, 3, 0.5, 'same', [1, 2].
[[gnu::cold]] inline std::string written(const tenon_attribute& attribute) {
  const auto list = [&](const auto* values) {
    std::string text;
    for (std::uint64_t i = 0; i < attribute.count && i < 8; ++i) append_text(text, join(i ? ", " : "", values[i]));
    return join('[', text, attribute.count > 8 ? ", ..." : "", ']');
  };
  switch (attribute.kind) {
    case TENON_ATTR_BOOL:
      return join(attribute.i != 0);
    case TENON_ATTR_INT:
      return join(attribute.i);
    case TENON_ATTR_FLOAT:
      return join(attribute.f);
    case TENON_ATTR_TEXT:
      return join('\'', std::string_view(attribute.text, attribute.count), '\'');
    case TENON_ATTR_INTS:
      return list(attribute.ints);
    case TENON_ATTR_FLOATS:
      return list(attribute.floats);
    default:
      return join("a value of unknown kind ", attribute.kind);
  }
}

/// Reads values; refuses those of another kind. An integer is taken for a number, and a list of integers for a list of numbers.
class AttributeReader {
 public:
  explicit AttributeReader(const tenon_attribute& attribute) : attribute_(&attribute) {
    const bool pointer = attribute.kind == TENON_ATTR_TEXT || attribute.kind == TENON_ATTR_INTS || attribute.kind == TENON_ATTR_FLOATS;
    if (pointer && attribute.count > 0 && !attribute.text) refuse_null();
  }

  void read(bool& value) const {
    if (attribute_->kind != TENON_ATTR_BOOL) refuse("true or false");
    value = attribute_->i != 0;
  }
  template <class Int>
  requires std::is_integral_v<Int>
  void read(Int& value) const {
    if (attribute_->kind != TENON_ATTR_INT) refuse("an integer");
    value = static_cast<Int>(attribute_->i);
    if (value != attribute_->i) refuse("a 32-bit integer");
  }
  void read(double& value) const { value = number(); }
  void read(float& value) const {
    const double wide = number();
    value = static_cast<float>(wide);
    const double largest = 3.4028235677973366e38;  // half a step above the largest float: from here on, rounding gives infinity
    if ((wide >= largest || wide <= -largest) && wide - wide == 0) refuse("a number that fits float32");
  }
  std::string_view text() const {
    if (attribute_->kind != TENON_ATTR_TEXT) refuse("text");
    return attribute_->count ? std::string_view(attribute_->text, attribute_->count) : std::string_view();
  }
  void read(Ints& value) const {
    if (attribute_->kind != TENON_ATTR_INTS) refuse("a list of integers");
    check_length();
    value = Ints(attribute_->ints, attribute_->count);
  }
  void read(Floats& value) const {
    if (attribute_->kind != TENON_ATTR_INTS && attribute_->kind != TENON_ATTR_FLOATS) refuse("a list of numbers");
    check_length();
    double numbers[Floats::capacity];
    for (std::uint64_t i = 0; i < attribute_->count; ++i)
      numbers[i] = attribute_->kind == TENON_ATTR_INTS ? static_cast<double>(attribute_->ints[i]) : attribute_->floats[i];
    value = Floats(numbers, attribute_->count);
  }

 private:
  double number() const {
    if (attribute_->kind == TENON_ATTR_INT) return static_cast<double>(attribute_->i);
    if (attribute_->kind != TENON_ATTR_FLOAT) refuse("a number");
    return attribute_->f;
  }
  void check_length() const {
    if (attribute_->count > Ints::capacity)
      fail(ErrorKind::parameter,
           {"parameter '", attribute_->name, "' has ", attribute_->count, " values, but a list parameter holds at most ", Ints::capacity});
  }
  [[noreturn, gnu::cold]] void refuse(const char* wanted) const {
    fail(ErrorKind::parameter, {"parameter '", attribute_->name, "' must be ", wanted, ", not ", written(*attribute_)});
  }
  [[noreturn, gnu::cold]] void refuse_null() const { fail(ErrorKind::parameter, {"parameter '", attribute_->name, "' has no values"}); }

  const tenon_attribute* attribute_;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
