// The table of dtypes for the host: tolerances, and the numbers that other formats give them. A
// dtype of TENON_DTYPES without a row here does not compile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <tenon/dtype.hpp>

namespace tenon {

/// Differences of results that are not faults, for each comparison; 0: none.
struct DTypeTolerance {
  double all_close;     ///< default of CloseOptions::rtol, relative to the expected element
  double devices;       ///< between devices, relative to 1 + |element|
  double sum;           ///< of an addition in Write::add, relative to 1 + |sum| + |term|
  double summation;     ///< between orders of summation, relative to the largest element
  double widest_dtype;  ///< to the same call in f64 or f32, relative to the largest element
};
inline constexpr DTypeTolerance exact_tolerance{0, 0, 0, 1e-4, 1e-3},
    f16_tolerance{1e-3, 2e-2, 4e-3, 5e-2, 0.02}, bf16_tolerance{1e-3, 2e-2, 3e-2, 5e-2, 0.1},
    f32_tolerance{1e-5, 1e-4, 1e-5, 1e-4, 1e-3}, f64_tolerance{1e-8, 1e-9, 1e-12, 1e-10, 1e-3},
    c128_tolerance{1e-8, 1e-9, 1e-5, 1e-10, 1e-3};

/// DLDataTypeCode, which the ABI shares.
enum class DlpackCode : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e4m3fnuz = 11,
  float8_e5m2 = 12,
  float8_e5m2fnuz = 13,
  float8_e8m0fnu = 14,
  float4_e2m1fn = 17,
};

/// A dtype of the Open Inference Protocol, or bfloat16, which Triton adds.
struct ServedDType {
  int number = 0;               ///< in Triton's C interface; 0: clients cannot send the dtype
  std::string_view datatype{};  ///< in the protocol; configurations prefix it with TYPE_
};
inline constexpr ServedDType not_served{};

struct DTypeTraits {
  DType dtype;
  DlpackCode dlpack;
  std::int32_t onnx;  ///< TensorProto.DataType; 0: ONNX lacks it
  ServedDType served;
  DTypeTolerance tolerance;
};

/// In the order of TENON_DTYPES.
inline constexpr DTypeTraits dtype_traits_table[] = {
    {boolean, DlpackCode::boolean, 9, {1, "BOOL"}, exact_tolerance},
    {u8, DlpackCode::unsigned_integer, 2, {2, "UINT8"}, exact_tolerance},
    {i8, DlpackCode::signed_integer, 3, {6, "INT8"}, exact_tolerance},
    {i32, DlpackCode::signed_integer, 6, {8, "INT32"}, exact_tolerance},
    {i64, DlpackCode::signed_integer, 7, {9, "INT64"}, exact_tolerance},
    {f16, DlpackCode::floating, 10, {10, "FP16"}, f16_tolerance},
    {bf16, DlpackCode::bfloat, 16, {14, "BF16"}, bf16_tolerance},
    {f32, DlpackCode::floating, 1, {11, "FP32"}, f32_tolerance},
    {f64, DlpackCode::floating, 11, {12, "FP64"}, f64_tolerance},
    {i16, DlpackCode::signed_integer, 5, {7, "INT16"}, exact_tolerance},
    {u16, DlpackCode::unsigned_integer, 4, {3, "UINT16"}, exact_tolerance},
    {u32, DlpackCode::unsigned_integer, 12, {4, "UINT32"}, exact_tolerance},
    {u64, DlpackCode::unsigned_integer, 13, {5, "UINT64"}, exact_tolerance},
    {c64, DlpackCode::complex, 14, not_served, f32_tolerance},
    {c128, DlpackCode::complex, 15, not_served, c128_tolerance},
    {f8e4m3fn, DlpackCode::float8_e4m3fn, 17, not_served, exact_tolerance},
    {f8e4m3fnuz, DlpackCode::float8_e4m3fnuz, 18, not_served, exact_tolerance},
    {f8e5m2, DlpackCode::float8_e5m2, 19, not_served, exact_tolerance},
    {f8e5m2fnuz, DlpackCode::float8_e5m2fnuz, 20, not_served, exact_tolerance},
    {f8e8m0fnu, DlpackCode::float8_e8m0fnu, 24, not_served, exact_tolerance},
    {f4e2m1fn, DlpackCode::float4_e2m1fn, 23, not_served, exact_tolerance},
    {i4, DlpackCode::signed_integer, 22, not_served, exact_tolerance},
    {u4, DlpackCode::unsigned_integer, 21, not_served, exact_tolerance},
    {i2, DlpackCode::signed_integer, 26, not_served, exact_tolerance},
    {u2, DlpackCode::unsigned_integer, 25, not_served, exact_tolerance},
};

inline constexpr DTypeTraits unknown_dtype_traits{unknown_dtype, {}, 0, not_served, {}};

constexpr const DTypeTraits& traits_of(DType dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  return i < dtype_count ? dtype_traits_table[i] : unknown_dtype_traits;
}

struct DlpackType {
  std::uint8_t code, bits;
  friend bool operator==(const DlpackType&, const DlpackType&) = default;
};
/// 0 bits for unknown_dtype.
constexpr DlpackType dlpack_type(DType dtype) {
  return {static_cast<std::uint8_t>(traits_of(dtype).dlpack),
          static_cast<std::uint8_t>(bits_of(dtype))};
}

namespace dtype_traits {

/// Whether two rows claim the same external dtype; `claim` returns its number, 0 for none.
template <class Claim>
constexpr bool each_once(Claim claim) {
  for (const auto& left : dtype_traits_table)
    for (const auto& right : dtype_traits_table)
      if (&left != &right && claim(left) != 0 && claim(left) == claim(right)) return false;
  return true;
}

constexpr bool in_order() {
  std::size_t next = 0;
  for (const auto& row : dtype_traits_table)
    if (static_cast<std::size_t>(row.dtype) != next++) return false;
  return true;
}

constexpr bool has_tolerances() {
  for (const auto& row : dtype_traits_table) {
    const bool compared = (floating + any_complex).has(row.dtype);
    const auto& t = row.tolerance;
    if (t.summation <= 0 || t.widest_dtype <= 0 ||
        (compared && (t.all_close <= 0 || t.devices <= 0 || t.sum <= 0)))
      return false;
  }
  return true;
}

static_assert(std::size(dtype_traits_table) == dtype_count, "a row for each dtype");
static_assert(in_order(), "the rows have the order of TENON_DTYPES");
static_assert(has_tolerances(), "dtypes with inexact arithmetic have tolerances");
static_assert(each_once([](const DTypeTraits& row) {
                const auto [code, bits] = dlpack_type(row.dtype);
                return code * 256 + bits;
              }),
              "DLPack's codes and bits identify dtypes");
static_assert(each_once([](const DTypeTraits& row) { return row.onnx; }),
              "ONNX's numbers identify dtypes");
static_assert(each_once([](const DTypeTraits& row) { return row.served.number; }),
              "Triton's numbers identify dtypes");
static_assert(each_once([](const DTypeTraits& row) {
                return low_bit.has(row.dtype)
                           ? 0
                           : numpy_letter(row.dtype) * 256 + static_cast<int>(size_of(row.dtype));
              }),
              "a letter and a size identify dtypes in .npy files; see npy_dtype_from()");

}  // namespace dtype_traits
}  // namespace tenon
