// Creates, merges and prints tenon_type, the ABI's description of what is known about a tensor;
// names of dimensions.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/shape.hpp>

namespace tenon {

constexpr tenon_type unknown_type() {
  tenon_type type{};
  type.rank = -1;
  type.dtype = TENON_DTYPE_UNKNOWN;
  type.storage = TENON_DENSE;
  type.present = 1;
  return type;
}

tenon_type type_of(DType dtype, const Shape& shape);
tenon_type type_of(const Tensor& tensor);  ///< including its storage
Shape shape_of(const tenon_type& type);

/// Whether rank, all dimensions and the dtype are known.
bool is_known(const tenon_type& type);

/// Whether the rank is at most 8, dimensions are at least -1 and zero past the rank, and the dtype
/// exists or is unknown. Types from plugins and files must pass.
bool is_sound(const tenon_type& type);

/// Returns the number of elements of a known shape; -1 on overflow.
std::int64_t element_count(const tenon_type& type);
/// element_count() times the element size; -1 on overflow.
std::int64_t byte_count(const tenon_type& type);

/// Returns a contiguous tensor of a known type and storage, without memory. It points to the
/// dimensions of `type`, which must outlive it.
tenon_tensor tensor_of(tenon_type& type, std::uint8_t storage);

enum class Merge : std::uint8_t { same, learned, contradiction };

/// Adds what `from` knows to `into`. `into` is unchanged after a contradiction.
Merge merge(tenon_type& into, const tenon_type& from);

/// `float32 [2, ?]`, `csr float32 [2, 3]`; unknown components print as ?.
std::string to_string(const tenon_type& type);

/// Whether a dimension's name is a placeholder for an unknown size, such as "?", "-1", " ", "None"
/// or "unk__3". Exporters write the same placeholder for different sizes, so equal placeholders,
/// unlike names, do not mean equal sizes.
bool is_placeholder(std::string_view dim_name);

}  // namespace tenon
