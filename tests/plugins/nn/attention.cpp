// attention against its definition in double, computed score by score.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "plugins/array.hpp"
#include "plugins/plugin_operator.hpp"

namespace {

struct AttentionRow {
  std::int64_t batch, q_heads, kv_heads, queries, keys, past, size, value_size;
  bool flat = false, causal = false;
  std::int64_t left = -1, right = -1;
  tenon::Shape mask = {};  ///< rank -1: no mask
  bool booleans = false;   ///< dtype of the mask
  Integers lengths = {};
  double scale = 0, softcap = 0;

  std::int64_t all() const { return past + keys; }
  tenon::Shape heads(std::int64_t heads, std::int64_t rows, std::int64_t width) const {
    return flat ? tenon::Shape{batch, rows, heads * width}
                : tenon::Shape{batch, heads, rows, width};
  }
  std::int64_t at(std::int64_t heads, std::int64_t rows, std::int64_t width, std::int64_t b,
                  std::int64_t h, std::int64_t row) const {
    return flat ? (b * rows + row) * heads * width + h * width
                : ((b * heads + h) * rows + row) * width;
  }
};

struct Arguments {
  DoubleArray query, key, value, mask, past_key, past_value;
};

struct Results {
  DoubleArray output, masked, shares;
};

constexpr double never = -std::numeric_limits<double>::infinity();

Results attend(const AttentionRow& row, const Arguments& of) {
  Results results{zeros(row.heads(row.q_heads, row.queries, row.value_size)),
                  zeros({row.batch, row.q_heads, row.queries, row.all()}),
                  {}};
  results.shares = results.masked;
  const auto group = row.q_heads / row.kv_heads;
  const double scale = row.scale > 0 ? row.scale : 1 / std::sqrt(static_cast<double>(row.size));
  for (std::int64_t b = 0; b < row.batch; ++b)
    for (std::int64_t h = 0; h < row.q_heads; ++h)
      for (std::int64_t i = 0; i < row.queries; ++i) {
        const auto first = ((b * row.q_heads + h) * row.queries + i) * row.all();
        const auto length =
            row.lengths.empty() ? row.all() : row.lengths[static_cast<std::size_t>(b)];
        const auto own = i + (row.lengths.empty() ? row.past : length - row.queries);
        double most = never, sum = 0;
        const auto element = [&](const DoubleArray& past, const DoubleArray& current,
                                 std::int64_t width, std::int64_t n, std::int64_t k) {
          return n < row.past
                     ? past[((b * row.kv_heads + h / group) * row.past + n) * width + k]
                     : current[row.at(row.kv_heads, row.keys, width, b, h / group, n - row.past) +
                               k];
        };
        for (std::int64_t n = 0; n < row.all(); ++n) {
          double score = 0;
          for (std::int64_t k = 0; k < row.size; ++k)
            score += of.query[row.at(row.q_heads, row.queries, row.size, b, h, i) + k] * scale *
                     element(of.past_key, of.key, row.size, n, k);
          if (row.softcap > 0) score = row.softcap * std::tanh(score / row.softcap);
          const bool seen = n < length && (!row.causal || n <= own) &&
                            (row.left < 0 || own - n <= row.left) &&
                            (row.right < 0 || n - own <= row.right);
          if (row.mask.rank() > 0) {
            const std::int64_t full[] = {b, h, i, n};
            std::int64_t place = 0;
            bool inside = true;
            for (int axis = 0; axis < row.mask.rank(); ++axis) {
              const auto size = row.mask[axis], index = full[4 - row.mask.rank() + axis];
              inside = inside && (size == 1 || index < size);
              place = place * size + (size == 1 ? 0 : index);
            }
            score += !inside        ? never
                     : row.booleans ? (of.mask[place] > 0 ? 0 : never)
                                    : of.mask[place];
          }
          results.masked[first + n] = seen ? score : never;
          most = std::max(most, results.masked[first + n]);
        }
        for (std::int64_t n = 0; n < row.all() && most > never; ++n)
          sum += std::exp(results.masked[first + n] - most);
        for (std::int64_t n = 0; n < row.all() && most > never; ++n) {
          const double share = std::exp(results.masked[first + n] - most) / sum;
          results.shares[first + n] = share;
          for (std::int64_t k = 0; k < row.value_size && share > 0; ++k)
            results.output[row.at(row.q_heads, row.queries, row.value_size, b, h, i) + k] +=
                share * element(of.past_value, of.value, row.value_size, n, k);
        }
      }
  return results;
}

Array random_numbers(tenon::DType dtype, const tenon::Shape& shape, unsigned seed) {
  return Array(dtype, random_doubles(shape, seed));
}

void check_near(const Array& found, const DoubleArray& expected, double tolerance) {
  const auto doubles = found.doubles();
  REQUIRE(doubles.size() == expected.size());
  double worst = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    if (std::isinf(expected[i])) {
      REQUIRE(doubles[i] == expected[i]);
    } else {
      worst = std::max(worst, std::abs(doubles[i] - expected[i]) / (1 + std::abs(expected[i])));
    }
  }
  CHECK(worst < tolerance);
}

void check_attention(const AttentionRow& row, tenon::DType dtype) {
  CAPTURE(dtype);
  std::vector<Array> inputs{
      random_numbers(dtype, row.heads(row.q_heads, row.queries, row.size), 1),
      random_numbers(dtype, row.heads(row.kv_heads, row.keys, row.size), 2),
      random_numbers(dtype, row.heads(row.kv_heads, row.keys, row.value_size), 3)};
  inputs.resize(7);
  if (row.mask.rank() > 0)
    inputs[3] = random_numbers(row.booleans ? tenon::boolean : dtype, row.mask, 4);
  if (row.booleans)
    for (std::int64_t i = 0; i < row.mask.size(); ++i) inputs[3].data<bool>()[i] = i % 3 != 1;
  if (row.past > 0) {
    inputs[4] = random_numbers(dtype, {row.batch, row.kv_heads, row.past, row.size}, 5);
    inputs[5] = random_numbers(dtype, {row.batch, row.kv_heads, row.past, row.value_size}, 6);
  }
  if (!row.lengths.empty()) {
    inputs[6] = Array(tenon::i64, tenon::Shape{row.batch});
    for (std::int64_t b = 0; b < row.batch; ++b)
      inputs[6].data<std::int64_t>()[b] = row.lengths[static_cast<std::size_t>(b)];
  }
  const auto doubles = [&](std::size_t i) {
    return inputs[i] ? inputs[i].doubles() : DoubleArray{};
  };
  const auto expected =
      attend(row, {doubles(0), doubles(1), doubles(2), doubles(3), doubles(4), doubles(5)});
  const double tolerance = dtype == tenon::f64   ? 1e-13
                           : dtype == tenon::f32 ? 1e-5
                           : dtype == tenon::f16 ? 2e-3
                                                 : 1.5e-2;
  for (const std::string shown : {"masked", "softmax"}) {
    tenon::Attributes current{{"causal", row.causal},
                              {"left_window", row.left},
                              {"right_window", row.right},
                              {"scale", row.scale},
                              {"softcap", row.softcap},
                              {"scores_are", shown},
                              {"q_heads", row.flat ? row.q_heads : 0},
                              {"kv_heads", row.flat ? row.kv_heads : 0}};
    PluginOperator op("nn", "attention", current);
    std::vector<Array> states;
    const auto found = op.forward(inputs, states, {});
    check_near(found[0], expected.output, tolerance);
    check_near(found[3], shown == "masked" ? expected.masked : expected.shares, tolerance);
    for (const int threads : {2, 3}) {
      const auto others = op.forward(inputs, states, {false, threads});
      for (std::size_t i = 0; i < 4; ++i) CHECK(others[i].same_bits(found[i]));
    }
  }
}

}  // namespace

TEST_CASE("attention matches its definition, with the same bits on 1 to 3 threads") {
  const AttentionRow rows[] = {
      {2, 3, 3, 5, 7, 0, 8, 6},
      {2, 4, 2, 5, 7, 0, 8, 6, true},
      {1, 6, 2, 4, 3, 5, 7, 9, false, true},
      {2, 2, 1, 6, 9, 0, 16, 16, true, true, 2, 1},
      {1, 2, 2, 6, 9, 0, 5, 4, false, false, 3, 0},
      {1, 2, 2, 6, 9, 0, 5, 4, false, false, INT64_MAX, INT64_MAX},
      {2, 3, 3, 5, 7, 0, 8, 6, false, false, -1, -1, {5, 7}},
      {2, 3, 3, 5, 7, 0, 8, 6, false, true, -1, -1, {2, 1, 5, 4}},  // fewer keys than there are
      {2, 4, 2, 5, 7, 2, 8, 6, true, false, -1, -1, {4, 1, 9}, true},
      {2, 3, 3, 5, 7, 0, 8, 6, false, false, -1, -1, {2, 1, 1, 1}},  // one element for all keys
      {3, 2, 2, 2, 9, 0, 4, 4, false, true, -1, -1, {}, false, {9, 2, 4}},
      {2, 2, 2, 3, 6, 0, 4, 4, true, false, -1, -1, {3, 6}, false, {6, 0}, 0.25, 1.5},
      {1, 2, 1, 5, 70, 0, 64, 70, false, true, -1, -1, {}, false, {}, 0, 0},
      {1, 1, 1, 1, 1, 0, 1, 1},
  };
  for (const auto& row : rows)
    for (const auto dtype : all_floating) {
      INFO(row.q_heads, " heads of ", row.queries, " queries, ", row.all(), " keys, mask of ",
           row.mask.rank(), " axes");
      check_attention(row, dtype);
    }
  check_attention({1, 3, 1, 150, 300, 0, 20, 33, true, true}, tenon::f32);  // several blocks
  check_attention({1, 1, 1, 40, 12000, 0, 3, 5, false, false, 7, 9},
                  tenon::f32);  // few queries per block
}

TEST_CASE("attention does not read keys that no query attends to") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto key = random_doubles({2, 1, 6, 4}, 1), value = random_doubles({2, 1, 6, 4}, 2);
  const auto query = random_doubles({2, 1, 2, 4}, 3);
  const auto run = [&] {
    std::vector<Array> inputs{Array(tenon::f32, query), Array(tenon::f32, key),
                              Array(tenon::f32, value)};
    inputs.resize(7);
    inputs[6] = Array(tenon::i64, tenon::Shape{2});
    inputs[6].data<std::int64_t>()[0] = 3;
    inputs[6].data<std::int64_t>()[1] = 5;
    std::vector<Array> states;
    return PluginOperator("nn", "attention", {}).forward(inputs, states, {})[0];
  };
  const auto clean = run();
  for (std::int64_t k = 0; k < 4; ++k) {
    for (std::int64_t n = 3; n < 6; ++n) key[n * 4 + k] = value[n * 4 + k] = nan;
    key[(6 + 5) * 4 + k] = value[(6 + 5) * 4 + k] = nan;
  }
  CHECK(run().same_bits(clean));
}
