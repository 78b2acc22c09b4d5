// Elements of tensors, in every encoding.
#include "onnx/tensor_data.hpp"

#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "onnx_bytes.hpp"

using namespace onnx_bytes;
using tenon::onnx::TensorReader;

namespace {

std::string model_of(const std::string& tensor) {
  ModelFields fields;
  fields.graph.initializers = {tensor};
  return fields.bytes();
}

std::string text_of(const std::string& tensor) {
  const auto model = read(model_of(tensor));
  return TensorReader(model).read(model.graph.initializers[0]).to_string();
}

FailureText failure(const std::string& tensor) {
  const auto model = read(model_of(tensor));
  return failure_of([&] { TensorReader(model).read(model.graph.initializers[0]); });
}

template <class T>
std::string packed(std::uint32_t field, const std::vector<T>& values) {
  return message([&](auto& to) {
    if constexpr (std::is_same_v<T, float>)
      to.add_packed_float(field, values.begin(), values.end());
    else if constexpr (std::is_same_v<T, double>)
      to.add_packed_double(field, values.begin(), values.end());
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      to.add_packed_uint64(field, values.begin(), values.end());
    else if constexpr (std::is_same_v<T, std::int32_t>)
      to.add_packed_int32(field, values.begin(), values.end());
    else
      to.add_packed_int64(field, values.begin(), values.end());
  });
}

}  // namespace

TEST_CASE("tensor data: raw data of every element type") {
  using namespace std::string_literals;
  struct Case {
    std::int32_t dtype;
    std::string bytes, text;
  };
  const Case cases[] = {
      {1, raw<float>({1.5F, -2}), "float32 [2]  1.5 -2"},
      {2, raw<std::uint8_t>({1, 255}), "uint8 [2]  1 255"},
      {3, raw<std::int8_t>({1, -1}), "int8 [2]  1 -1"},
      {4, raw<std::uint16_t>({1, 65535}), "uint16 [2]  1 65535"},
      {5, raw<std::int16_t>({1, -1}), "int16 [2]  1 -1"},
      {6, raw<std::int32_t>({1, -1}), "int32 [2]  1 -1"},
      {7, raw<std::int64_t>({1, -1}), "int64 [2]  1 -1"},
      {9, "\x01\x02"s, "bool [2]  true true"},
      {10, "\x00\x3c\x00\xc0"s, "float16 [2]  1 -2"},
      {11, raw<double>({1.5, -2}), "float64 [2]  1.5 -2"},
      {12, raw<std::uint32_t>({1, 4294967295}), "uint32 [2]  1 4294967295"},
      {13, raw<std::uint64_t>({1, 18446744073709551615U}), "uint64 [2]  1 18446744073709551615"},
      {14, raw<float>({1, 2, 3, -4}), "complex64 [2]  1+2j 3-4j"},
      {15, raw<double>({1, 2, 3, -4}), "complex128 [2]  1+2j 3-4j"},
      {16, "\x80\x3f\x00\xc0"s, "bfloat16 [2]  1 -2"},
      {17, "\x38\xc0"s, "float8_e4m3fn [2]  1 -2"},
      {18, "\x40\xc8"s, "float8_e4m3fnuz [2]  1 -2"},
      {19, "\x3c\xc0"s, "float8_e5m2 [2]  1 -2"},
      {20, "\x40\xc4"s, "float8_e5m2fnuz [2]  1 -2"},
      {21, "\xf1"s, "uint4 [2]  1 15"},
      {22, "\xf1"s, "int4 [2]  1 -1"},
      {23, "\xc2"s, "float4_e2m1fn [2]  1 -2"},
      {24, "\x7f\x80"s, "float8_e8m0fnu [2]  1 2"},
      {25, "\x0d"s, "uint2 [2]  1 3"},
      {26, "\x0d"s, "int2 [2]  1 -1"},
  };
  for (const auto& one : cases)
    CHECK(text_of(tensor("w", one.dtype, {2}, raw_data(one.bytes))) == one.text);
}

TEST_CASE("tensor data: typed data of every element type") {
  using I32 = std::vector<std::int32_t>;
  using U64 = std::vector<std::uint64_t>;
  struct Case {
    std::int32_t dtype;
    std::string field, text;
  };
  const Case cases[] = {
      {1, packed<float>(4, {1.5F, -2}), "float32 [2]  1.5 -2"},
      {2, packed(5, I32{1, 255}), "uint8 [2]  1 255"},
      {3, packed(5, I32{1, -128}), "int8 [2]  1 -128"},
      {4, packed(5, I32{1, 65535}), "uint16 [2]  1 65535"},
      {5, packed(5, I32{1, -32768}), "int16 [2]  1 -32768"},
      {6, packed(5, I32{1, INT32_MIN}), "int32 [2]  1 -2147483648"},
      {7, packed(7, std::vector<std::int64_t>{1, INT64_MIN}), "int64 [2]  1 -9223372036854775808"},
      {9, packed(5, I32{0, 1}), "bool [2]  false true"},
      {10, packed(5, I32{0x3c00, 0xc000}), "float16 [2]  1 -2"},
      {11, packed<double>(10, {1.5, -2}), "float64 [2]  1.5 -2"},
      {12, packed(11, U64{1, 4294967295}), "uint32 [2]  1 4294967295"},
      {13, packed(11, U64{1, 18446744073709551615U}), "uint64 [2]  1 18446744073709551615"},
      {14, packed<float>(4, {1, 2, 3, -4}), "complex64 [2]  1+2j 3-4j"},
      {15, packed<double>(10, {1, 2, 3, -4}), "complex128 [2]  1+2j 3-4j"},
      {16, packed(5, I32{0x3f80, 0xc000}), "bfloat16 [2]  1 -2"},
      {17, packed(5, I32{0x38, 0xc0}), "float8_e4m3fn [2]  1 -2"},
      {21, packed(5, I32{0xf1}), "uint4 [2]  1 15"},
      {22, packed(5, I32{0xf1}), "int4 [2]  1 -1"},
      {23, packed(5, I32{0xc2}), "float4_e2m1fn [2]  1 -2"},
      {24, packed(5, I32{0x7f, 0x80}), "float8_e8m0fnu [2]  1 2"},
      {26, packed(5, I32{0x0d}), "int2 [2]  1 -1"},
  };
  for (const auto& one : cases) CHECK(text_of(tensor("w", one.dtype, {2}, one.field)) == one.text);
  // In several chunks, packed and unpacked.
  CHECK(text_of(
            tensor("w", 7, {4}, packed(7, std::vector<std::int64_t>{1, 2}) + message([](auto& to) {
                                  to.add_int64(7, 3);
                                  to.add_int64(7, 4);
                                }))) == "int64 [4]  1 2 3 4");
  CHECK(text_of(tensor("w", 1, {}, packed<float>(4, {7}))) == "float32 []  7");
  CHECK(text_of(tensor("w", 1, {2, 0}, "")) == "float32 [2, 0]");
  CHECK(text_of(tensor("w", 1, {0}, raw_data(""))) == "float32 [0]");
}

TEST_CASE("tensor data: the last byte of packed elements may be used in part") {
  using namespace std::string_literals;
  CHECK(text_of(tensor("w", 22, {3}, raw_data("\x21\xf7"s))) == "int4 [3]  1 2 7");
  CHECK(text_of(tensor("w", 25, {5}, raw_data("\xe4\xfe"s))) == "uint2 [5]  0 1 2 3 2");
  CHECK(text_of(tensor("w", 21, {1, 3}, packed(5, std::vector<std::int32_t>{0x21, 3}))) ==
        "uint4 [1, 3]  1 2 3");
  CHECK(text_of(tensor("w", 26, {0}, raw_data(""))) == "int2 [0]");
}

TEST_CASE("tensor data: unsupported tensors are rejected") {
  using I32 = std::vector<std::int32_t>;
  struct Case {
    std::string tensor, sentence;
  };
  const auto strings = message([](auto& to) { to.add_bytes(6, "a"); });
  const Case cases[] = {
      {tensor("w", 8, {1}, strings),
       "tensor 'w' has elements of type string, which Tenon does not support"},
      {tensor("w", 17, {1}, packed(5, I32{256})),
       "tensor 'w' has 256 as number 0, which is out of range for a byte of float8_e4m3fn"},
      {tensor("w", 21, {3}, packed(5, I32{1, -1})),
       "tensor 'w' has -1 as number 1, which is out of range for a byte of uint4"},
      {tensor("w", 22, {3}, packed(5, I32{1})),
       "tensor 'w' has 1 numbers, but its dimensions need 2"},
      {tensor("w", 26, {4}, packed(5, I32{1, 2})),
       "tensor 'w' has more than the 1 numbers that its dimensions need"},
      {tensor("w", 27, {4}, raw_data("abc")), "elements of type float6e2m3, which"},
      {tensor("w", 2, {1, 1, 1, 1, 1, 1, 1, 1, 1}, raw_data("a")),
       "tensor 'w' has 9 dimensions; at most 8 are supported"},
      {tensor("w", 3, {1}, packed(5, I32{128})),
       "tensor 'w' has 128 as element 0, which is out of range for int8"},
      {tensor("w", 2, {2}, packed(5, I32{1, -1})),
       "tensor 'w' has -1 as element 1, which is out of range for uint8"},
      {tensor("w", 4, {1}, packed(5, I32{65536})), "which is out of range for uint16"},
      {tensor("w", 5, {1}, packed(5, I32{32768})), "which is out of range for int16"},
      {tensor("w", 9, {1}, packed(5, I32{2})), "which is out of range for bool"},
      {tensor("w", 10, {1}, packed(5, I32{-1})), "which is out of range for float16"},
      {tensor("w", 12, {1}, packed(11, std::vector<std::uint64_t>{1ULL << 32})),
       "which is out of range for uint32"},
      {tensor("w", 6, {3}, packed(5, I32{1, 2})),
       "tensor 'w' has 2 numbers, but its dimensions need 3"},
      {tensor("w", 6, {1}, packed(5, I32{1, 2})),
       "tensor 'w' has more than the 1 numbers that its dimensions need"},
      {tensor("w", 14, {1}, packed<float>(4, {1})),
       "tensor 'w' has 1 numbers, but its dimensions need 2"},
      {tensor("w", 7, {1LL << 55}, packed(7, std::vector<std::int64_t>{1})),
       "the file is damaged or malicious"},
  };
  for (const auto& one : cases) {
    const auto found = failure(one.tensor);
    CHECK(found.kind == 4);
    CHECK_MESSAGE(found.message.find(one.sentence) != std::string::npos, found.message);
  }
}

TEST_CASE("tensor data: aligned raw data is used in place and keeps the file alive") {
  const auto bytes = model_of(tensor("w", 1, {3}, raw_data(raw<float>({1, 2, 3}))));
  int in_place = 0;
  for (std::size_t shift = 0; shift < 4; ++shift) {
    tenon::Tensor tensor;
    {
      const Memory memory(bytes, shift);
      const auto model = tenon::onnx::read_model(memory.file());
      tensor = TensorReader(model).read(model.graph.initializers[0]);
      in_place +=
          static_cast<const char*>(tensor.data()) == model.graph.initializers[0].bytes.data();
    }
    CHECK(tensor.to_string() == "float32 [3]  1 2 3");
    CHECK(!tensor.read_only());
  }
  CHECK(in_place == 1);
}

TEST_CASE("tensor data: sparse initializers become csr") {
  const auto values = tensor("s", 1, {3}, raw_data(raw<float>({5, 6, 7})));
  const auto read_sparse = [](const std::string& bytes, bool text) {
    ModelFields fields;
    fields.graph.sparse_initializers = {bytes};
    const auto model = read(fields.bytes());
    const auto tensor = TensorReader(model).read(model.graph.sparse_initializers[0]);
    return text ? tensor.to_string() : std::string();
  };
  const auto by_axis = [](const std::vector<std::int64_t>& places) {
    return tensor("", 7, {static_cast<std::int64_t>(places.size() / 2), 2}, raw_data(raw(places)));
  };
  const auto flat = [](const std::vector<std::int64_t>& places) {
    return tensor("", 7, {static_cast<std::int64_t>(places.size())}, raw_data(raw(places)));
  };
  const auto expected = "csr float32 [3, 2], 3 stored  (0, 1) 5 (2, 0) 6 (2, 1) 7";
  CHECK(read_sparse(sparse(values, by_axis({0, 1, 2, 0, 2, 1}), {3, 2}), true) == expected);
  CHECK(read_sparse(sparse(values, flat({1, 4, 5}), {3, 2}), true) == expected);
  CHECK(read_sparse(sparse(tensor("s", 1, {0}, ""), flat({}), {2, 2}), true) ==
        "csr float32 [2, 2], 0 stored");
  struct Case {
    std::string tensor, sentence;
  };
  const auto one = tensor("s", 1, {1}, raw_data(raw<float>({5})));
  const Case cases[] = {
      {sparse(values, flat({1, 5, 4}), {3, 2}),
       "tensor 's' has value 2 at [2, 0], not in ascending order"},
      {sparse(values, flat({1, 4, 4}), {3, 2}),
       "tensor 's' has value 2 at [2, 0], not in ascending order"},
      {sparse(values, flat({1, 4, 6}), {3, 2}),
       "tensor 's' has value 2 at [3, 0], outside of its shape [3, 2]"},
      {sparse(values, flat({-1, 4, 5}), {3, 2}), "outside of its shape [3, 2]"},
      {sparse(values, by_axis({0, 2, 2, 0, 2, 1}), {3, 2}),
       "tensor 's' has value 0 at [0, 2], outside of its shape [3, 2]"},
      {sparse(values, flat({1, 4, 5}), {6}),
       "tensor 's' is sparse and has 1 dimensions; only sparse matrices are supported"},
      {sparse(one, flat({1}), {1LL << 40, 4}), "the file is damaged or malicious"},
      {sparse(one, flat({1}), {INT64_MAX, 1}), "has too many rows"},
  };
  for (const auto& bad : cases) {
    const auto found = failure_of([&] { read_sparse(bad.tensor, false); });
    CHECK(found.kind == 4);
    CHECK_MESSAGE(found.message.find(bad.sentence) != std::string::npos, found.message);
  }
}
