#include "file/array/npy_dtype.hpp"

#include <bit>

namespace tenon {

static_assert(std::endian::native == std::endian::little, "elements are mapped from little-endian files");

// By the dtypes' numbers.
static constexpr std::string_view kinds[dtype_count] = {"b1", "u1", "i1", "i4", "i8", "f2", "V2", "f4", "f8"};

std::optional<NpyDtype> npy_dtype_from(std::string_view text) {
  const char order = text.empty() ? ' ' : text[0];
  for (int i = 0; i < dtype_count && text.size() == 3; ++i) {
    if (text.substr(1) != kinds[i]) continue;
    const auto dtype = static_cast<DType>(i);
    const bool ordered = size_of(dtype) > 1;
    if (order == '<' || order == '=') return NpyDtype{dtype, false};
    if (order == '>') return NpyDtype{dtype, ordered};
    if (order == '|' && (!ordered || dtype == bf16)) return NpyDtype{dtype, false};
  }
  return std::nullopt;
}

std::string npy_dtype_text(DType dtype) {
  return (size_of(dtype) == 1 ? "|" : "<") + std::string(kinds[static_cast<int>(dtype)]);
}

}  // namespace tenon
