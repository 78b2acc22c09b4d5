// The header of numpy's .npy format, versions 1.0 to 3.0 (numpy.lib.format).
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

/// A parsed header whose dtype may be one that Tenon lacks.
struct NpyFields {
  std::string dtype;  // numpy's name: `<f4`, `|S3`
  bool fortran_order = false;
  Shape shape;
  std::size_t size = 0;  // bytes before the elements
};

/// Throws Failure (file), `cannot read NAME: reason`. The bytes are untrusted.
NpyFields parse_npy_fields(const std::string& name, std::span<const std::byte> bytes);

/// Parses the header at the beginning of `bytes`. Throws Failure (file), `cannot read NAME:
/// reason`. The bytes are untrusted.
NpyHeader parse_npy_header(const std::string& name, std::span<const std::byte> bytes);

/// The header of a contiguous little-endian array: version 1.0, padded to a multiple of 64 bytes as
/// in numpy's own files.
std::string npy_header(DType dtype, const Shape& shape);
std::string npy_header(const std::string& dtype,
                       const Shape& shape);  ///< numpy's type string, such as `|S3`

struct NpyDtype {
  DType dtype;
  bool big_endian;
};

/// Returns nullopt if Tenon has no such dtype.
std::optional<NpyDtype> npy_dtype_from(std::string_view text);

/// numpy has no bfloat16. It is written as `<V2` (two raw bytes), as numpy writes ml_dtypes'
/// bfloat16; after numpy.load, array.view(ml_dtypes.bfloat16) restores the numbers. Low-bit dtypes
/// are written as `|V1`, which cannot be read, because all of them are.
std::string npy_dtype_text(DType dtype);

}  // namespace tenon
