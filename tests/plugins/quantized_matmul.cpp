// Products of 8-bit integers: exact sums in every format of the micro-kernels, and scaled and
// quantized results. Oracle: sums in int64, and the formula of each step in float32.
#include "../../plugins/shared/product/multiply_int8.hpp"
#include "numbers.hpp"

using namespace plugin_tests;

namespace {

namespace int8 = product::int8;
using Integers8 = std::vector<int>;

/// Numbers of the whole range of the dtype, among them its limits.
Integers8 drawn(DType dtype, std::int64_t count, unsigned seed) {
  const int low = dtype == tenon::i8 ? -128 : 0;
  Integers8 numbers;
  std::uint64_t state = seed + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    numbers.push_back(low + (i % 7 == 0 ? 255 : static_cast<int>(state >> 56)));
  }
  return numbers;
}

Tensor tensor_of(DType dtype, const Shape& shape, const Integers8& numbers) {
  return tensor(dtype, shape, Doubles(numbers.begin(), numbers.end()));
}

/// Sums of the product of a [rows, depth] and b, [depth, columns] or transposed.
struct Exact {
  product::Size size;
  DType a_dtype, b_dtype;
  bool transposed;
  Integers8 a = drawn(a_dtype, size.rows*size.depth, 1),
            b = drawn(b_dtype, size.depth*size.columns, 2);

  std::int64_t sum(std::int64_t row, std::int64_t column, int a_zero, int b_zero) const {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < size.depth; ++k)
      sum += std::int64_t{a[static_cast<std::size_t>(row * size.depth + k)] - a_zero} *
             (b[static_cast<std::size_t>(transposed ? column * size.depth + k
                                                    : k * size.columns + column)] -
              b_zero);
    return sum;
  }
};

/// Computes the product in one format, as one tile.
std::vector<std::int32_t> product_in(const int8::Format& format, const Exact& exact, int a_zero,
                                     const std::vector<int>& b_zeros) {
  const auto size = exact.size;
  const auto bytes = [](const Integers8& from) {
    return std::vector<std::uint8_t>(from.begin(), from.end());
  };
  const auto a = bytes(exact.a), b = bytes(exact.b);
  const int8::PackedRight right(size.depth, size.columns, format);
  std::vector<std::uint32_t> packed(right.bytes() / sizeof(std::uint32_t));
  right.pack(
      {b.data(), exact.b_dtype, exact.transposed ? size.depth : size.columns, exact.transposed},
      packed.data());
  const int8::ZeroPoints zeros(format, size, right.sums(packed.data()), exact.a_dtype, a_zero,
                               exact.b_dtype, b_zeros);
  std::vector<std::int32_t> result(static_cast<std::size_t>(size.rows * size.columns));
  int8::multiply_tile(
      format, size, packed.data(), zeros, {0, size.rows, 0, size.columns},
      [&](std::int64_t row, std::int64_t rows, std::int64_t step, auto* words, auto* sums) {
        int8::fill_rows(format, {a.data(), exact.a_dtype, size.depth}, size.depth, row, rows, step,
                        words, sums);
      },
      [&](const product::Tile& tile, const std::int32_t* sums) {
        for (std::int64_t i = 0; i < tile.rows; ++i)
          std::copy_n(sums + i * int8::max_columns, tile.columns,
                      result.begin() + (tile.row + i) * size.columns + tile.column);
      });
  return result;
}

std::vector<product::Algorithm> formats() {
  std::vector<product::Algorithm> all{product::Algorithm::int8_scalar};
#if defined(TENON_WIDE_LEVELS)
  if (product::this_vectors() != product::Vectors::scalar)
    all.push_back(product::Algorithm::int8_avx2);
  if (product::this_processor().vnni) all.push_back(product::Algorithm::int8_vnni);
#endif
  return all;
}

}  // namespace

TEST_CASE("sums of products of 8-bit integers are exact in every format") {
  const product::Size sizes[] = {{1, 1, 1},   {12, 32, 4},   {13, 33, 5},    {6, 16, 2},
                                 {25, 17, 3}, {100, 70, 37}, {3, 130, 1025}, {200, 5, 64}};
  for (const auto algorithm : formats())
    for (const auto& size : sizes)
      for (const auto a : {tenon::u8, tenon::i8})
        for (const auto b : {tenon::u8, tenon::i8})
          for (const bool transposed : {false, true}) {
            const Exact exact{size, a, b, transposed};
            const int a_zero = a == tenon::u8 ? 131 : -7;
            auto b_zeros = drawn(b, size.columns, 3);
            CAPTURE(static_cast<int>(algorithm));
            CAPTURE(size.depth);
            for (const bool by_column : {false, true}) {
              if (!by_column) b_zeros.clear();
              const auto found =
                  product_in(int8::format_of(algorithm), exact, by_column ? a_zero : 0, b_zeros);
              bool equal = true;
              for (std::int64_t i = 0; i < size.rows; ++i)
                for (std::int64_t j = 0; j < size.columns; ++j)
                  equal =
                      equal && found[static_cast<std::size_t>(i * size.columns + j)] ==
                                   exact.sum(i, j, by_column ? a_zero : 0,
                                             by_column ? b_zeros[static_cast<std::size_t>(j)] : 0);
              CHECK(equal);
              b_zeros = drawn(b, size.columns, 3);
            }
          }
}

TEST_CASE("quantized_matmul: int32 sums, float32 and quantized products, one rounding per step") {
  const product::Size size{9, 37, 50};
  for (const auto b_dtype : {tenon::u8, tenon::i8}) {
    const Exact exact{size, tenon::u8, b_dtype, true};
    const auto a = tensor_of(tenon::u8, {9, 50}, exact.a),
               b = tensor_of(b_dtype, {37, 50}, exact.b);
    const auto scales = arbitrary(tenon::f32, {37}, 1, 9, 4),
               bias = arbitrary(tenon::f32, {37}, -999, 999, 5);
    const auto a_zero = tensor(tenon::u8, {1}, {120});
    Doubles sums, floats, bytes;
    for (std::int64_t i = 0; i < size.rows; ++i)
      for (std::int64_t j = 0; j < size.columns; ++j) {
        const auto at = static_cast<std::size_t>(j);
        sums.push_back(static_cast<double>(exact.sum(i, j, 120, 0)));
        const float scaled =
            static_cast<float>(exact.sum(i, j, 120, 0)) * (0.25F * scales.values<float>()[at]);
        floats.push_back(std::fmax(scaled + bias.values<float>()[at], 0.0F));
        const float quotient = static_cast<float>(floats.back()) / 300.5F;
        bytes.push_back(std::fmin(std::nearbyint(quotient) - 100, 127));
      }
    const Attributes layer{{"transpose_b", true}, {"b_axis", -2}, {"activation", "relu"}};
    const Shape shape{9, 37};
    check_near(host().call("quantized_matmul", {a, b, {}, a_zero}, {{"transpose_b", true}}),
               tenon::i32, shape, sums, 0);
    const auto quarter = tensor(tenon::f32, {1}, {0.25});
    check_near(host().call("quantized_matmul", {a, b, quarter, a_zero, scales, {}, bias}, layer),
               tenon::f32, shape, floats, 0);
    check_near(host().call("quantized_matmul",
                           {a,
                            b,
                            quarter,
                            a_zero,
                            scales,
                            {},
                            bias,
                            tensor(tenon::f32, {1}, {300.5}),
                            tensor(tenon::i8, {1}, {-100})},
                           layer),
               tenon::i8, shape, bytes, 0);
  }
}

TEST_CASE("quantized products round halves to even, and saturate") {
  const auto a = tensor(tenon::u8, {6, 1}, {1, 3, 5, 255, 0, 7}),
             b = tensor(tenon::i8, {1, 1}, {1}), half = tensor(tenon::f32, {1}, {0.5}),
             one = tensor(tenon::f32, {1}, {1});
  check_near(host().call("quantized_matmul", {a, b, half, {}, one, {}, {}, one}), tenon::u8, {6, 1},
             {0, 2, 2, 128, 0, 4}, 0);
  check_near(host().call("quantized_matmul", {a, b, one, {}, one, {}, {}, half}), tenon::u8, {6, 1},
             {2, 6, 10, 255, 0, 14}, 0);
}

TEST_CASE("quantized_matmul refuses operands without scales, other scales and deep sums") {
  const auto a = tensor(tenon::u8, {2, 3}, Doubles(6)), b = tensor(tenon::i8, {3, 4}, Doubles(12)),
             one = tensor(tenon::f32, {1}, {1}), two = tensor(tenon::f32, {2}, {1, 1});
  check_says(failure("quantized_matmul", {a, b, one}), {"a_scale", "b_scale"});
  check_says(failure("quantized_matmul", {a, b, two, {}, one}), {"a_scale", "[2]", "one element"});
  check_says(failure("quantized_matmul", {a, b, one, {}, two}), {"b_scale", "[2]", "4 columns"});
  check_says(failure("quantized_matmul", {a, b}, {{"activation", "relu"}}), {"activation"});
  const auto four = tensor(tenon::f32, {4}, {1, 1, 1, 1}),
             square = tensor(tenon::i8, {4, 4}, Doubles(16)),
             rows = tensor(tenon::u8, {2, 4}, Doubles(8));
  for (const bool transposed : {false, true})
    for (const std::int64_t axis : {-7, -3, -2, -1, 0, 1, 2}) {
      CAPTURE(axis);
      CAPTURE(transposed);
      const Attributes layer{{"b_axis", axis}, {"transpose_b", transposed}};
      if (axis == (transposed ? 0 : 1) || axis == (transposed ? -2 : -1))
        CHECK_NOTHROW(host().call("quantized_matmul", {rows, square, one, {}, four}, layer));
      else
        check_says(failure("quantized_matmul", {rows, square, one, {}, four}, layer),
                   {"b_scale", "one element"});
    }
  const auto row = tensor(tenon::u8, {1, 70000}, Doubles(70000)),
             column = tensor(tenon::i8, {70000, 1}, Doubles(70000));
  check_says(failure("quantized_matmul", {row, column, one, {}, one}), {"70000", "int32"});
}
