// Element types of tensors: their names, sizes and C++ types, and sets of them.
//
//     op.types(tenon::floating);  // in describe(): the dtypes of all inputs
//     op.input("index", "rows to take").types({tenon::i32, tenon::i64});  // or of one input
//     io.set_output(0, shape, tenon::i64);  // in infer()
//     // in forward(): maps a dtype to a C++ type
//     tenon::visit<tenon::floating>(dtype, [&]<class T>() { run<T>(call); });
//     static_assert(tenon::dtype_of<float> == tenon::f32);  // and back
//
// Tenon never converts dtypes implicitly: an operator gets the dtypes that it declares, or the user
// gets an error that names them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "abi.h"
#include "complex.hpp"
#include "error.hpp"
#include "half.hpp"
#include "low_bit.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// The type of a tensor's elements. Its elements are C++ objects:
///
///     dtype               C++ type              bytes   numpy's name
///     tenon::boolean      bool                  1       bool
///     tenon::u8           std::uint8_t          1       uint8
///     tenon::i8           std::int8_t           1       int8
///     tenon::i32          std::int32_t          4       int32
///     tenon::i64          std::int64_t          8       int64
///     tenon::f16          tenon::half           2       float16    for storage: compute in float
///     tenon::bf16         tenon::bfloat16       2       bfloat16   for storage: compute in float
///     tenon::f32          float                 4       float32
///     tenon::f64          double                8       float64
///     tenon::i16          std::int16_t          2       int16
///     tenon::u16          std::uint16_t         2       uint16
///     tenon::u32          std::uint32_t         4       uint32
///     tenon::u64          std::uint64_t         8       uint64
///     tenon::c64          tenon::Complex<float>  8      complex64
///     tenon::c128         tenon::Complex<double> 16     complex128
///     tenon::f8e4m3fn     tenon::float8_e4m3fn    1     float8_e4m3fn     these ten for storage:
///     tenon::f8e4m3fnuz   tenon::float8_e4m3fnuz  1     float8_e4m3fnuz   see low_bit.hpp
///     tenon::f8e5m2       tenon::float8_e5m2      1     float8_e5m2
///     tenon::f8e5m2fnuz   tenon::float8_e5m2fnuz  1     float8_e5m2fnuz
///     tenon::f8e8m0fnu    tenon::float8_e8m0fnu   1     float8_e8m0fnu
///     tenon::f4e2m1fn     tenon::float4_e2m1fn    1     float4_e2m1fn     4 bits used
///     tenon::i4           tenon::int4_t           1     int4              4 bits used
///     tenon::u4           tenon::uint4_t          1     uint4             4 bits used
///     tenon::i2           tenon::int2_t           1     int2              2 bits used
///     tenon::u2           tenon::uint2_t          1     uint2             2 bits used
///
/// i16 to c128 and the low-bit dtypes were added in 0.2: Tenon 0.1 rejects operators and files that
/// use them. Tensors cannot have text elements. The numbers are those of the C boundary.
/// `unknown_dtype` is for inference only: kernels never see it.
enum class DType : std::uint8_t;

/// For the SDK and the host: the list of all dtypes, in the order of their numbers, from which
/// everything else about dtypes is derived, except the host's dtype_traits.hpp. X(short name,
/// number, C++ type, name, numpy's letter: b bool, u unsigned, i signed, f floating, c complex; V
/// for a dtype that numpy lacks, whose name and elements are those of ml_dtypes)
#define TENON_DTYPES(X)                                              \
  X(boolean, BOOLEAN, bool, "bool", 'b')                             \
  X(u8, U8, std::uint8_t, "uint8", 'u')                              \
  X(i8, I8, std::int8_t, "int8", 'i')                                \
  X(i32, I32, std::int32_t, "int32", 'i')                            \
  X(i64, I64, std::int64_t, "int64", 'i')                            \
  X(f16, F16, half, "float16", 'f')                                  \
  X(bf16, BF16, bfloat16, "bfloat16", 'V')                           \
  X(f32, F32, float, "float32", 'f')                                 \
  X(f64, F64, double, "float64", 'f')                                \
  X(i16, I16, std::int16_t, "int16", 'i')                            \
  X(u16, U16, std::uint16_t, "uint16", 'u')                          \
  X(u32, U32, std::uint32_t, "uint32", 'u')                          \
  X(u64, U64, std::uint64_t, "uint64", 'u')                          \
  X(c64, C64, Complex<float>, "complex64", 'c')                      \
  X(c128, C128, Complex<double>, "complex128", 'c')                  \
  X(f8e4m3fn, F8E4M3FN, float8_e4m3fn, "float8_e4m3fn", 'V')         \
  X(f8e4m3fnuz, F8E4M3FNUZ, float8_e4m3fnuz, "float8_e4m3fnuz", 'V') \
  X(f8e5m2, F8E5M2, float8_e5m2, "float8_e5m2", 'V')                 \
  X(f8e5m2fnuz, F8E5M2FNUZ, float8_e5m2fnuz, "float8_e5m2fnuz", 'V') \
  X(f8e8m0fnu, F8E8M0FNU, float8_e8m0fnu, "float8_e8m0fnu", 'V')     \
  X(f4e2m1fn, F4E2M1FN, float4_e2m1fn, "float4_e2m1fn", 'V')         \
  X(i4, I4, int4_t, "int4", 'V')                                     \
  X(u4, U4, uint4_t, "uint4", 'V')                                   \
  X(i2, I2, int2_t, "int2", 'V')                                     \
  X(u2, U2, uint2_t, "uint2", 'V')

#define TENON_DTYPE(name, number, ...) name = TENON_##number,
enum class DType : std::uint8_t { TENON_DTYPES(TENON_DTYPE) };
#undef TENON_DTYPE
/// Short names: tenon::f32 is tenon::DType::f32.
#define TENON_DTYPE(name, ...) inline constexpr auto name = DType::name;
TENON_DTYPES(TENON_DTYPE)
#undef TENON_DTYPE
/// "Not known yet", in inference. It is not a dtype: size_of() is 0, and no set of dtypes contains
/// it.
inline constexpr auto unknown_dtype = static_cast<DType>(TENON_DTYPE_UNKNOWN);
inline constexpr int dtype_count = TENON_DTYPE_COUNT;

/// How a tensor's values are stored: all of them (dense); some rows of a tensor of rank 1 or more,
/// the others being zero (row_sparse); or some elements of a matrix, row by row (csr). See
/// sparse.hpp for the sparse tensors of kernels.
enum class Storage : std::uint8_t {
  dense = TENON_DENSE,
  row_sparse = TENON_ROW_SPARSE,
  csr = TENON_CSR
};

/// How a kernel must write an output, or an input gradient in backward; see call.write(i).
///     none       not requested: skip it, its accessor throws
///     to         overwrite every element; the old values are undefined
///     in_place   overwrite every element in the memory of the input that op.inplace pairs with the
///                output:
///                read element i before you write it
///     add        add to every element; only if describe() calls op.accumulates()
enum class Write : std::uint8_t {
  none = TENON_WRITE_NONE,
  to = TENON_WRITE_TO,
  in_place = TENON_WRITE_IN_PLACE,
  add = TENON_WRITE_ADD
};

#define TENON_DTYPE(name, number, type, text, ...) char name[sizeof(text)];
union LongestDTypeName {
  TENON_DTYPES(TENON_DTYPE)
};
#undef TENON_DTYPE
/// For the SDK: the properties of each dtype in one table, without pointers because every plugin
/// has a copy.
struct DTypeFacts {
  char name[sizeof(LongestDTypeName)], letter;
  std::uint8_t size, bits;
};
#define TENON_DTYPE(name, number, type, text, letter) {text, letter, sizeof(type), bits_in<type>},
inline constexpr DTypeFacts dtype_facts[dtype_count] = {TENON_DTYPES(TENON_DTYPE)};
#undef TENON_DTYPE

/// numpy's name, as in manifests, files and errors; "unknown" for unknown_dtype and for invalid
/// numbers.
constexpr const char* name_of(DType dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  return i < dtype_count ? dtype_facts[i].name : "unknown";
}
/// "dense", "row_sparse" or "csr": the spelling in graph.json, in `tenon show` and in errors.
constexpr const char* name_of(Storage storage) {
  return storage == Storage::dense        ? "dense"
         : storage == Storage::row_sparse ? "row_sparse"
         : storage == Storage::csr        ? "csr"
                                          : "unknown";
}
/// The enumerator's name, for a kernel's own errors.
constexpr const char* name_of(Write write) {
  return write == Write::none       ? "none"
         : write == Write::to       ? "to"
         : write == Write::in_place ? "in_place"
         : write == Write::add      ? "add"
                                    : "unknown";
}

/// Bytes of one element; 0 for unknown_dtype. The elements of a dense tensor take shape.size() *
/// size_of(dtype) bytes.
constexpr std::size_t size_of(DType dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  return i < dtype_count ? dtype_facts[i].size : 0;
}

/// Bits of one element that are used: 4 for int4, which takes a byte, and 8 * size_of() for all
/// dtypes but those of 4 and 2 bits.
constexpr int bits_of(DType dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  return i < dtype_count ? dtype_facts[i].bits : 0;
}

/// numpy's letter for the kind of elements: 'b' bool, 'u' unsigned and 'i' signed integers, 'f'
/// floating, 'c' complex; 'V' for one that numpy lacks, such as bfloat16; '?' for unknown_dtype.
constexpr char numpy_letter(DType dtype) {
  const auto i = static_cast<std::size_t>(dtype);
  return i < dtype_count ? dtype_facts[i].letter : '?';
}

// With these three, errors take dtypes, storages and write modes directly:
// throw tenon::Error("no kernel for ", dtype).
[[gnu::cold]] inline void append_part(std::string& text, DType dtype) {
  append_text(text, name_of(dtype));
}
[[gnu::cold]] inline void append_part(std::string& text, Storage storage) {
  append_text(text, name_of(storage));
}
[[gnu::cold]] inline void append_part(std::string& text, Write write) {
  append_text(text, name_of(write));
}

/// A set of dtypes, for op.types(), op.input(...).types() and tenon::visit: one of the constants
/// below, {tenon::f32, tenon::f64}, or a sum such as tenon::floating + tenon::Types{tenon::i64}.
struct Types {
  using Mask = std::conditional_t<(dtype_count > 16), std::uint32_t, std::uint16_t>;
  Mask mask = 0;  ///< bit i stands for the dtype with number i; public, so that Types can be a
                  ///< template argument

  constexpr Types() = default;  ///< the empty set
  constexpr Types(Mask mask)
      : mask(mask) {}  ///< implicit, because nvcc writes a template argument of this type as {mask}
  constexpr Types(std::initializer_list<DType> dtypes) {
    for (const DType dtype : dtypes)
      mask = static_cast<Mask>(mask | 1u << static_cast<unsigned>(dtype));
  }
  /// Whether the set contains the dtype: tenon::floating.has(call.input_type(0).dtype). False for
  /// unknown_dtype.
  constexpr bool has(DType dtype) const {
    return static_cast<unsigned>(dtype) < dtype_count && (mask >> static_cast<unsigned>(dtype) & 1);
  }
  friend constexpr bool operator==(Types, Types) = default;
  /// The union of two sets.
  friend constexpr Types operator+(Types left, Types right) {
    left.mask = static_cast<Mask>(left.mask | right.mask);
    return left;
  }
};
/// floating: f16, bf16, f32, f64, the default of op.types(). integral: u8, i8, i32, i64. numeric:
/// both. any_type: numeric and boolean. These are the sets of 0.1. They will not change, so that
/// new dtypes do not affect existing operators.
inline constexpr Types floating = {f16, bf16, f32, f64}, integral = {u8, i8, i32, i64},
                       numeric = integral + floating, any_type = numeric + Types{boolean};
/// any_integer: all from 8 to 64 bits. any_real: these and floating. any_complex: c64 and c128.
/// every_type: all dtypes that have arithmetic. low_bit: those that are only stored, low_bit_floats
/// and low_bit_integers. storable: all dtypes, for operators that only move elements.
inline constexpr Types any_integer = integral + Types{i16, u16, u32, u64},
                       any_real = any_integer + floating, any_complex = {c64, c128},
                       every_type = any_real + any_complex + Types{boolean};
inline constexpr Types low_bit_floats = {f8e4m3fn,   f8e4m3fnuz, f8e5m2,
                                         f8e5m2fnuz, f8e8m0fnu,  f4e2m1fn},
                       low_bit_integers = {i4, u4, i2, u2},
                       low_bit = low_bit_floats + low_bit_integers, storable = every_type + low_bit;

/// How a low-bit dtype represents numbers. Requires low_bit.has(dtype).
constexpr const LowBitFormat& low_bit_format(DType dtype) {
  return low_bit_formats[static_cast<int>(dtype) - static_cast<int>(f8e4m3fn)];
}

/// For the SDK and the host: dtypes that Tenon 0.1 lacks. Operators and files that use one of them
/// declare the feature `name`, so that versions without it reject them.
struct DTypeFeature {
  char name[12];
  Types types;
};
inline constexpr DTypeFeature dtype_features[] = {{"dtypes", {i16, u16, u32, u64, c64, c128}},
                                                  {"low_bit", low_bit}};
constexpr Types types_with_feature() {
  Types types;
  for (const DTypeFeature& feature : dtype_features) types = types + feature.types;
  return types;
}
static_assert(storable.mask == (std::uint64_t{1} << dtype_count) - 1, "lists every dtype");
static_assert(any_type + types_with_feature() == storable, "dtypes newer than 0.1 have one");
static_assert(static_cast<int>(u2) - static_cast<int>(f8e4m3fn) ==
                  static_cast<int>(LowBitKind::uint2),
              "low-bit dtypes have the order of LowBitKind");

/// The dtype of a C++ element type: dtype_of<float> is f32. A type without a dtype does not
/// compile, such as _Float16, or long long if int64_t is long. tenon::visit is the inverse, from a
/// dtype to a type.
#define TENON_DTYPE(name, number, type, ...) " " #type
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(!std::is_same_v<T, T>,
                "this is not an element type; the element types are" TENON_DTYPES(TENON_DTYPE));
  return unknown_dtype;
}();
#undef TENON_DTYPE
#define TENON_DTYPE(name, number, type, ...) \
  template <>                                \
  inline constexpr DType dtype_of<type> = DType::name;
TENON_DTYPES(TENON_DTYPE)
#undef TENON_DTYPE

}  // namespace tenon
#pragma GCC visibility pop
