// What is known of a tensor, as the boundary's plain struct: making, joining and printing it.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <string>
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
tenon_type type_of(const Tensor& tensor);  ///< with its storage
Shape shape_of(const tenon_type& type);

/// Rank, every dimension and the dtype.
bool is_known(const tenon_type& type);

/// Rank within 0 to 8, dimensions at least -1 and zero past the rank, a dtype that exists or unknown. What plugins and files give must
/// pass.
bool is_sound(const tenon_type& type);

/// Elements of a known shape; -1 where the product does not fit.
std::int64_t element_count(const tenon_type& type);
/// element_count times the element's size; -1 where it does not fit.
std::int64_t byte_count(const tenon_type& type);

/// A tensor of a known type in some storage, contiguous, without memory yet. Its shape is the type's, which must live as long.
tenon_tensor tensor_of(tenon_type& type, std::uint8_t storage);

enum class Merge : std::uint8_t { same, learned, contradiction };

/// Adds what `from` knows to `into`. After a contradiction, `into` is unchanged.
Merge merge(tenon_type& into, const tenon_type& from);

/// `float32 [2, ?]`, `csr float32 [2, 3]`; parts that are not known print as ?.
std::string to_string(const tenon_type& type);

}  // namespace tenon
