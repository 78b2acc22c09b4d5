// Formats an attribute of the C boundary, for errors about parameters. For the SDK.
//
//     BOOL, INT, FLOAT    true, 3, 0.5
//     TEXT                'same'
//     INTS, FLOATS        [1, 2]
//     TEXTS               ['a', 'b']
//     TENSOR              a float32 tensor [3, 3]
//
// Lists are truncated after 8 values: [1, 2, 3, 4, 5, 6, 7, 8, ...]. Texts are not truncated, but
// the error's buffer is (abi.h). Pointers of the attribute must be valid, which AttributeReader's
// constructor checks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "../abi.h"
#include "../dtype.hpp"
#include "../error.hpp"
#include "../shape.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// For an attribute of kind TEXTS, which is empty or NUL-terminated: calls each(std::string_view)
/// for each text. The views exclude the NULs and are borrowed from the attribute.
template <class Each>
void each_text(const tenon_attribute& attribute, const Each& each) {
  for (std::string_view left(attribute.text, attribute.count); !left.empty();) {
    const std::string_view text = left.data();
    each(text);
    left.remove_prefix(text.size() + 1);
  }
}

/// "a float32 tensor", "an int64 tensor"
[[gnu::cold]] inline std::string table_text(DType dtype) {
  return join(numpy_letter(dtype) == 'i' ? "an " : "a ", dtype, " tensor");
}
/// "['a', 'b']"
[[gnu::cold]] inline std::string written_texts(const tenon_attribute& attribute) {
  std::string text;
  std::size_t count = 0;
  each_text(attribute, [&](std::string_view one) {
    if (count++ < 8) append_text(text, join(text.empty() ? "'" : ", '", one, '\''));
  });
  return join('[', text, count > 8 ? ", ..." : "", ']');
}
/// The value as users write it, as above. For a kind that this SDK does not know: "a value of
/// unknown kind 9".
[[gnu::cold]] inline std::string written(const tenon_attribute& attribute) {
  const auto list = [&](const auto* values) {
    std::string text;
    for (std::uint64_t i = 0; i < attribute.count && i < 8; ++i)
      append_text(text, join(i ? ", " : "", values[i]));
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
    case TENON_ATTR_TEXTS:
      return written_texts(attribute);
    case TENON_ATTR_TENSOR:
      return join(table_text(static_cast<DType>(attribute.tensor->dtype)), ' ',
                  Shape(attribute.tensor->dense.shape, attribute.tensor->dense.ndim));
    default:
      return join("a value of unknown kind ", attribute.kind);
  }
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
