// The pooling operators against their definitions as loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "channels_last.hpp"
#include "plugins/check.hpp"
#include "sliding_window.hpp"

namespace {

enum class Kind { max, average, average_of_data };

/// The result of one window. `inside`: its elements that are not padding; size: their number
/// including padding.
double gather(Kind kind, const std::vector<double>& inside, double size) {
  if (kind == Kind::max) return *std::max_element(inside.begin(), inside.end());
  double sum = 0;
  for (const auto value : inside) sum += value;
  return sum / (kind == Kind::average ? size : static_cast<double>(inside.size()));
}

DoubleArray pool(const DoubleArray& data, const Sliding& window, Kind kind) {
  auto output = zeros(window.output(data.shape, data.dim(1)));
  const auto in = channel_size(data.shape), out = channel_size(output.shape);
  for (std::int64_t channel = 0; channel < data.dim(0) * data.dim(1); ++channel) {
    std::map<std::int64_t, std::vector<double>> inside;
    std::map<std::int64_t, double> size;
    window.for_each(data.shape, [&](std::int64_t place, std::int64_t, std::int64_t at) {
      size[place] += 1;
      if (at >= 0) inside[place].push_back(data[channel * in + at]);
    });
    for (const auto& [place, values] : inside)
      output[channel * out + place] = gather(kind, values, size[place]);
  }
  return output;
}

/// Distinct numbers in mixed order, so that every window has a single maximum.
DoubleArray shuffled(const tenon::Shape& shape) {
  auto data = zeros(shape);
  for (std::int64_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i) / 64 - 3;
  std::shuffle(data.values.begin(), data.values.end(), std::mt19937(5));
  return data;
}

struct PoolingRow {
  tenon::Shape data;
  Integers kernel, stride = {}, pad = {};
};

Case pooling(const PoolingRow& row, Kind kind) {
  const auto axes = row.kernel.size();
  const Sliding window{row.kernel, for_each_axis(row.stride, row.kernel),
                       for_each_axis(row.pad, Integers(axes, 0)), Integers(axes, 1)};
  Case test{tenon::to_string(row.data),
            "nn",
            kind == Kind::max ? "max_pool" : "avg_pool",
            {},
            {},
            {},
            {0},
            1e-5};
  test.attributes = {{"kernel", row.kernel}, {"stride", row.stride}, {"pad", row.pad}};
  if (kind == Kind::average_of_data) test.attributes.set("count_include_pad", false);
  test.inputs = {Array(tenon::f32, shuffled(row.data))};
  test.oracle = [=](const std::vector<DoubleArray>& in) {
    return std::vector{pool(in[0], window, kind)};
  };
  return test;
}

Case global_pooling(const tenon::Shape& data, Kind kind) {
  Integers sizes(data.begin() + 2, data.end());
  auto test = pooling({data, sizes, Integers(sizes.size(), 1)}, kind);
  test.op = kind == Kind::max ? "global_max_pool" : "global_avg_pool";
  test.attributes = {};
  return test;
}

}  // namespace

TEST_CASE("max_pool and avg_pool match their definitions, and their gradients the oracle's") {
  const PoolingRow rows[] = {
      {{2, 3, 6, 8}, {2, 2}},
      {{1, 1, 1, 1}, {1, 1}},
      {{2, 3, 7, 5}, {3, 2}, {2, 1}},
      {{2, 3, 7, 5}, {3, 3}, {1}, {1}},
      {{2, 17, 7, 9}, {3, 3}, {2}, {1, 2}},  // more channels than a vector holds
      {{3, 2, 5, 5}, {2, 2}, {3}},           // elements that no window covers
      {{2, 3, 9}, {4}, {3}, {2}},
      {{2, 2, 4, 5, 6}, {2, 3, 2}, {1, 2, 2}, {1, 0, 1}},
      {{1, 1, 20, 20}, {17, 17}, {1}, {8}},  // more positions in a window than a byte can count
      {{37, 2, 4, 4}, {2, 2}},               // chunks of 3 samples, and a last one of 1
      {{0, 3, 4, 4}, {2, 2}},
  };
  for (const auto& row : rows)
    for (const auto kind : {Kind::max, Kind::average, Kind::average_of_data})
      check(pooling(row, kind));
}

TEST_CASE("global poolings match their definitions, and their gradients the oracle's") {
  for (const tenon::Shape& data : {tenon::Shape{2, 3, 5, 7},
                                   {1, 1, 1, 1},
                                   {2, 17, 9},
                                   {20, 2, 3, 4, 5},
                                   {2, 2, 31, 33},
                                   {0, 3, 4, 4}})
    for (const auto kind : {Kind::max, Kind::average}) check(global_pooling(data, kind));
}

TEST_CASE("padding is never the maximum") {
  std::vector<Array> states;
  PluginOperator op("nn", "max_pool",
                    {{"kernel", Integers{3}}, {"stride", Integers{2}}, {"pad", Integers{1}}});
  const std::vector<Array> inputs{
      Array(tenon::f32, DoubleArray{{1, 1, 5}, {-7, -9, -5, -1e30, -3e38}})};
  CHECK(op.forward(inputs, states, {})[0].doubles().values ==
        Array(tenon::f32, DoubleArray{{3}, {-7, -5, -1e30}}).doubles().values);
}

TEST_CASE("the maximum of -infinity and the lowest finite numbers is one of them") {
  std::vector<Array> states;
  PluginOperator op("nn", "max_pool", {{"kernel", Integers{2}}});
  const double none = -std::numeric_limits<double>::infinity();
  const std::vector<Array> inputs{
      Array(tenon::f32, DoubleArray{{1, 1, 4}, {none, none, none, -3e38}})};
  CHECK(op.forward(inputs, states, {})[0].doubles().values ==
        Array(tenon::f32, DoubleArray{{2}, {none, -3e38}}).doubles().values);
}

TEST_CASE("the first of several equal maxima gets the gradient") {
  std::vector<Array> states;
  PluginOperator op("nn", "max_pool", {{"kernel", Integers{2, 2}}});
  const std::vector<Array> inputs{
      Array(tenon::f32, DoubleArray{{1, 1, 2, 4}, {1, 5, 7, 7, 5, 2, 3, 7}})};
  const auto outputs = op.forward(inputs, states, {});
  const std::vector<Array> gradient{Array(tenon::f32, DoubleArray{{1, 1, 1, 2}, {2, 3}})};
  CHECK(op.backward(inputs, outputs, gradient, {true}, {})[0].doubles().values ==
        std::vector<double>{0, 2, 3, 0, 0, 0, 0, 0});
}

TEST_CASE("poolings refuse inconsistent arguments with the reason") {
  const struct {
    PoolingRow row;
    const char* reason;
  } rows[] = {
      {{{2, 3, 5, 5}, {}}, "parameter 'kernel' has 0 values: needs 1 to 3"},
      {{{2, 3, 5, 5}, {2, 2}, {1, 1, 1}}, "parameter 'stride' has 3 values, but kernel has 2"},
      {{{2, 3, 5, 5}, {2, 3}, {}, {1, 3}},
       "parameter 'pad' is 3 but kernel is 3: needs a smaller value, or a window may contain only "
       "padding"},
      {{{2, 3, 5}, {2, 2}}, "data is [2, 3, 5] but a kernel with 2 values needs 4 dimensions"},
      {{{2, 3, 5, 3}, {4, 4}},
       "the kernel extends over 4 elements of axis 3, but data [2, 3, 5, 3] with padding has 3"},
      {{{2, 0, 5, 5}, {4, 4}}, "data is [2, 0, 5, 5]: only the batch may be empty"},
  };
  // The tests of convolution compare whole sentences about windows.
  for (const auto& row : rows)
    for (const char* op : {"max_pool", "avg_pool"})
      CHECK(error_of("nn", op,
                     {{"kernel", row.row.kernel}, {"stride", row.row.stride}, {"pad", row.row.pad}},
                     {{row.row.data, tenon::f32}})
                .starts_with(row.reason));
  CHECK(error_of("nn", "global_max_pool", {}, {{{2, 3}, tenon::f32}}) ==
        "data is [2, 3] but needs batch, channels and 1 to 3 spatial axes");
  CHECK(error_of("nn", "global_avg_pool", {}, {{{2, 3, 0}, tenon::f32}}) ==
        "data is [2, 3, 0]: only the batch may be empty");
}

TEST_CASE("poolings of channels-last tensors match those of plain ones") {
  const PoolingRow rows[] = {
      {{1, 64, 80, 71}, {3, 3}, {2}, {1}},  // split into rows
      {{3, 24, 81, 80}, {3, 2}, {2, 1}, {1, 0}},
      {{2, 7, 9, 8}, {2, 2}},
      {{1, 2, 40, 21}, {2, 2}, {1}},  // several positions in a vector
      {{2, 3, 1, 400}, {1, 5}, {3}, {0, 2}},
      {{2, 33, 21}, {3}, {2}, {1}},
      {{1, 6, 5, 6, 7}, {2, 3, 2}},
      {{37, 1, 5, 5}, {2, 2}},
      {{0, 3, 5, 5}, {2, 2}},
  };
  for (const auto& row : rows)
    for (const auto kind : {Kind::max, Kind::average, Kind::average_of_data})
      check_channels_last(pooling(row, kind), kind == Kind::max ? 0 : 1e-6);
  for (const char* name : {"global_max_pool", "global_avg_pool"})
    for (const tenon::Shape& shape :
         {tenon::Shape{1, 512, 7, 7}, {3, 5, 9}, {2, 1, 4, 5}, {2, 8, 1, 1}}) {
      Case test{name, "nn", name, {}, {Array(tenon::f32, shuffled(shape))}, {}};
      check_channels_last(test, 1e-6);
    }
}
