// Operators on low-bit dtypes. Casts are compared with tables made by hand from the formats'
// definitions, and operators that move elements with the same operators on uint8.
#include <cstring>
#include <functional>
#include <tenon/host/tensor_functions.hpp>

#include "numbers.hpp"

using namespace plugin_tests;
using namespace tenon;

namespace {

using Codes = std::vector<int>;

constexpr DType low_bit_dtypes[] = {f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0fnu,
                                    f4e2m1fn, i4,         u4,     i2,         u2};

Tensor with_codes(DType dtype, const Shape& shape, const Codes& codes) {
  auto made = Tensor::empty(dtype, shape);
  REQUIRE(made.size() == static_cast<std::int64_t>(codes.size()));
  std::copy(codes.begin(), codes.end(), static_cast<std::uint8_t*>(made.data()));
  return made;
}

Codes codes_of(const Tensor& tensor) {
  REQUIRE(size_of(tensor.dtype()) == 1);
  const auto* codes = static_cast<const std::uint8_t*>(tensor.data());
  return {codes, codes + tensor.size()};
}

Codes all_codes(DType dtype) {
  Codes codes(std::size_t{1} << bits_of(dtype));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int>(i);
  return codes;
}

Tensor cast(const Tensor& x, DType dtype, Attributes attributes = {}) {
  attributes.set("dtype", name(dtype));
  const auto made = host().call("cast", {x}, attributes);
  CHECK(made.dtype() == dtype);
  return made;
}

/// The codes of numbers cast from float32.
Codes cast_codes(DType dtype, const Doubles& numbers, const Attributes& attributes = {}) {
  const Shape shape{static_cast<std::int64_t>(numbers.size())};
  return codes_of(cast(tensor(f32, shape, numbers), dtype, attributes));
}

}  // namespace

TEST_CASE("low-bit dtypes: each code survives a cast to a wider dtype and back") {
  for (const auto dtype : low_bit_dtypes) {
    const auto codes = all_codes(dtype);
    const auto x = with_codes(dtype, {static_cast<std::int64_t>(codes.size())}, codes);
    for (const auto wide : {f32, f64, bf16}) {
      CAPTURE(name(dtype));
      CAPTURE(name(wide));
      const auto there = cast(x, wide);
      const auto back = codes_of(cast(there, dtype));
      const auto numbers = doubles(cast(there, f64));
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const double expected = low_bit_format(dtype).decode(static_cast<std::uint8_t>(codes[i]));
        if (std::isnan(expected))  // float8_e5m2 and the sign have several
          CHECK(std::isnan(low_bit_format(dtype).decode(static_cast<std::uint8_t>(back[i]))));
        else if (std::isfinite(expected))
          CHECK(back[i] == codes[i]);
        CHECK((std::isnan(expected) ? std::isnan(numbers[i]) : numbers[i] == expected));
      }
    }
  }
}

TEST_CASE("cast: floats round to low-bit floats, and saturate unless told otherwise") {
  const Doubles numbers{1, -2, 0.3, 17, 460, 1e6, -1e6, inf};
  CHECK(cast_codes(f8e4m3fn, numbers) == Codes{0x38, 0xc0, 0x2a, 0x58, 0x7e, 0x7e, 0xfe, 0x7e});
  CHECK(cast_codes(f8e4m3fn, numbers, {{"saturate", false}}) ==
        Codes{0x38, 0xc0, 0x2a, 0x58, 0x7e, 0x7f, 0xff, 0x7f});
  CHECK(cast_codes(f8e5m2, numbers) == Codes{0x3c, 0xc0, 0x35, 0x4c, 0x5f, 0x7b, 0xfb, 0x7b});
  CHECK(cast_codes(f8e5m2, numbers, {{"saturate", false}}) ==
        Codes{0x3c, 0xc0, 0x35, 0x4c, 0x5f, 0x7c, 0xfc, 0x7c});
  CHECK(cast_codes(f8e4m3fnuz, {-0.0, 240, 1e6, nan_value}, {{"saturate", false}}) ==
        Codes{0, 0x7f, 0x80, 0x80});
  CHECK(cast_codes(f4e2m1fn, {0.25, 0.75, 5, 7, -100, nan_value}) == Codes{0, 2, 6, 7, 15, 0});
  CHECK(cast_codes(f8e8m0fnu, {1, 1.1, 3, 0, -1}) == Codes{127, 128, 129, 0, 255});
  CHECK(cast_codes(f8e8m0fnu, {1, 1.1, 3}, {{"rounding", "nearest"}}) == Codes{127, 127, 129});
  CHECK(cast_codes(f8e8m0fnu, {1, 1.1, 3}, {{"rounding", "down"}}) == Codes{127, 127, 128});
}

TEST_CASE("cast: other dtypes become low-bit floats with one rounding") {
  // In float32 and in bfloat16, the first number is the midpoint of 16 and 18.
  const auto f64_numbers = tensor(f64, {2}, {17 + 1e-12, -1e300});
  CHECK(codes_of(cast(f64_numbers, f8e4m3fn)) == Codes{0x59, 0xfe});
  const auto i64_numbers =
      Tensor::from<std::int64_t>({(std::int64_t{5} << 40) + 1, -(std::int64_t{1} << 62)}, {2});
  CHECK(codes_of(cast(i64_numbers, f8e8m0fnu, {{"rounding", "up"}})) == Codes{127 + 43, 255});
  CHECK(codes_of(cast(Tensor::from<std::int64_t>({(17 << 7) + 1}, {1}), f8e5m2)) == Codes{0x68});
  CHECK(codes_of(cast(tensor(boolean, {2}, {1, 0}), f8e5m2)) == Codes{0x3c, 0});
  CHECK(codes_of(cast(tensor(f16, {2}, {6, 7}), f4e2m1fn)) == Codes{7, 7});
}

TEST_CASE("cast: floats are truncated and saturated for low-bit integers") {
  const Doubles numbers{1.9, -1.9, 100, -100, nan_value, inf};
  CHECK(cast_codes(i4, numbers) == Codes{1, 15, 7, 8, 0, 7});
  CHECK(cast_codes(u4, numbers) == Codes{1, 0, 15, 0, 0, 15});
  CHECK(cast_codes(i2, numbers) == Codes{1, 3, 1, 2, 0, 1});
  CHECK(cast_codes(u2, numbers) == Codes{1, 0, 3, 0, 0, 3});
}

TEST_CASE("cast: integers wrap around") {
  const auto whole = Tensor::from<std::int64_t>({9, -9, 300, (std::int64_t{1} << 40) + 5}, {4});
  CHECK(codes_of(cast(whole, i4)) == Codes{9, 7, 12, 5});
  CHECK(codes_of(cast(whole, u2)) == Codes{1, 3, 0, 1});
  const auto fours = with_codes(i4, {3}, {15, 8, 7});  // -1, -8 and 7
  CHECK(codes_of(cast(fours, u4)) == Codes{15, 8, 7});
  CHECK(codes_of(cast(fours, i2)) == Codes{3, 0, 3});
  CHECK(codes_of(cast(fours, u8)) == Codes{255, 248, 7});
  CHECK(cast(fours, u64).values<std::uint64_t>()[0] == UINT64_MAX);
  CHECK(codes_of(cast(fours, boolean)) == Codes{1, 1, 1});
  CHECK(codes_of(cast(with_codes(u4, {2}, {15, 0}), f8e4m3fn)) == Codes{0x57, 0});
  CHECK(codes_of(cast(with_codes(f8e4m3fn, {2}, {0x57, 0xc4}), i4)) == Codes{7, 13});  // 15, -3
}

TEST_CASE("cast: sparse tensors become dense ones of low-bit dtypes") {
  const auto x =
      Tensor::csr(Tensor::from({1.0F, -2.0F}, {2}), Tensor::from<std::int64_t>({1, 0}, {2}),
                  Tensor::from<std::int64_t>({0, 1, 2}, {3}), {2, 2});
  const auto made = cast(x, i4);
  CHECK(made.storage() == Storage::dense);
  CHECK(codes_of(made) == Codes{0, 1, 14, 0});
}

TEST_CASE("quantize: low-bit dtypes") {
  const auto x = tensor(f32, {6}, {-1, 0.25, 0.75, 3, 100, nan_value}),
             half = tensor(f32, Shape::scalar(), {0.5});
  const auto quantized = [&](DType dtype, Attributes attributes = {}) {
    attributes.set("dtype", name(dtype));
    return codes_of(host().call("quantize", {x, half}, attributes));
  };
  CHECK(quantized(u4) == Codes{0, 0, 2, 6, 15, 0});
  CHECK(quantized(i4) == Codes{14, 0, 2, 6, 7, 0});
  CHECK(quantized(i2) == Codes{2, 0, 1, 1, 1, 0});
  CHECK(quantized(u2) == Codes{0, 0, 2, 3, 3, 0});
  CHECK(quantized(f4e2m1fn) == Codes{0xc, 1, 3, 7, 7, 0});
  CHECK(quantized(f8e4m3fn) == Codes{0xc0, 0x30, 0x3c, 0x4c, 0x74, 0x7f});
  CHECK(codes_of(host().call("quantize", {x, half, with_codes(u4, Shape::scalar(), {3})})) ==
        Codes{1, 3, 5, 9, 15, 0});
  const auto tiny = tensor(f32, {1}, {0.01});
  CHECK(codes_of(host().call("quantize", {x, tiny}, {{"dtype", "float8_e4m3fn"}}))[4] == 0x7e);
  CHECK(codes_of(host().call("quantize", {x, tiny},
                             {{"dtype", "float8_e4m3fn"}, {"saturate", false}}))[4] == 0x7f);
}

TEST_CASE("dequantize: low-bit dtypes, with scales of float8_e8m0fnu") {
  const auto scale = tensor(f32, Shape::scalar(), {0.5});
  const auto made = [&](const Tensor& x, const Tensor& zero) {
    return doubles(host().call("dequantize", {x, scale, zero}));
  };
  CHECK(made(with_codes(i4, {3}, {15, 8, 7}), {}) == Doubles{-0.5, -4, 3.5});
  CHECK(made(with_codes(u4, {2}, {15, 0}), with_codes(u4, Shape::scalar(), {3})) ==
        Doubles{6, -1.5});
  CHECK(made(with_codes(i2, {4}, {0, 1, 2, 3}), {}) == Doubles{0, 0.5, -1, -0.5});
  CHECK(made(with_codes(f8e5m2, {2}, {0x3c, 0xc0}), {}) == Doubles{0.5, -1});
  // blocks of two numbers, as in OCP's microscaling formats
  const auto blocks = with_codes(f4e2m1fn, {2, 4}, {2, 4, 2, 4, 7, 15, 1, 0}),
             scales = with_codes(f8e8m0fnu, {2, 2}, {127, 130, 126, 128});
  CHECK(doubles(host().call("dequantize", {blocks, scales},
                            {{"block_size", 2}, {"dtype", "float32"}})) ==
        Doubles{1, 2, 8, 16, 3, -3, 1, 0});
  check_says(failure("dequantize", {blocks, scales}, {{"block_size", 2}}),
             {"dtype", "of_scale", "float8_e8m0fnu", "float32, float16 or bfloat16"});
}

TEST_CASE("bit_cast: bytes are floats of 8 bits; 4 and 2 bits are refused") {
  const auto bytes = with_codes(u8, {2}, {0x38, 0xff});
  const auto eights = host().call("bit_cast", {bytes}, {{"dtype", "float8_e4m3fn"}});
  CHECK(eights.dtype() == f8e4m3fn);
  CHECK(codes_of(eights) == Codes{0x38, 0xff});
  check_says(failure("bit_cast", {bytes}, {{"dtype", "int4"}}), {"dtype", "int4"});
}

TEST_CASE("operators that move elements move those of low-bit dtypes") {
  const Codes numbers{1, 2, 3, 0, 1, 2, 3, 0, 2, 2, 1, 3, 0, 0, 3, 1};
  const auto index = Tensor::from<std::int64_t>({1, -1, 0}, {3});
  const auto length = Tensor::from<std::int64_t>({3, 2}, {2});
  const struct {
    const char* op;
    Shape shape;
    std::vector<Tensor> more;
    Attributes attributes;
  } moves[] = {
      {"reshape", {4, 4}, {}, {{"shape", {2, 8}}}},
      {"transpose", {2, 8}, {}, {{"axes", {1, 0}}}},
      {"transpose", {2, 2, 4}, {}, {{"axes", {2, 0, 1}}}},
      {"slice", {4, 4}, {}, {{"begin", {3, 0}}, {"end", {-5, 4}}, {"step", {-2, 3}}}},
      {"gather", {4, 4}, {index}, {{"axis", 1}}},
      {"tile", {2, 8}, {}, {{"times", {2, 1}}}},
      {"broadcast_to", {16, 1}, {}, {{"shape", {16, 3}}}},
      {"expand_dims", {4, 4}, {}, {{"axis", {1}}}},
      {"squeeze", {16, 1}, {}, {{"axis", {1}}}},
      {"depth_to_space", {1, 16, 1, 1}, {}, {{"block", 2}}},
      {"space_to_depth", {1, 1, 4, 4}, {}, {{"block", 2}}},
      {"reverse_sequence", {4, 2, 2}, {length}, {}},
      {"pad", {4, 4}, {}, {{"before", {1, 0}}, {"after", {0, 2}}, {"mode", "edge"}}},
      {"pad", {4, 4}, {}, {{"before", {1, -1}}, {"after", {0, 2}}, {"mode", "reflect"}}},
      {"split", {4, 4}, {}, {{"sections", 2}, {"axis", 1}}},
  };
  for (const auto& [op, shape, more, attributes] : moves)
    for (const auto dtype : low_bit_dtypes) {
      CAPTURE(op);
      CAPTURE(name(dtype));
      const auto made = [&, &op = op, &shape = shape, &more = more,
                         &attributes = attributes](DType as) {
        std::vector<Tensor> inputs{with_codes(as, shape, numbers)};
        inputs.insert(inputs.end(), more.begin(), more.end());
        return host().call_all(op, inputs, attributes);
      };
      const auto found = made(dtype), expected = made(u8);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i].dtype() == dtype);
        CHECK(found[i].shape() == expected[i].shape());
        CHECK(codes_of(found[i]) == codes_of(expected[i]));
      }
    }
  for (const auto dtype : low_bit_dtypes) {
    const auto x = with_codes(dtype, {2}, {1, 2}), y = with_codes(dtype, {1}, {3});
    CHECK(codes_of(host().call("concat", {x, y, x})) == Codes{1, 2, 3, 1, 2});
    CHECK(codes_of(host().call("pad", {x, {}, y}, {{"before", {1}}, {"after", {2}}})) ==
          Codes{3, 1, 2, 3, 3});
  }
}

TEST_CASE("pad: the value must be one of the dtype's numbers") {
  const auto padded = [](DType dtype, double value) {
    return host().call("pad", {with_codes(dtype, {1}, {1})},
                       {{"before", {1}}, {"after", {0}}, {"value", value}});
  };
  CHECK(codes_of(padded(i4, -3)) == Codes{13, 1});
  CHECK(codes_of(padded(f8e4m3fn, 1.5)) == Codes{0x3c, 1});
  CHECK(codes_of(padded(f8e5m2, inf)) == Codes{0x7c, 1});
  CHECK(codes_of(padded(f8e5m2, -inf)) == Codes{0xfc, 1});
  CHECK(codes_of(padded(f8e5m2, nan_value)) == Codes{0x7e, 1});
  CHECK(codes_of(padded(f8e4m3fn, nan_value)) == Codes{0x7f, 1});
  CHECK(codes_of(padded(f8e8m0fnu, nan_value)) == Codes{0xff, 1});
  const Tensor x = with_codes(f8e8m0fnu, {1}, {127});
  check_says(failure("pad", {x}, {{"before", {1}}, {"after", {0}}}),
             {"value", "0", "float8_e8m0fnu cannot represent"});
  check_says(failure("pad", {with_codes(f8e4m3fn, {1}, {1})},
                     {{"before", {1}}, {"after", {0}}, {"value", inf}}),
             {"value", "inf", "float8_e4m3fn cannot represent"});
  check_says(failure("pad", {with_codes(i4, {1}, {1})},
                     {{"before", {1}}, {"after", {0}}, {"value", nan_value}}),
             {"value", "nan", "int4 cannot represent"});
  check_says(failure("pad", {with_codes(u4, {1}, {1})},
                     {{"before", {1}}, {"after", {0}}, {"value", 16.0}}),
             {"value", "16", "uint4 cannot represent"});
}

TEST_CASE("operators that compute refuse low-bit dtypes") {
  for (const auto dtype : low_bit_dtypes) {
    const auto x = with_codes(dtype, {2}, {1, 1});
    check_says(failure("add", {x, x}), {"left", name(dtype)});
    check_says(failure("sum", {x}), {name(dtype)});
    check_says(failure("relu", {x}), {name(dtype)});
  }
}
