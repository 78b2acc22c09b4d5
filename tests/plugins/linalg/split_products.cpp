// f32 products by the bf16x3 split: closer to the exact result than FMA accumulation for all
// numbers, with the same bits for any tiles, packing and layout.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "../../../plugins/shared/product/multiply.hpp"
#include "matrix_pair.hpp"

#if defined(TENON_WIDE_LEVELS)
using namespace by_hand;

namespace split_products {
namespace {

bool usable() {
  const bool has = product::this_processor().amx;
  if (!has) MESSAGE("skipped: this processor has no AMX");
  return has;
}

template <class Arithmetic>
std::vector<float> multiplied(const MatrixPair& of, const Way& way, product::Start start = {}) {
  const auto rows = of.size.rows, columns = of.size.columns, depth = of.size.depth;
  const auto left = way.transpose_left ? transposed(of.left, rows, depth) : of.left;
  const auto right = way.transpose_right ? transposed(of.right, depth, columns) : of.right;
  const gemm::Operand<float> a{left.data(), way.transpose_left ? rows : depth, way.transpose_left},
      b{right.data(), way.transpose_right ? depth : columns, way.transpose_right};
  using Packed = typename Arithmetic::Packed;
  const Arithmetic arithmetic(of.size);
  const auto size = way.packed ? static_cast<std::size_t>(arithmetic.packed_size()) : 0;
  constexpr std::size_t line = 64 / sizeof(Packed);
  std::vector<Packed> memory(size + line, Packed(7));
  auto* packed = memory.data();
  while (reinterpret_cast<std::uintptr_t>(packed) % 64 != 0) ++packed;
  if (way.packed) arithmetic.pack(b, packed);
  const float untouched = 12345;
  std::vector<float> result(static_cast<std::size_t>(rows * columns) + 1, untouched);
  std::vector<int> finished(result.size());
  const auto finish = [&](const product::Tile& tile) {
    for (auto i = tile.row; i < tile.row + tile.rows; ++i)
      for (auto j = tile.column; j < tile.column + tile.columns; ++j) {
        ++finished[static_cast<std::size_t>(i * columns + j)];
        if (result[static_cast<std::size_t>(i * columns + j)] == untouched) finished.back() = 1;
      }
  };
  with_threads(way.threads, [&](const tenon::Call& call) {
    product::multiply<Arithmetic>(call, a, {b, way.packed ? packed : nullptr}, result.data(),
                                  of.size, start, false, finish);
  });
  CHECK(result.back() == untouched);
  CHECK(finished.back() == 0);
  result.pop_back();
  finished.pop_back();
  CHECK(std::all_of(finished.begin(), finished.end(), [](int times) { return times == 1; }));
  return result;
}

/// The largest and the root-mean-square error, compared with double.
struct Errors {
  double largest = 0, square = 0;

  Errors(const MatrixPair& of, const std::vector<float>& result) {
    const auto [rows, columns, depth] = of.size;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0, sizes = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const double each =
              static_cast<double>(of.left[static_cast<std::size_t>(i * depth + k)]) *
              static_cast<double>(of.right[static_cast<std::size_t>(k * columns + j)]);
          sum += each;
          sizes += std::abs(each);
        }
        const double error = std::abs(result[static_cast<std::size_t>(i * columns + j)] - sum) /
                             std::max(sizes, 1e-300);
        largest = std::max(largest, error);
        square += error * error;
      }
  }
};

/// Numbers with 24 significant bits, so that none of the three bfloat16 numbers is zero; of both
/// signs or of one, with magnitudes up to 2^spread apart.
MatrixPair numbers_of(product::Size size, unsigned seed, int spread = 0, bool one_sign = false) {
  MatrixPair of(size, seed);
  std::mt19937 random(seed);
  for (auto* side : {&of.left, &of.right})
    for (auto& number : *side) {
      number = static_cast<float>(static_cast<double>(random()) / 2147483648.0 - 1);
      if (spread > 0)
        number = std::ldexp(number, -static_cast<int>(random() % static_cast<unsigned>(spread)));
      if (one_sign) number = std::abs(number);
    }
  return of;
}

constexpr Way plain{1, false, false, false};

}  // namespace
}  // namespace split_products

using namespace split_products;

TEST_CASE("products of f32 by bf16x3 are closer to the exact ones than by FMA") {
  if (!usable()) return;
  unsigned seed = 300;
  for (const auto& size :
       {product::Size{40, 70, 33}, product::Size{64, 64, 256}, product::Size{33, 48, 1100},
        product::Size{16, 48, 500}, product::Size{35, 50, 2048}})
    for (const int spread : {0, 12, 40})
      for (const bool one_sign : {false, true}) {
        CAPTURE(size.depth);
        CAPTURE(spread);
        CAPTURE(one_sign);
        const auto of = numbers_of(size, ++seed, spread, one_sign);
        const Errors by_bf16x3(of, multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain)),
            by_fma(of, multiplied<product::FmaArithmetic>(of, plain));
        CHECK(by_bf16x3.square < by_fma.square);
        CHECK(by_bf16x3.largest < std::max(1.5 * by_fma.largest, 3e-7));
      }
}

TEST_CASE("products of f32 by bf16x3: single products are within two roundings") {
  if (!usable()) return;
  // The depth has a single nonzero step: each element is one product.
  constexpr std::int64_t side = 512, depth = 32, used = 5;
  auto of = numbers_of({side, side, depth}, 77);
  for (std::size_t i = 0; i < of.left.size(); ++i)
    of.left[i] = i % depth == used ? of.left[i] + 1 : 0;
  const auto result = multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain);
  double largest = 0;
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j) {
      const double exact =
          static_cast<double>(of.left[static_cast<std::size_t>(i * depth + used)]) *
          static_cast<double>(of.right[static_cast<std::size_t>(used * side + j)]);
      largest = std::max(largest, std::abs(result[static_cast<std::size_t>(i * side + j)] - exact) /
                                      std::abs(exact));
    }
  CHECK(largest < 1.25 * std::ldexp(1.0, -23));
}

TEST_CASE("products of f32 by bf16x3 have the same bits for any tiles, packing and layout") {
  if (!usable()) return;
  unsigned seed = 500;
  for (const auto& size : product_sizes) {
    if (size.depth == 0) continue;
    CAPTURE(size.rows);
    CAPTURE(size.columns);
    CAPTURE(size.depth);
    for (const bool extreme : {false, true}) {
      auto of = numbers_of(size, seed += 2);
      if (extreme) {  // some rows and panels are computed by FMA
        const auto put = [](std::vector<float>& to, std::size_t i, float number) {
          if (!to.empty()) to[i % to.size()] = number;
        };
        put(of.left, 3, std::numeric_limits<float>::infinity());
        put(of.left, 7000, std::numeric_limits<float>::quiet_NaN());
        put(of.left, 20011, 1e30F);
        put(of.right, 69, -std::numeric_limits<float>::infinity());
        put(of.right, 800, std::numeric_limits<float>::max());
      }
      const auto sums = random_doubles({size.rows, size.columns + 3}, seed);
      const std::vector<float> numbers(sums.values.begin(), sums.values.end());
      const product::Start starts[] = {{}, {numbers.data(), 0}, {numbers.data(), size.columns + 3}};
      const auto start = starts[seed / 2 % 3];
      const auto first = multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain, start);
      for (const int threads : {1, 3, 16})
        for (int bits = 0; bits < 8; ++bits)
          CHECK(same_numbers(
              multiplied<product::bf16x3::Bf16x3Arithmetic>(
                  of, {threads, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}, start),
              first));
    }
  }
}

TEST_CASE(
    "products of f32 by bf16x3: infinities, NaN and huge numbers give the results of FMA, in their "
    "rows and columns only") {
  if (!usable()) return;
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  auto of = numbers_of({70, 100, 600}, 5);
  const auto before = multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain);
  of.left[3] = infinity;           // row 0, first segment of the depth
  of.left[40 * 600 + 580] = 1e9F;  // row 40, second segment: the result of the first one stays
  of.left[10 * 600 + 550] = std::numeric_limits<float>::quiet_NaN();  // row 10, second segment
  of.left[69 * 600 + 1] = 3.4e38F;                    // row 69; rounds to infinity in bfloat16
  of.right[98] = -std::numeric_limits<float>::max();  // the last panel, of columns 96 to 99
  const auto result = multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain),
             by_fma = multiplied<product::FmaArithmetic>(of, plain);
  for (std::size_t i = 0; i < 70; ++i)
    for (std::size_t j = 0; j < 100; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      const auto at = i * 100 + j;
      const bool touched = i == 0 || i == 10 || i == 40 || i == 69 || j >= 96;
      if (!touched) CHECK(result[at] == before[at]);
      CHECK(std::isnan(result[at]) == std::isnan(by_fma[at]));
      if (!std::isfinite(by_fma[at]) && !std::isnan(by_fma[at])) CHECK(result[at] == by_fma[at]);
      if (std::isfinite(by_fma[at]))
        CHECK(std::abs(result[at] - by_fma[at]) <= 1e-5F * std::max(20.0F, std::abs(by_fma[at])));
    }
}

TEST_CASE("products of f32 by bf16x3 are as close for tiny and for large numbers") {
  if (!usable()) return;
  const auto numbers = numbers_of({64, 64, 64}, 9);
  for (const float left : {1.0F, 1e-12F, 1e-19F, 1e-25F, 1e-40F, 1e6F, 1e12F})
    for (const float right : {1.0F, 1e-8F, 1e-19F, 1e-30F, 1e6F, 1e20F}) {
      CAPTURE(left);
      CAPTURE(right);
      auto of = numbers;
      for (auto& number : of.left) number *= left;
      for (auto& number : of.right) number *= right;
      const auto result = multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain),
                 by_fma = multiplied<product::FmaArithmetic>(of, plain);
      constexpr double least = 3e-44;  // differences of numbers without further bits
      for (std::size_t i = 0; i < result.size(); ++i)
        CHECK(std::abs(static_cast<double>(result[i]) - static_cast<double>(by_fma[i])) <=
              1e-5 * static_cast<double>(left) * static_cast<double>(right) + least);
    }
}

TEST_CASE(
    "products of f32 by bf16x3: any rows may be out of range, the last of a block, all of them, or "
    "none but zeros") {
  if (!usable()) return;
  const auto fit = numbers_of({96, 100, 70}, 21);
  const auto before = multiplied<product::bf16x3::Bf16x3Arithmetic>(fit, plain);
  for (const std::uint32_t rows :
       {1U << 31, 1U, 0xffffffffU, 0x80000001U, 0xfffffff0U, 0x0ff00ff0U}) {
    CAPTURE(rows);
    auto of = fit;
    for (std::size_t i = 0; i < 32; ++i)
      if ((rows >> i & 1) != 0) of.left[(32 + i) * 70 + i] = 1e10F;
    const auto result = multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain),
               by_fma = multiplied<product::FmaArithmetic>(of, plain);
    for (std::size_t i = 0; i < 96; ++i) {
      const bool changed = i >= 32 && i < 64 && (rows >> (i - 32) & 1) != 0;
      const auto first = static_cast<std::ptrdiff_t>(i * 100);
      CHECK(std::equal(result.begin() + first, result.begin() + first + 100,
                       (changed ? by_fma : before).begin() + first));
    }
  }
  auto zeros = fit;
  std::fill(zeros.left.begin() + 70 * 5, zeros.left.begin() + 70 * 40, 0.0F);
  const auto result = multiplied<product::bf16x3::Bf16x3Arithmetic>(zeros, plain);
  for (std::size_t i = 0; i < result.size(); ++i)
    CHECK(result[i] == (i >= 500 && i < 4000 ? 0 : before[i]));
}

TEST_CASE("products of f32 use bf16x3 if that is faster, by their size only") {
  if (!usable()) return;
  const auto by_bf16x3 = [](std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    return product::F32Arithmetic({rows, columns, depth}).packing() ==
           product::bf16x3::Bf16x3Arithmetic::packing();
  };
  CHECK(by_bf16x3(128, 512, 784));
  CHECK_FALSE(by_bf16x3(1, 512, 784));
  CHECK_FALSE(by_bf16x3(128, 10, 512));
  CHECK_FALSE(by_bf16x3(128, 512, 3));
  for (const product::Size& size : {product::Size{128, 100, 70}, product::Size{3, 100, 70}}) {
    const auto of = numbers_of(size, 3);
    const bool by_split = by_bf16x3(size.rows, size.columns, size.depth);
    const auto expected = by_split ? multiplied<product::bf16x3::Bf16x3Arithmetic>(of, plain)
                                   : multiplied<product::FmaArithmetic>(of, plain);
    for (const bool packed : {false, true})
      CHECK(
          same_numbers(multiplied<product::F32Arithmetic>(of, {2, false, true, packed}), expected));
  }
}
#endif
