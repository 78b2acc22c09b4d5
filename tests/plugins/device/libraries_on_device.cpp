// Errors that only the libraries of a real GPU can have, against the CPU; on simulated GPUs the
// same tests use plain loops.
#include <dlpack/dlpack.h>
#include <doctest/doctest.h>

#include <cmath>
#include <future>
#include <limits>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "on_gpu.hpp"
#include "plugins/numbers.hpp"

using namespace plugin_tests;
using tenon::NamedTensors;
using tenon::Storage;

namespace {

/// Copies the elements to the GPU after one NaN, so that they begin 4 bytes after an aligned
/// address.
Tensor shifted(const Tensor& tensor) {
  const auto from = tensor.values<float>();
  Tensor longer = Tensor::empty(tenon::f32, {tensor.size() + 1});
  const auto to = longer.values<float>();
  to[0] = std::numeric_limits<float>::quiet_NaN();
  std::copy(from.begin(), from.end(), to.begin() + 1);
  DLManagedTensor* const given = longer.to("cuda").to_dlpack();
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) dims.push_back(tensor.shape()[axis]);
  given->dl_tensor.byte_offset = sizeof(float);
  given->dl_tensor.ndim = tensor.shape().rank();
  given->dl_tensor.shape = dims.data();
  given->dl_tensor.strides = nullptr;
  return Tensor::from_dlpack(given);
}

void check_close(const Tensor& found, const Tensor& expected) {
  const auto here = doubles(found), there = doubles(expected);
  REQUIRE(here.size() == there.size());
  double largest = 0;
  bool finite = true;
  for (std::size_t i = 0; i < here.size(); ++i) {
    finite = finite && std::isfinite(here[i]);
    largest = std::max(largest, std::abs(here[i] - there[i]) / (1 + std::abs(there[i])));
  }
  CHECK(finite);
  CHECK(largest <= 1e-5);
}

tenon::SessionOptions on_gpu() {
  tenon::SessionOptions options;
  options.device = "cuda";
  return options;
}

}  // namespace

TEST_CASE("on a GPU: fully_connected matches the CPU for any alignment of its tensors") {
  auto* const found_host = host_with_gpu<true>();
  if (found_host == nullptr) return;
  auto& host = *found_host;
  for (const std::int64_t batch : {1, 7, 64})
    for (const std::int64_t features : {3, 64})
      for (const std::int64_t hidden : {5, 128}) {
        CAPTURE(batch);
        CAPTURE(features);
        CAPTURE(hidden);
        const std::vector<Tensor> inputs = {arbitrary(tenon::f32, {batch, features}, -1, 1, 1),
                                            arbitrary(tenon::f32, {hidden, features}, -1, 1, 2),
                                            arbitrary(tenon::f32, {hidden}, -1, 1, 3)};
        const tenon::Attributes attributes{{"num_hidden", hidden}};
        const auto expected = host.call("fully_connected", inputs, attributes);
        for (std::size_t unaligned = 0; unaligned < 8; ++unaligned) {  // a bit for each input
          CAPTURE(unaligned);
          std::vector<Tensor> there;
          for (std::size_t i = 0; i < inputs.size(); ++i)
            there.push_back((unaligned >> i & 1) != 0 ? shifted(inputs[i]) : inputs[i].to("cuda"));
          check_close(host.call("fully_connected", there, attributes).to("cpu"), expected);
        }
      }
}

TEST_CASE(
    "on a GPU: a node that alternates between csr matrices of equal size and number of values "
    "returns each one's product") {
  auto* const found_host = host_with_gpu<true>();
  if (found_host == nullptr) return;
  auto& host = *found_host;
  constexpr std::int64_t rows = 50, inner = 40, columns = 9;
  // Each row has the same number of values, at different positions.
  const auto matrix = [&](std::int64_t first, std::int64_t step) {
    Tensor dense = Tensor::zeros(tenon::f32, {rows, inner});
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < 7; ++i)
        dense.values<float>()[static_cast<std::size_t>(row * inner +
                                                       (first + row + i * step) % inner)] =
            static_cast<float>(row - i * first) / 8;
    return dense;
  };
  for (const bool by_rows : {true, false}) {
    CAPTURE(by_rows);
    tenon::Graph graph(host);
    const auto x = graph.input("x", tenon::f32, {rows, inner});
    const auto y =
        graph.input("y", tenon::f32, by_rows ? Shape{inner, columns} : Shape{columns, inner});
    graph.output("product", by_rows ? graph.add("csr_times_dense", {x, y})
                                    : graph.add("matmul", {x, y}, {{"transpose_b", true}}));
    tenon::Session session(graph, on_gpu());
    const auto right =
        arbitrary(tenon::f32, by_rows ? Shape{inner, columns} : Shape{columns, inner}, -1, 1, 4);
    const Tensor dense[] = {matrix(1, 5), matrix(3, 3)};
    for (int run = 0; run < 8; ++run) {
      CAPTURE(run);
      const auto& left = dense[run % 2];
      std::vector<double> expected;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < inner; ++k)
            sum += double{left.values<float>()[static_cast<std::size_t>(i * inner + k)]} *
                   double{right.values<float>()[static_cast<std::size_t>(by_rows ? k * columns + j
                                                                                 : j * inner + k)]};
          expected.push_back(sum);
        }
      const auto found =
          session.run({{"x", cast_storage(left, Storage::csr)}, {"y", right}}).at("product");
      check_close(found, Tensor::from(expected, {rows, columns}));
    }
  }
}

TEST_CASE(
    "on a GPU: a session that moves to another thread, whose libraries have other handles, gives "
    "the same bits") {
  auto* const found_host = host_with_gpu<true>();
  if (found_host == nullptr) return;
  auto& host = *found_host;
  tenon::Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {2, 3, 8, 8});
  const auto filters = graph.variable("filters", arbitrary(tenon::f32, {4, 3, 3, 3}, -1, 1, 1));
  const auto weight = graph.variable("weight", arbitrary(tenon::f32, {16, 4 * 6 * 6}, -1, 1, 2));
  const auto right = graph.variable("right", arbitrary(tenon::f32, {16, 5}, -1, 1, 3));
  const auto conv = graph.add("convolution", {x, filters},
                              {{"num_filter", 4}, {"kernel", Integers{3, 3}}, {"no_bias", true}});
  const auto dense =
      graph.add("fully_connected", {conv, weight}, {{"num_hidden", 16}, {"no_bias", true}});
  graph.output("y", graph.add("matmul", {dense, right}));
  tenon::Session session(graph, on_gpu());
  const NamedTensors inputs{{"x", arbitrary(tenon::f32, {2, 3, 8, 8}, -1, 1, 4)}};
  const auto first = session.run(inputs).at("y");
  check_close(first, tenon::Session(graph).run(inputs).at("y"));
  std::async(std::launch::async, [&] {
    for (int again = 0; again < 3; ++again) CHECK(same_bits(session.run(inputs).at("y"), first));
  }).get();
}

TEST_CASE("on a GPU: what the CPU computes channels-last or fused runs plain and unfused") {
  auto* const found_host = host_with_gpu<true>();
  if (found_host == nullptr) return;
  for (const char* last : {"convolution", "tanh"}) {
    CAPTURE(std::string(last));
    const auto convolution = [](const char* name, const char* of) {
      return std::string(R"({"name": ")") + name + R"(", "op": "convolution", "inputs": [")" + of +
             R"("],
                "attrs": {"num_filter": 64, "kernel": [3, 3], "pad": [1, 1], "no_bias": true}})";
    };
    const auto between = std::string(last) == "tanh"
                             ? std::string(R"({"name": "b", "op": "tanh", "inputs": ["a2"]})")
                             : convolution("b", "a2");
    const auto text =
        R"({"tenon": 1, "name": "mixed",
            "inputs": {"x": {"dtype": "float32", "shape": [2, 64, 40, 40]}},
      "nodes": [)" +
        convolution("a", "x") +
        R"(, {"name": "a1", "op": "sin", "inputs": ["a"]},
           {"name": "a2", "op": "square", "inputs": ["a1"]}, )" +
        between +
        R"(, {"name": "c", "op": "exp", "inputs": ["b"], "device": "cuda:0"}],
           "outputs": {"y": "c", "b": "b"}})";
    auto graph = tenon::Graph::from_json(*found_host, text);
    graph.initialize();
    tenon::SessionOptions plain;
    plain.optimize = tenon::Optimize::none;
    const NamedTensors inputs{{"x", arbitrary(tenon::f32, {2, 64, 40, 40}, -1, 1, 5)}};
    check_close(tenon::Session(graph).run(inputs).at("y"),
                tenon::Session(graph, plain).run(inputs).at("y"));
  }
}

TEST_CASE("on a GPU: more than 2^31 elements") {
  auto* const found_host = host_with_gpu<true>();
  if (found_host == nullptr) return;
  auto& host = *found_host;
  if (tenon::find_device("cuda").memory().free < std::uint64_t{24} << 30) {
    MESSAGE("skipped: it needs a GPU with 24 GiB free");
    return;
  }
  constexpr std::int64_t rows = 65'539, columns = 32'768;  // 2^31 + 3 * 2^15
  const auto value = [](std::int64_t row, std::int64_t column) {
    return static_cast<std::uint8_t>((row * 7 + column) % 101);
  };
  Tensor here = Tensor::empty(tenon::u8, {rows, columns});
  auto* to = here.data<std::uint8_t>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) *to++ = value(row, column);
  const auto x = here.to("cuda");
  const auto check = [](const Tensor& found, auto expected) {  // a sample, including the last rows
    const auto there = found.to("cpu");
    const auto width = there.shape()[1], height = there.shape()[0];
    const auto* elements = there.data<std::uint8_t>();
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < height; row += row + 100 < height ? 97 : 1)
      for (std::int64_t column = 0; column < width; ++column)
        wrong += elements[row * width + column] != expected(row, column) ? 1 : 0;
    CHECK(wrong == 0);
  };
  check(host.call("add", {x, x}),
        [&](std::int64_t row, std::int64_t column) { return 2 * value(row, column); });
  Tensor one_row = Tensor::empty(tenon::u8, {columns});
  for (std::int64_t column = 0; column < columns; ++column)
    one_row.values<std::uint8_t>()[static_cast<std::size_t>(column)] = value(5, column);
  check(host.call("add", {x, one_row.to("cuda")}), [&](std::int64_t row, std::int64_t column) {
    return value(row, column) + value(5, column);
  });
  check(host.call("transpose", {x}),
        [&](std::int64_t row, std::int64_t column) { return value(column, row); });
  Tensor numbers = Tensor::empty(tenon::i64, {rows});
  for (std::int64_t row = 0; row < rows; ++row)
    numbers.values<std::int64_t>()[static_cast<std::size_t>(row)] = rows - 1 - row;
  check(host.call("take_rows", {x, numbers.to("cuda")}),
        [&](std::int64_t row, std::int64_t column) { return value(rows - 1 - row, column); });
  const auto sums = host.call("sum", {x}, {{"axis", Integers{0}}}).to("cpu");
  for (std::int64_t column = 0; column < columns; column += 1'001) {
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += value(row, column);
    CHECK(sums.values<std::int64_t>()[static_cast<std::size_t>(column)] == sum);
  }
  const auto halves =
      host.call("softmax", {host.call("cast", {x}, {{"dtype", "float16"}})}, {{"axis", -1}});
  const auto totals =
      doubles(host.call("sum", {host.call("cast", {halves}, {{"dtype", "float32"}})},
                        {{"axis", Integers{1}}})
                  .to("cpu"));
  double furthest = 0;
  for (const double total : totals) furthest = std::max(furthest, std::abs(total - 1));
  CHECK(furthest < 0.05);
}

TEST_CASE("on a GPU: a rule does not move a node to the CPU because of its dtype") {
  auto* const found_host = host_with_gpu<true>();
  if (found_host == nullptr) return;
  for (const auto dtype : {tenon::f32, tenon::f64}) {
    CAPTURE(tenon::name_of(dtype));
    tenon::Graph graph(*found_host);
    graph.output("y", graph.add("mean", {graph.input("x", dtype, {-1, 3, -1, -1})},
                                {{"axis", Integers{2, 3}}, {"keepdims", true}}));
    tenon::SessionOptions options;
    options.device = "cuda";
    const auto nodes = tenon::Session(graph, options).optimized().nodes();
    REQUIRE(nodes.size() == 1);
    CHECK(nodes[0].op == (dtype == tenon::f32 ? "global_avg_pool" : "mean"));
  }
}
