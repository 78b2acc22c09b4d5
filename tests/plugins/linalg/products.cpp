// f32 matrix products against their definition: each element is accumulated by FMA in a single
// accumulator, bit for bit, for any tiles, packing and layout, on every vector level.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "../../../plugins/shared/product/multiply_bf16.hpp"
#include "matrix_pair.hpp"
#include "sdk/vector_levels.hpp"

using namespace by_hand;

namespace {

/// `fused`: with FMA, as on AVX2 and AVX-512.
std::vector<float> by_definition(const MatrixPair& of, const float* start, std::int64_t start_row,
                                 bool fused) {
  const auto [rows, columns, depth] = of.size;
  std::vector<float> result(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = start ? start[i * start_row + j] : 0.0F;
      for (std::int64_t k = 0; k < depth; ++k) {
        const float a = of.left[static_cast<std::size_t>(i * depth + k)],
                    b = of.right[static_cast<std::size_t>(k * columns + j)];
        const float together = a * b;
        sum = fused ? std::fma(a, b, sum) : together + sum;
      }
      result[static_cast<std::size_t>(i * columns + j)] = sum;
    }
  return result;
}

std::vector<float> multiplied(const MatrixPair& of, const Way& way, const float* start,
                              std::int64_t start_row) {
  const auto rows = of.size.rows, columns = of.size.columns, depth = of.size.depth;
  const auto left = way.transpose_left ? transposed(of.left, rows, depth) : of.left;
  const auto right = way.transpose_right ? transposed(of.right, depth, columns) : of.right;
  const gemm::Operand<float> a{left.data(), way.transpose_left ? rows : depth, way.transpose_left},
      b{right.data(), way.transpose_right ? depth : columns, way.transpose_right};
  std::vector<float> packed;
  if (way.packed) {
    packed.assign(static_cast<std::size_t>(product::packed_size(depth, columns)),
                  std::numeric_limits<float>::quiet_NaN());
    product::pack(b, depth, columns, packed.data());
  }
  const float untouched = 12345;
  std::vector<float> result(static_cast<std::size_t>(rows * columns) + 1, untouched);
  std::vector<int> finished(result.size());
  std::vector<float> at_finish(result.size());
  const auto finish = [&](const product::Tile& tile) {
    for (auto i = tile.row; i < tile.row + tile.rows; ++i)
      for (auto j = tile.column; j < tile.column + tile.columns; ++j) {
        ++finished[static_cast<std::size_t>(i * columns + j)];
        at_finish[static_cast<std::size_t>(i * columns + j)] =
            result[static_cast<std::size_t>(i * columns + j)];
      }
  };
  with_threads(way.threads, [&](const tenon::Call& call) {
    product::multiply<product::FmaArithmetic>(call, a, {b, way.packed ? packed.data() : nullptr},
                                              result.data(), of.size, {start, start_row}, false,
                                              finish);
  });
  CHECK(result.back() == untouched);
  result.pop_back();
  finished.pop_back();
  at_finish.pop_back();
  CHECK(same_numbers(at_finish, result));
  CHECK(std::all_of(finished.begin(), finished.end(), [](int times) { return times == 1; }));
  return result;
}

void check_all_ways(const MatrixPair& of, bool fused) {
  const auto sums = random_doubles({of.size.rows + 1, of.size.columns}, 7);
  const std::vector<float> start(sums.values.begin(), sums.values.end());
  const struct {
    const float* data;
    std::int64_t row;
  } starts[] = {{nullptr, 0}, {start.data(), 0}, {start.data(), of.size.columns}};
  // Every start with every layout, and every number of threads with every layout.
  for (std::size_t i = 0; i < std::size(starts); ++i) {
    const auto& from = starts[i];
    const auto expected = by_definition(of, from.data, from.row, fused);
    for (std::size_t bits = 0; bits < 8; ++bits) {
      const int threads = std::array{1, 3, 16}[(i + bits) % 3];
      CAPTURE(threads);
      CAPTURE(bits);
      CHECK(
          same_numbers(multiplied(of, {threads, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0},
                                  from.data, from.row),
                       expected));
    }
  }
}

}  // namespace

#if defined(TENON_WIDE_LEVELS)
TEST_CASE(
    "products of f32 use one FMA accumulator per element, for any tiles, packing and layout, on "
    "every vector level") {
  for (const auto level : by_hand::vector_levels()) {
    const by_hand::AtLevel at(level);
    unsigned seed = 1;
    for (const auto& size : product_sizes) {
      CAPTURE(static_cast<int>(level));
      CAPTURE(size.rows);
      CAPTURE(size.columns);
      CAPTURE(size.depth);
      check_all_ways(MatrixPair(size, seed += 2), level != by_hand::VectorLevel::plain);
    }
  }
}

TEST_CASE("products of f32 pack the right side in zero-padded panels, on every vector level") {
  const std::int64_t depth = 37, columns = 149;
  const auto numbers = random_doubles({depth, columns}, 3);
  const std::vector<float> right(numbers.values.begin(), numbers.values.end()),
      turned = transposed(right, depth, columns);
  for (const auto level : by_hand::vector_levels()) {
    const by_hand::AtLevel at(level);
    const auto panel = product::usable_level().cut.panel;
    for (const bool transpose : {false, true}) {
      std::vector<float> packed(static_cast<std::size_t>(product::packed_size(depth, columns)),
                                std::numeric_limits<float>::quiet_NaN());
      product::pack(
          {transpose ? turned.data() : right.data(), transpose ? depth : columns, transpose}, depth,
          columns, packed.data());
      std::vector<float> expected;
      for (std::int64_t first = 0; first < columns; first += panel)
        for (std::int64_t k = 0; k < depth; ++k)
          for (std::int64_t j = first;
               j < first + std::min(panel, product::padded(columns - first)); ++j)
            expected.push_back(j < columns ? right[static_cast<std::size_t>(k * columns + j)]
                                           : 0.0F);
      CHECK(same_numbers(packed, expected));
    }
  }
}

TEST_CASE("products of f32 are added to sums as a whole, on every vector level") {
  for (const auto level : by_hand::vector_levels()) {
    const by_hand::AtLevel at(level);
    for (const auto& size :
         {product::Size{7, 19, 40}, product::Size{50, 130, 300}, product::Size{300, 275, 9}}) {
      CAPTURE(static_cast<int>(level));
      CAPTURE(size.rows);
      const MatrixPair of(size, 31);
      const auto before = random_doubles({size.rows, size.columns}, 9);
      for (const int threads : {1, 3}) {
        const std::vector<float> sums(before.values.begin(), before.values.end());
        const auto products = multiplied(of, {threads, true, false, false}, nullptr, 0);
        std::vector<float> expected;
        for (std::size_t i = 0; i < sums.size(); ++i) expected.push_back(sums[i] + products[i]);
        auto result = sums;
        const auto left = transposed(of.left, size.rows, size.depth);
        with_threads(threads, [&](const tenon::Call& call) {
          product::multiply<product::FmaArithmetic>(call, {left.data(), size.rows, true},
                                                    {{of.right.data(), size.columns, false}},
                                                    result.data(), size, {}, true);
        });
        CHECK(same_numbers(result, expected));
      }
    }
  }
}

TEST_CASE(
    "products of f32 with infinities and NaN match the definition, and affect only their rows and "
    "columns") {
  for (const auto level : by_hand::vector_levels()) {
    const by_hand::AtLevel at(level);
    MatrixPair of({20, 70, 30}, 5);
    of.left[3] = std::numeric_limits<float>::infinity();
    of.left[100] = std::numeric_limits<float>::quiet_NaN();
    of.right[69] = -std::numeric_limits<float>::infinity();
    of.right[800] = std::numeric_limits<float>::max();
    check_all_ways(of, level != by_hand::VectorLevel::plain);
  }
}

namespace {

/// The product in double, for elements rounded to bfloat16 first.
std::vector<double> of_rounded(const MatrixPair& of, product::Start start) {
  const auto rows = of.size.rows, columns = of.size.columns, depth = of.size.depth;
  const auto rounded = [](float value) {
    return static_cast<double>(static_cast<float>(tenon::bfloat16(value)));
  };
  std::vector<double> result;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = start.data ? static_cast<double>(*start.at(i, j).data) : 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += rounded(of.left[static_cast<std::size_t>(i * depth + k)]) *
               rounded(of.right[static_cast<std::size_t>(k * columns + j)]);
      result.push_back(sum);
    }
  return result;
}

std::vector<float> multiplied_bf16(const MatrixPair& of, const Way& way, product::Start start) {
  const auto rows = of.size.rows, columns = of.size.columns, depth = of.size.depth;
  const auto left = way.transpose_left ? transposed(of.left, rows, depth) : of.left;
  const auto right = way.transpose_right ? transposed(of.right, depth, columns) : of.right;
  const gemm::Operand<float> a{left.data(), way.transpose_left ? rows : depth, way.transpose_left},
      b{right.data(), way.transpose_right ? depth : columns, way.transpose_right};
  std::vector<product::bf16::Bits> packed;
  if (way.packed) {
    packed.assign(static_cast<std::size_t>(product::bf16::packed_size(depth, columns)), 0x7fc0);
    product::bf16::pack(b, depth, columns, packed.data());
  }
  std::vector<float> result(static_cast<std::size_t>(rows * columns),
                            std::numeric_limits<float>::quiet_NaN());
  with_threads(way.threads, [&](const tenon::Call& call) {
    product::multiply<product::bf16::Bf16Arithmetic>(
        call, a, {b, way.packed ? packed.data() : nullptr}, result.data(), of.size, start);
  });
  return result;
}

}  // namespace

TEST_CASE(
    "products in bfloat16 are those of rounded elements, with the same bits for any tiles, packing "
    "and layout") {
  if (!product::multiplies_bf16()) {
    MESSAGE("skipped: this processor has no AVX512-BF16");
    return;
  }
  unsigned seed = 100;
  for (auto size : product_sizes) {
    if (size.depth > 1000) size.depth += 1024;
    CAPTURE(size.rows);
    CAPTURE(size.columns);
    CAPTURE(size.depth);
    const MatrixPair of(size, seed += 2);
    const auto sums = random_doubles({size.rows, size.columns + 3}, seed);
    const std::vector<float> numbers(sums.values.begin(), sums.values.end());
    const product::Start starts[] = {{}, {numbers.data(), 0}, {numbers.data(), size.columns + 3}};
    const auto start = starts[seed / 2 % 3];
    const auto first = multiplied_bf16(of, {1, false, false, false}, start);
    const auto expected = of_rounded(of, start);
    double furthest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      furthest = std::max(furthest, std::abs(static_cast<double>(first[i]) - expected[i]));
    CHECK(furthest <= 1e-7 * (10 + static_cast<double>(size.depth)));
    for (const int threads : {1, 3, 16})
      for (int bits = 0; bits < 8; ++bits)
        CHECK(same_numbers(
            multiplied_bf16(of, {threads, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0},
                            start),
            first));
  }
}
#endif
