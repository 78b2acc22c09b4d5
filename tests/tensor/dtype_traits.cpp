// The table of dtypes of the host agrees with the names and numbers of DLPack, ONNX and Triton.
#include "tensor/dtype_traits.hpp"

#include <dlpack/dlpack.h>
#include <doctest/doctest.h>

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tenon/host/tensor.hpp>

#include "onnx/dtype.hpp"
#include "serve/served_dtype.hpp"

using namespace tenon;

namespace {

// The codes that DLPack 0.6 and later has; a dtype with another code adds it here.
constexpr std::uint8_t codes[] = {kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLComplex, 6,
                                  10,     11,      12,       13,        14,         17};
constexpr std::string_view code_names[] = {"int",
                                           "uint",
                                           "float",
                                           "bfloat",
                                           "complex",
                                           "bool",
                                           "float8_e4m3fn",
                                           "float8_e4m3fnuz",
                                           "float8_e5m2",
                                           "float8_e5m2fnuz",
                                           "float8_e8m0fnu",
                                           "float4_e2m1fn"};

// "uint8" for the letter of its code and its bits; "bool" and low-bit floats without bits.
std::string dlpack_name(DlpackType type) {
  for (std::size_t i = 0; i < std::size(codes); ++i)
    if (codes[i] == type.code)
      return std::string(code_names[i]) + (i >= 5 ? "" : std::to_string(type.bits));
  return "?";
}

}  // namespace

TEST_CASE("each dtype has a DLPack type of its name and size") {
  for (const auto& row : dtype_traits_table) {
    const auto type = dlpack_type(row.dtype);
    CAPTURE(name_of(row.dtype));
    CHECK(dlpack_name(type) == name_of(row.dtype));
    CHECK(type.bits == bits_of(row.dtype));
    const auto tensor = Tensor::empty(row.dtype, Shape{2});
    CHECK(tensor.abi().dense.type_code == type.code);
    CHECK(tensor.abi().dense.type_bits == type.bits);
  }
  CHECK(dlpack_type(unknown_dtype) == DlpackType{0, 0});
}

TEST_CASE("each dtype is ONNX's element type of the same name, or none") {
  // TensorProto.DataType of onnx.proto
  const std::map<std::string, int> numbers = {{"float32", 1},
                                              {"uint8", 2},
                                              {"int8", 3},
                                              {"uint16", 4},
                                              {"int16", 5},
                                              {"int32", 6},
                                              {"int64", 7},
                                              {"bool", 9},
                                              {"float16", 10},
                                              {"float64", 11},
                                              {"uint32", 12},
                                              {"uint64", 13},
                                              {"complex64", 14},
                                              {"complex128", 15},
                                              {"bfloat16", 16},
                                              {"float8_e4m3fn", 17},
                                              {"float8_e4m3fnuz", 18},
                                              {"float8_e5m2", 19},
                                              {"float8_e5m2fnuz", 20},
                                              {"uint4", 21},
                                              {"int4", 22},
                                              {"float4_e2m1fn", 23},
                                              {"float8_e8m0fnu", 24},
                                              {"uint2", 25},
                                              {"int2", 26}};
  for (const auto& row : dtype_traits_table) {
    CAPTURE(name_of(row.dtype));
    if (row.onnx == 0) continue;
    const auto* type = onnx::element_type(row.onnx);
    REQUIRE(type != nullptr);
    CHECK(type->dtype == row.dtype);
    CHECK(onnx::element_type_name(row.onnx) == name_of(row.dtype));
    if (const auto known = numbers.find(name_of(row.dtype)); known != numbers.end())
      CHECK(known->second == row.onnx);
  }
  CHECK(onnx::element_type(8)->dtype == unknown_dtype);  // texts
  CHECK(onnx::element_type(27)->dtype == unknown_dtype);
  CHECK(onnx::element_type_name(27) == "float6e2m3");
}

TEST_CASE("clients of a server send each dtype under its name, except complex and low-bit ones") {
  for (const auto& row : dtype_traits_table) {
    CAPTURE(name_of(row.dtype));
    const auto* served = serve::served(row.dtype);
    CHECK((served == nullptr) == (any_complex + low_bit).has(row.dtype));
    if (served == nullptr) continue;
    CHECK(serve::datatype_of(served->number) == served->datatype);
    std::string name;  // INT8 is int8, FP16 is float16, BF16 is bfloat16
    for (const char letter : served->datatype)
      name += static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    if (const auto at = name.find("fp"); at == 0) name.replace(0, 2, "float");
    if (const auto at = name.find("bf"); at == 0) name.replace(0, 2, "bfloat");
    CHECK(name == name_of(row.dtype));
  }
  CHECK(serve::served(unknown_dtype) == nullptr);
  CHECK(serve::datatype_of(13) == "BYTES");
  CHECK(serve::datatype_of(0) == "a dtype that is not in the protocol");
}

TEST_CASE("only inexact dtypes tolerate differences, and wider ones smaller differences") {
  for (const auto& row : dtype_traits_table) {
    CAPTURE(name_of(row.dtype));
    const auto& tolerance = row.tolerance;
    const bool exact = !(floating + any_complex).has(row.dtype);
    CHECK((tolerance.all_close == 0) == exact);
    CHECK((tolerance.devices == 0) == exact);
    CHECK((tolerance.sum == 0) == exact);
  }
  const DType by_width[] = {bf16, f16, f32, f64};
  for (std::size_t i = 1; i < std::size(by_width); ++i) {
    const auto &narrow = traits_of(by_width[i - 1]).tolerance,
               &wide = traits_of(by_width[i]).tolerance;
    CHECK(narrow.all_close >= wide.all_close);
    CHECK(narrow.devices >= wide.devices);
    CHECK(narrow.sum >= wide.sum);
    CHECK(narrow.summation >= wide.summation);
    CHECK(narrow.widest_dtype >= wide.widest_dtype);
  }
}

TEST_CASE("dtypes newer than 0.1 have exactly one feature") {
  std::set<std::string> names;
  Types seen;
  for (const auto& feature : dtype_features) {
    CHECK(names.insert(feature.name).second);
    CHECK((seen.mask & feature.types.mask) == 0);
    seen = seen + feature.types;
  }
  CHECK((seen.mask & any_type.mask) == 0);
  CHECK(seen + any_type == storable);
  CHECK(std::string(dtype_features[0].name) == "dtypes");  // files of 0.2 contain it
  CHECK(dtype_features[0].types == Types{i16, u16, u32, u64, c64, c128});
  CHECK(std::string(dtype_features[1].name) == "low_bit");
  CHECK(dtype_features[1].types == low_bit);
}
