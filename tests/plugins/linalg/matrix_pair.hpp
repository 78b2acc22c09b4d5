// Products of random matrices, for tests of product algorithms.
#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "../../../plugins/shared/product/tiles.hpp"
#include "plugins/array.hpp"

namespace by_hand {

struct MatrixPair {
  product::Size size;
  std::vector<float> left, right;

  MatrixPair(product::Size of, unsigned seed) : size(of) {
    const auto fill = [&](std::vector<float>& to, std::int64_t rows, std::int64_t columns) {
      const auto numbers = random_doubles({rows, columns}, seed++);
      to.assign(numbers.values.begin(), numbers.values.end());
    };
    fill(left, size.rows, size.depth);
    fill(right, size.depth, size.columns);
  }
};

inline std::vector<float> transposed(const std::vector<float>& from, std::int64_t rows,
                                     std::int64_t columns) {
  std::vector<float> to(from.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      to[static_cast<std::size_t>(j * rows + i)] = from[static_cast<std::size_t>(i * columns + j)];
  return to;
}

/// Whether all numbers are bit-identical; all NaN are considered equal.
inline bool same_numbers(const std::vector<float>& left, const std::vector<float>& right) {
  for (std::size_t i = 0; i < left.size(); ++i)
    if (std::memcmp(&left[i], &right[i], sizeof(float)) != 0 &&
        !(std::isnan(left[i]) && std::isnan(right[i])))
      return false;
  return left.size() == right.size();
}

struct Way {
  int threads;
  bool transpose_left, transpose_right, packed;
};

template <class Body>
void with_threads(int threads, Body&& body) {
  tenon_call raw{};
  raw.size = sizeof raw;
  raw.threads = threads;
  const tenon::detail::Names names{};
  body(tenon::Call(raw, names));
}

inline constexpr product::Size product_sizes[] = {
    {1, 1, 1},     {3, 5, 7},       {6, 64, 513},  {13, 65, 1025}, {50, 130, 40},
    {1, 200, 600}, {130, 17, 33},   {12, 16, 16},  {40, 1024, 20}, {9, 48, 530},
    {7, 5, 0},     {0, 4, 4},       {4, 0, 4},     {70, 1, 90},    {11, 31, 47},
    {270, 64, 3},  {30, 100, 1024}, {20, 300, 21}, {9, 24, 577},   {130, 270, 300}};

}  // namespace by_hand
