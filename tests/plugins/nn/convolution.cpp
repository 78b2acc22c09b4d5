// convolution against its definition as loops.
#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include "../../../plugins/shared/product/processor.hpp"
#include "channels_last.hpp"
#include "convolution_case.hpp"

TEST_CASE("convolution matches its definition, and its gradient the oracle's") {
  const ConvolutionRow rows[] = {
      {{2, 3, 5, 7}, 4, {3, 2}},
      {{1, 1, 1, 1}, 1, {1, 1}},
      {{1, 1, 8, 8}, 3, {3, 3}, {1}, {1}},
      {{5, 3, 9, 6}, 2, {3, 3}, {2, 3}, {1, 2}},
      {{2, 2, 9, 11}, 3, {3, 3}, {1, 2}, {2, 1}, {2, 3}},
      {{2, 4, 6, 6}, 6, {3, 3}, {}, {1}, {}, 2},
      {{2, 5, 6, 7}, 5, {3, 3}, {}, {1}, {}, 5},  // depthwise
      {{2, 3, 5, 5}, 9, {2, 2}, {}, {}, {2}, 3, false},
      {{3, 2, 4, 4}, 2, {3, 3}, {}, {4}},    // windows with padding only
      {{2, 17, 5, 5}, 33, {3, 3}, {}, {1}},  // more channels than a vector holds
      {{2, 64, 6, 6}, 32, {1, 1}, {}, {}, {}, 1, false},
      {{3, 2, 13}, 4, {5}, {2}, {2}, {2}},
      {{2, 4, 13}, 4, {3}, {}, {}, {}, 4, false},
      {{2, 2, 4, 5, 6}, 3, {2, 3, 2}, {1, 2, 1}, {1, 0, 1}},
      {{2, 4, 5, 5, 5}, 4, {3, 3, 3}, {2}, {2}, {2}, 2},
      {{37, 2, 4, 4}, 3, {3, 3}, {}, {1}},  // chunks of 3 samples, and a last one of 1
      {{16, 1, 3, 3}, 2, {2, 2}},
      {{0, 3, 5, 5}, 2, {3, 3}},
      {{3, 1, 40, 41}, 2, {2, 3}, {}, {1}},  // gradients that are long sums
      // Large weights and few positions: im2col.
      {{2, 12, 3, 4}, 16, {3, 3}, {2}, {1}},
      {{2, 10, 5}, 12, {5}, {2}, {2}, {2}, 1, false},
      {{1, 6, 2, 3, 2}, 12, {2, 3, 2}, {1, 2, 1}, {1, 0, 1}},
      {{5, 96, 4, 4}, 128, {3, 3}, {}, {1}},  // with AMX, bf16x3 products
  };
  for (const auto& row : rows) check(convolution(row));
}

TEST_CASE("convolution and its gradient in float64") {
  const ConvolutionRow rows[] = {{{2, 4, 5, 7}, 6, {3, 2}, {2, 1}, {1, 0}, {1, 2}, 2},
                                 {{2, 3, 9}, 4, {3}, {2}, {2}, {2}, 1, false},
                                 {{1, 2, 4, 5, 3}, 3, {2, 3, 2}, {1, 2, 1}, {1, 0, 1}},
                                 {{0, 3, 5, 5}, 2, {3, 3}}};
  for (const auto& row : rows) check(convolution(row, tenon::f64));
}

namespace {

/// row.data is its input; row.pad and row.stride are those of the convolution whose gradient it is.
Case conv_transpose(const ConvolutionRow& row, std::int64_t output_padding,
                    tenon::DType dtype = tenon::f32) {
  auto given = attributes(row);
  given.set("output_padding", Integers{output_padding});
  auto output = row.data;
  output.set(1, row.filters);
  const auto window = sliding(row);
  for (std::size_t i = 0; i < row.kernel.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const auto reach = window.dilate[i] * (row.kernel[i] - 1) + 1;
    output.set(
        axis, window.stride[i] * (row.data[axis] - 1) + reach + output_padding - 2 * window.pad[i]);
  }
  Case test{tenon::to_string(row.data), "nn", "conv_transpose", given, {}, {}, {0, 1, 2}, 2e-5};
  if (dtype == tenon::f64) test.tolerance = 1e-8;
  auto weight = weight_shape(row);
  weight.set(0, row.data[1]);
  weight.set(1, row.filters);
  test.inputs = {Array(dtype, random_doubles(row.data, 1)), Array(dtype, random_doubles(weight, 2)),
                 Array(dtype, random_doubles({row.filters}, 3))};
  test.oracle = [=](const std::vector<DoubleArray>& in) {
    auto result = zeros(output);
    const auto out = channel_size(output), places = channel_size(row.data),
               elements = channel_size(weight), channels = row.data[1];
    for (std::int64_t i = 0; i < result.size(); ++i) result[i] = in[2][i / out % row.filters];
    window.for_each(output, [&](std::int64_t place, std::int64_t element, std::int64_t at) {
      for (std::int64_t sample = 0; sample < row.data[0] && at >= 0; ++sample)
        for (std::int64_t filter = 0; filter < row.filters; ++filter)
          for (std::int64_t c = 0; c < channels; ++c)
            result[(sample * row.filters + filter) * out + at] +=
                in[0][(sample * channels + c) * places + place] *
                in[1][(c * row.filters + filter) * elements + element];
    });
    return std::vector{result};
  };
  return test;
}

}  // namespace

TEST_CASE("conv_transpose matches its definition, and its gradient the oracle's") {
  check(conv_transpose({{2, 3, 4, 3}, 2, {3, 2}, {2, 1}, {1, 0}}, 0));
  check(conv_transpose({{2, 12, 1, 2}, 6, {3, 3}, {2}, {1}},
                       1));  // large weights and few positions: im2col
  check(conv_transpose({{3, 20, 2}, 8, {5}, {2}, {2}}, 0));
}

TEST_CASE("conv_transpose and its gradient in float64") {
  check(conv_transpose({{2, 3, 4, 3}, 2, {3, 2}, {2, 1}, {1, 0}}, 0, tenon::f64));
  check(conv_transpose({{2, 12, 1, 2}, 6, {3, 3}, {2}, {1}}, 1, tenon::f64));
}

TEST_CASE("conv_transpose with separate windows, contiguous and channels-last") {
  for (const auto& row : std::vector<ConvolutionRow>{
           {{2, 5, 7, 19}, 3, {2, 2}, {2}},
           {{1, 24, 33, 40}, 1, {2, 2}, {2}},  // several blocks
           {{1, 8, 9, 30}, 40, {2, 2}, {2}},   // blocks that begin within a row
           {{2, 3, 4, 5}, 2, {3, 1}, {3, 1}},
           {{1, 2, 3, 4}, 130, {2, 3}, {2, 3}},  // more results than a tile has rows
           {{2, 4, 21}, 6, {4}, {4}},
           {{1, 3, 6, 6}, 4, {1, 1}, {1}}}) {
    auto test = conv_transpose(row, 0);
    check(test);
    if (product::this_vectors() == product::Vectors::scalar) continue;  // as oneDNN, plain only
    check_channels_last(test, 1e-5);
    test.inputs[2] = Array(tenon::f32, random_doubles({row.filters}, 4));
    check_channels_last(test, 1e-5);
  }
}

TEST_CASE("one convolution object serves changing shapes") {
  PluginOperator op("nn", "convolution", {{"num_filter", 2}, {"kernel", Integers{3, 3}}});
  for (const tenon::Shape& data :
       {tenon::Shape{2, 3, 5, 5}, {1, 3, 4, 6}, {2, 3, 5, 5}, {0, 3, 5, 5}}) {
    const ConvolutionRow row{data, 2, {3, 3}};
    const auto test = convolution(row);
    std::vector<Array> states;
    const auto found = op.forward(test.inputs, states, {})[0];
    const auto fresh =
        PluginOperator("nn", "convolution", attributes(row)).forward(test.inputs, states, {})[0];
    CHECK(found.same_bits(fresh));
  }
}

TEST_CASE("convolution runs only on the host's threads") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  std::ptrdiff_t before = 0, after = 0;
  std::thread([&] {  // OpenMP would start helpers for each thread that has none yet
    const auto test = convolution({{4, 16, 16, 16}, 16, {3, 3}});
    PluginOperator op("nn", "convolution", test.attributes);
    std::vector<Array> states;
    before = threads();
    op.backward(test.inputs, op.forward(test.inputs, states, {}),
                {Array(tenon::f32, zeros({4, 16, 14, 14}))}, {true, true, true}, {});
    after = threads();
  })
      .join();
  CHECK(after == before);
}

TEST_CASE("convolution refuses inconsistent arguments with the reason") {
  const struct {
    ConvolutionRow row;
    const char* reason;
  } rows[] = {
      {{{2, 3, 5, 5}, 2, {}},
       "parameter 'kernel' has 0 values: needs 1 to 3, one for each spatial axis"},
      {{{2, 3, 5, 5}, 2, {1, 1, 1, 1}},
       "parameter 'kernel' has 4 values: needs 1 to 3, one for each spatial axis"},
      {{{2, 3, 5, 5}, 2, {3, 3}, {1, 2, 3}},
       "parameter 'stride' has 3 values, but kernel has 2: needs one for each spatial axis, or one "
       "for all"},
      {{{2, 3, 5, 5}, 4, {3, 3}, {}, {}, {}, 3},
       "parameter 'num_filter' is 4, which is not a multiple of groups, 3"},
      {{{2, 3, 5, 5}, 4, {3, 3}, {}, {}, {}, 2},
       "data [2, 3, 5, 5] has 3 channels, which is not a multiple of groups, 2"},
      {{{2, 3, 5}, 2, {3, 3}},
       "data is [2, 3, 5] but a kernel with 2 values needs 4 dimensions: batch, channels and one "
       "for each value"},
      {{{2, 3, 5, 0}, 2, {3, 3}}, "data is [2, 3, 5, 0]: only the batch may be empty"},
      {{{2, 3, 5, 4}, 2, {3, 3}, {}, {}, {2}},
       "the kernel extends over 5 elements of axis 3, but data [2, 3, 5, 4] with padding has 4"},
  };
  for (const auto& row : rows)
    CHECK(error_of("nn", "convolution", attributes(row.row),
                   {{row.row.data, tenon::f32}, {{}, tenon::f32}, {}}) == row.reason);
  const tenon::Attributes given{{"num_filter", 2}, {"kernel", Integers{3, 3}}};
  CHECK(error_of("nn", "convolution", given,
                 {{{2, 3, 5, 5}, tenon::f32}, {{2, 4, 3, 3}, tenon::f32}, {}}) ==
        "weight is [2, 4, 3, 3] but data [2, 3, 5, 5] needs [2, 3, 3, 3]");
}

TEST_CASE("convolution infers unknown shapes") {
  constexpr auto u = tenon::unknown;
  const tenon::Attributes given{
      {"num_filter", 6}, {"kernel", Integers{3, 3}}, {"groups", 2}, {"pad", Integers{1}}};
  const struct {
    tenon::Shape data, weight, data_after, weight_after, output;
  } rows[] = {
      {{u, 4, 5, 5}, {}, {u, 4, 5, 5}, {6, 2, 3, 3}, {u, 6, 5, 5}},
      {{}, {}, {u, u, u, u}, {6, u, 3, 3}, {u, 6, u, u}},
      {{2, u, 5, u}, {6, 4, 3, 3}, {2, 8, 5, u}, {6, 4, 3, 3}, {2, 6, 5, u}},
  };
  for (const auto& row : rows) {
    const auto types =
        PluginOperator("nn", "convolution", given)
            .infer({{row.data, tenon::f32}, {row.weight, tenon::f32}, {{}, tenon::f32}});
    CHECK(tenon::to_string(types.inputs[0].shape) == tenon::to_string(row.data_after));
    CHECK(tenon::to_string(types.inputs[1].shape) == tenon::to_string(row.weight_after));
    CHECK(tenon::to_string(types.inputs[2].shape) == "[6]");
    CHECK(tenon::to_string(types.outputs[0].shape) == tenon::to_string(row.output));
  }
}
