// The header of numpy's .npy format, versions 1.0 to 3.0 (numpy.lib.format): what is in an array file before the elements.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tenon/shape.hpp>

namespace tenon {

struct NpyHeader {
  DType dtype = unknown_dtype;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
  std::size_t size = 0;  // bytes before the elements
};

/// What a header says, before its dtype is known to be one of ours.
struct NpyFields {
  std::string dtype;  // numpy's name: `<f4`, `|S3`
  bool fortran_order = false;
  Shape shape;
  std::size_t size = 0;  // bytes before the elements
};

/// Throws Failure (file), `cannot read NAME: reason`; trusts no byte.
NpyFields parse_npy_fields(const std::string& name, std::span<const std::byte> bytes);

/// Reads the header at the beginning of `bytes`. Throws Failure (file), `cannot read NAME: reason`; trusts no byte.
NpyHeader parse_npy_header(const std::string& name, std::span<const std::byte> bytes);

/// The header of a contiguous little-endian array: version 1.0, padded to a multiple of 64 bytes as numpy's own.
std::string npy_header(DType dtype, const Shape& shape);
std::string npy_header(const std::string& dtype, const Shape& shape);  ///< numpy's name of a type, such as `|S3`

struct NpyDtype {
  DType dtype;
  bool big_endian;
};

/// Nothing where Tenon has no such dtype.
std::optional<NpyDtype> npy_dtype_from(std::string_view text);

/// numpy has no bfloat16. `<V2`, two raw bytes, is what numpy writes for the one of the ml_dtypes package; what numpy reads back from it
/// becomes numbers again by array.view(ml_dtypes.bfloat16).
std::string npy_dtype_text(DType dtype);

}  // namespace tenon
