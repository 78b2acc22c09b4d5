#include "graph/inference/type.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "tensor/dtype_traits.hpp"

namespace tenon {

tenon_type type_of(DType dtype, const Shape& shape) {
  tenon_type type = unknown_type();
  type.dtype = static_cast<std::uint8_t>(dtype);
  if (!shape.has_rank()) return type;
  type.rank = shape.rank();
  std::copy(shape.begin(), shape.end(), type.dims);
  return type;
}

tenon_type type_of(const Tensor& tensor) {
  tenon_type type = type_of(tensor.dtype(), tensor.shape());
  type.storage = static_cast<std::uint8_t>(tensor.storage());
  return type;
}

Shape shape_of(const tenon_type& type) {
  return type.rank < 0 ? Shape() : Shape(type.dims, type.rank);
}

bool is_known(const tenon_type& type) {
  return type.rank >= 0 && type.dtype != TENON_DTYPE_UNKNOWN &&
         std::all_of(type.dims, type.dims + type.rank, [](std::int64_t dim) { return dim >= 0; });
}

bool is_sound(const tenon_type& type) {
  if (type.rank < -1 || type.rank > TENON_MAX_RANK || type.storage > TENON_CSR) return false;
  if (type.dtype >= TENON_DTYPE_COUNT && type.dtype != TENON_DTYPE_UNKNOWN) return false;
  const auto* end = type.dims + std::max(type.rank, 0);
  return std::all_of(type.dims, end, [](std::int64_t dim) { return dim >= -1; }) &&
         std::all_of(end, type.dims + TENON_MAX_RANK, [](std::int64_t dim) { return dim == 0; });
}

std::int64_t element_count(const tenon_type& type) {
  std::int64_t count = 1;
  bool overflow = false;
  for (int axis = 0; axis < type.rank; ++axis) {
    if (type.dims[axis] == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(count, type.dims[axis], &count);
  }
  return overflow ? -1 : count;
}

std::int64_t byte_count(const tenon_type& type) {
  const auto count = element_count(type);
  std::int64_t bytes = 0;
  if (count < 0 ||
      __builtin_mul_overflow(
          count, static_cast<std::int64_t>(size_of(static_cast<DType>(type.dtype))), &bytes))
    return -1;
  return bytes;
}

tenon_tensor tensor_of(tenon_type& type, std::uint8_t storage) {
  tenon_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.dtype = type.dtype;
  tensor.storage = storage;
  tensor.index_dtype = TENON_I64;
  tensor.dense.device_type = TENON_CPU;
  tensor.dense.ndim = type.rank;
  tensor.dense.shape = type.dims;
  const auto [code, bits] = dlpack_type(static_cast<DType>(type.dtype));
  tensor.dense.type_code = code;
  tensor.dense.type_bits = bits;
  tensor.dense.type_lanes = 1;
  return tensor;
}

Merge merge(tenon_type& into, const tenon_type& from) {
  if (std::memcmp(&into, &from, sizeof into) == 0) return Merge::same;
  tenon_type merged = into;
  if (merged.dtype == TENON_DTYPE_UNKNOWN) merged.dtype = from.dtype;
  if (from.dtype != TENON_DTYPE_UNKNOWN && from.dtype != merged.dtype) return Merge::contradiction;
  if (merged.rank < 0) {
    merged.rank = from.rank;
    std::copy_n(from.dims, TENON_MAX_RANK, merged.dims);
  } else if (from.rank >= 0) {
    if (from.rank != merged.rank) return Merge::contradiction;
    for (int axis = 0; axis < merged.rank; ++axis) {
      if (merged.dims[axis] < 0) merged.dims[axis] = from.dims[axis];
      if (from.dims[axis] >= 0 && from.dims[axis] != merged.dims[axis]) return Merge::contradiction;
    }
  }
  if (std::memcmp(&merged, &into, sizeof merged) == 0) return Merge::same;
  into = merged;
  return Merge::learned;
}

std::string to_string(const tenon_type& type) {
  const auto storage = static_cast<Storage>(type.storage);
  const bool dense = storage == Storage::dense || type.storage == TENON_STORAGE_UNKNOWN;
  std::string text = dense ? "" : std::string(name_of(storage)) + ' ';
  text +=
      type.dtype < TENON_DTYPE_COUNT ? std::string(name_of(static_cast<DType>(type.dtype))) : "?";
  return text + ' ' + to_string(shape_of(type));
}

// True for a word that means "unknown", with or without a number, and for ASCII text without
// letters.
bool is_placeholder(std::string_view dim_name) {
  constexpr std::array<std::string_view, 10> words = {
      "", "unk", "unknown", "undefined", "none", "nil", "null", "nan", "any", "dynamic"};
  const auto is_ascii_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::string word;
  for (const char c : dim_name) {
    if (is_ascii_letter(c))
      word += static_cast<char>(c | 0x20);
    else if (static_cast<unsigned char>(c) > 127)
      return false;
  }
  if (std::find(words.begin(), words.end(), word) == words.end()) return false;
  // the word is not interrupted
  const auto first = std::find_if(dim_name.begin(), dim_name.end(), is_ascii_letter);
  const auto length =
      std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(word.size()), dim_name.end() - first);
  return std::all_of(first, first + length, is_ascii_letter);
}

}  // namespace tenon
