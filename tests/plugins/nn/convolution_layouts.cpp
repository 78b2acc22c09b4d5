// convolution in all layouts, with and without packed weights, and split into chunks: the
// definition's values, and the same bits.
#include <doctest/doctest.h>

#include <cmath>

#include "convolution_case.hpp"

namespace {

void check_layouts(const ConvolutionRow& row) {
  const auto test = convolution(row);
  std::vector<DoubleArray> given;
  for (const auto& input : test.inputs) given.push_back(input ? input.doubles() : DoubleArray{});
  const auto expected = test.oracle(given)[0];
  INFO("convolution of ", test.name);
  const double terms = static_cast<double>(channel_size(test.inputs[1].type().shape) *
                                           test.inputs[1].type().shape[1]);
  for (const bool last : {false, true}) {
    PluginOperator op("nn", "convolution", test.attributes);
    std::vector<Array> states;
    PluginOperator::Mode mode;
    if (last) mode = {false, 1, {0}, true};
    const auto found = op.forward(test.inputs, states, mode)[0];
    const auto doubles = found.doubles();
    double worst = 0;
    for (std::int64_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::abs(doubles[i] - expected[i]) / (1 + std::abs(expected[i])));
    CHECK(worst < 2e-6 * std::sqrt(terms));  // of rounding in f32
    for (const int threads : {1, 2, 3})
      for (const bool prepared : {false, true}) {
        auto other = mode;
        other.threads = threads;
        if (prepared) other.constants = {1, 2};
        CAPTURE(last);
        CAPTURE(threads);
        CAPTURE(prepared);
        CHECK(op.forward(test.inputs, states, other)[0].same_bits(found));
      }
  }
}

}  // namespace

TEST_CASE(
    "convolution matches its definition in plain and channels-last tensors, with the same bits on "
    "1 to 3 threads, with and without "
    "packed weights") {
  const ConvolutionRow rows[] = {
      {{1, 16, 40, 33}, 32, {3, 3}, {}, {1}},   // split into rows
      {{1, 16, 41, 33}, 32, {3, 3}, {2}, {1}},  // an odd size, and a row left over by the stride
      {{1, 3, 64, 60}, 64, {7, 7}, {2}, {3}},   // the first layer of many networks
      {{1, 64, 28, 28},
       128,
       {1, 1},
       {2}},  // weights for which chunks of other sizes may prefer another layout
      {{1, 64, 27, 28}, 96, {1, 1}},  // the same, with rows that are not divided evenly
      {{3, 24, 19, 17}, 40, {3, 3}, {}, {2}, {2}},     // three samples, dilated
      {{2, 32, 16, 16}, 64, {3, 3}, {}, {1}, {}, 4},   // groups
      {{1, 64, 40, 40}, 64, {3, 3}, {}, {1}, {}, 64},  // depthwise
      {{1, 16, 2048}, 32, {9}, {1}, {4}},              // one spatial axis
      {{1, 8, 12, 20, 18}, 24, {3, 3, 3}, {}, {1}},    // three spatial axes
      {{1, 256, 7, 7}, 256, {3, 3}, {}, {1}, {}, 1, false},
      {{16, 128, 2, 2}, 128, {3, 3}, {}, {1}},  // rows too short for a vector
      {{1, 32, 30, 30}, 32, {3, 3}, {}, {8}},   // rows with padding only
      {{5, 3, 9, 6}, 2, {3, 3}, {2, 3}, {1, 2}},
      {{1, 1, 1, 1}, 1, {1, 1}},
      {{16, 1, 28, 28}, 6, {5, 5}, {}, {2}},
      {{2, 3, 17, 19}, 9, {3, 3}, {2}, {1}},        // fewer filters than a vector holds
      {{1, 5, 14, 13}, 16, {3, 2}, {1}, {2}, {2}},  // the same, dilated
      {{1, 16, 64, 61}, 12, {5, 5}, {}, {2}},       // split into rows
      {{1, 4, 9, 10}, 7, {3, 3}, {}, {4}},          // rows and columns with padding only
      {{3, 2, 8, 23}, 8, {1, 4}, {2, 3}, {}, {}, 1, false},
      {{1, 128, 6, 6}, 384, {3, 3}, {}, {1}},  // weights that are split by filters
      {{3, 128, 4, 4},
       320,
       {3, 3},
       {},
       {1}},  // the same with AVX2 only; with AVX-512 chunks would have unequal sizes
      {{0, 3, 5, 5}, 2, {3, 3}},
      // products of windows
      {{1, 1, 700}, 40, {64}, {8}},
      {{1, 1, 1, 300}, 16, {1, 65}, {1, 3}, {0, 7}},
      {{70, 1, 100}, 20, {64}, {16}, {}, {}, 1, false},  // several samples at once
      {{9, 1, 90}, 36, {70}, {7}, {5}},                  // the same, with padding
      {{2, 1, 1, 300}, 1, {1, 100}, {1, 2}},             // sums along windows
      {{5, 1, 90}, 3, {67}, {3}, {4}, {}, 1, false},
      {{1, 24, 300, 1}, 32, {5, 1}, {1, 1}, {2, 0}},
      {{3, 20, 140, 1}, 24, {3, 1}, {2, 1}, {}, {}, 1, false},
      {{1, 128, 4, 4}, 512, {3, 3}, {}, {1}},  // large weights, few positions: im2col
      {{3, 128, 2, 2}, 512, {3, 3}, {}, {1}},
      {{1, 32, 5, 3}, 64, {3, 2}, {2, 1}, {2, 0}, {2, 1}},
      {{5, 100, 1, 2}, 70, {1, 1}, {}, {}, {}, 1, false},
      {{2, 48, 7}, 64, {4}, {2}, {1}},
      {{2, 24, 2, 2, 3}, 40, {2, 2, 3}, {}, {0, 1, 1}},
      {{2, 48, 23, 29},
       80,
       {3, 3}},  // Winograd, if channels-last; neither sizes nor filters are divided evenly
      {{1, 64, 21, 27}, 64, {3, 3}, {}, {1}, {}, 1, false},
      {{1, 32, 24, 28},
       48,
       {3, 3},
       {},
       {1}},  // tiles that extend into the padding by one row and column
      {{1, 32, 51, 34}, 32, {3, 3}, {}, {1, 2}},  // several chunks
      {{2, 32, 6, 300}, 32, {3, 3}, {}, {1}},     // chunks of rows
      {{1, 48, 19, 20}, 32, {3, 3}, {}, {5, 7}},  // tiles with padding only
      {{0, 32, 24, 24}, 32, {3, 3}, {}, {1}},
  };
  for (const auto& row : rows) check_layouts(row);
}

TEST_CASE("a convolution with one plain and one channels-last tensor matches both kinds") {
  for (const auto& row :
       {ConvolutionRow{{2, 20, 9, 8}, 24, {3, 3}, {}, {1}}, {{2, 40, 2, 2}, 48, {3, 3}, {}, {1}}}) {
    const auto test = convolution(row);
    PluginOperator op("nn", "convolution", test.attributes);
    std::vector<Array> states;
    const auto plain = op.forward(test.inputs, states, {})[0].doubles();
    for (const bool output : {false, true}) {
      PluginOperator::Mode mode{false, 2, {}, output};
      if (!output) mode.channels_last_inputs = {0};
      const auto found = op.forward(test.inputs, states, mode)[0].doubles();
      for (std::int64_t i = 0; i < plain.size(); ++i)
        REQUIRE(found[i] == doctest::Approx(plain[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("one convolution object alternates between more shapes than its kernel cache holds") {
  PluginOperator op("nn", "convolution", {{"num_filter", 2}, {"kernel", Integers{3, 3}}});
  for (int round = 0; round < 2; ++round)
    for (std::int64_t size = 3; size < 14; ++size) {
      const ConvolutionRow row{{1, 3, size, 5}, 2, {3, 3}};
      const auto test = convolution(row);
      std::vector<Array> states;
      const auto fresh =
          PluginOperator("nn", "convolution", attributes(row)).forward(test.inputs, states, {})[0];
      CHECK(op.forward(test.inputs, states, {})[0].same_bits(fresh));
    }
}

namespace {

/// A 3 x 3 kernel over 16 channels.
void check_gradients(const ConvolutionRow& row) {
  CAPTURE(row.data);
  const auto test = convolution(row);
  const auto dy = random_doubles(sliding(row).output(row.data, row.filters), 4);
  const auto data = test.inputs[0].doubles();
  auto weights = zeros(weight_shape(row)), biases = zeros({row.filters});
  const auto in = channel_size(row.data), out = channel_size(dy.shape);
  sliding(row).for_each(row.data, [&](std::int64_t place, std::int64_t element, std::int64_t at) {
    for (std::int64_t sample = 0; sample < row.data[0] && at >= 0; ++sample)
      for (std::int64_t filter = 0; filter < row.filters; ++filter)
        for (std::int64_t c = 0; c < 16; ++c)
          weights[(filter * 16 + c) * 9 + element] +=
              dy[(sample * row.filters + filter) * out + place] * data[(sample * 16 + c) * in + at];
  });
  for (std::int64_t i = 0; i < dy.size(); ++i) biases[i / out % row.filters] += dy[i];
  PluginOperator op("nn", "convolution", test.attributes);
  const std::vector<Array> outputs{Array(tenon::f32, dy.shape)}, given{Array(tenon::f32, dy)};
  const auto all = op.backward(test.inputs, outputs, given, {true, true, true}, {});
  const auto found = all[1].doubles(), found_bias = all[2].doubles();
  for (std::int64_t i = 0; i < weights.size(); ++i)
    REQUIRE(std::abs(found[i] - weights[i]) < 1e-5 * (1 + std::abs(weights[i])));
  for (std::int64_t i = 0; i < biases.size(); ++i)
    REQUIRE(std::abs(found_bias[i] - biases[i]) < 1e-5 * (1 + std::abs(biases[i])));
  for (const int threads : {2, 3}) {
    const auto others =
        op.backward(test.inputs, outputs, given, {true, true, true}, {false, threads});
    for (std::size_t i = 0; i < 3; ++i) CHECK(others[i].same_bits(all[i]));
  }
  const auto bias_alone = op.backward(test.inputs, outputs, given, {false, false, true}, {});
  CHECK(bias_alone[2].same_bits(all[2]));
}

}  // namespace

TEST_CASE(
    "the gradients of a convolution with many filters match its definition's, with the same bits "
    "on 1 to 3 threads") {
  for (const std::int64_t samples : {2, 8})
    check_gradients({{samples, 16, 4, 3}, 200, {3, 3}, {}, {1}});
}
