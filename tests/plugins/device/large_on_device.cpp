// Operators on a GPU, or a simulated one, with tensors so large that kernels split their work, and
// with sparse tensors, against the CPU's kernels. Elements are multiples of 1/16, so that sums are
// exact in any order.
#include <doctest/doctest.h>

#include <tenon/host/cast_storage.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>

#include "failure_of.hpp"
#include "on_gpu.hpp"

namespace {

using tenon::Attributes, tenon::Shape, tenon::Storage, tenon::Tensor;
using Axes = std::vector<std::int64_t>;

/// `zeros` of every 16 elements are 0.
Tensor sixteenths(const Shape& shape, unsigned zeros = 0, unsigned seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (auto& value : values) {
    seed = seed * 1664525 + 1013904223;
    value =
        seed >> 28 < zeros ? 0.f : static_cast<float>(static_cast<int>(seed >> 8 & 63) - 32) / 16;
  }
  return Tensor::from(values, shape);
}

Tensor indices(std::int64_t count, std::int64_t limit) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i * 7919 % limit;
  return Tensor::from(values, {count});
}

Tensor sparse_sixteenths(const Shape& shape, Storage storage, unsigned seed = 1) {
  const auto dense = sixteenths(shape, 14, seed);
  for (std::int64_t row = 0; row < shape[0]; row += 3)  // rows of zeros
    std::fill_n(dense.data<float>() + row * shape[1], shape[1], 0.f);
  return tenon::cast_storage(dense, storage);
}

struct DeviceCall {
  const char* op;
  std::vector<Tensor> inputs;
  Attributes attributes;
};

void hold_against_cpu(tenon::Host& host, const DeviceCall& test) {
  CAPTURE(test.op);
  CAPTURE(test.inputs[0].to_string(4));
  std::vector<Tensor> there;
  for (const auto& input : test.inputs) there.push_back(input.to("cuda"));
  const auto expected = host.call(test.op, test.inputs, test.attributes),
             found = host.call(test.op, there, test.attributes);
  CHECK(found.device() == "cuda:0");
  CHECK(found.storage() == expected.storage());
  CHECK(same_bits(found, expected));
}

}  // namespace

TEST_CASE("large on a GPU: split sums, extrema and their indices") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  const auto row = sixteenths({70'001}), wide = sixteenths({3, 40'000}),
             tall = sixteenths({50'000, 3});
  const auto first = Axes{0}, second = Axes{1};
  const DeviceCall cases[] = {
      {"sum", {row}, {}},
      {"sum", {wide}, {{"axis", second}}},
      {"sum", {tall}, {{"axis", first}}},
      {"mean", {sixteenths({2, 32'768})}, {{"axis", second}}},
      {"max", {wide}, {{"axis", second}}},
      {"min", {tall}, {{"axis", first}}},
      {"argmax", {wide}, {{"axis", second}}},
      {"argmax", {tall}, {{"axis", first}}},
      {"argmax", {row}, {}},
      {"global_norm_scale", {row, wide, tall}, {{"max_norm", 1.0}}},
      {"sum", {sparse_sixteenths({400, 90}, Storage::csr)}, {{"axis", first}}},
      {"sum", {sparse_sixteenths({20, 2'000}, Storage::csr)}, {{"axis", second}}},
      {"sum", {sparse_sixteenths({300, 300}, Storage::csr)}, {}},
  };
  for (const auto& test : cases) hold_against_cpu(*host, test);
}

TEST_CASE("large on a GPU: sparse products, sorted by column") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  const auto matrix = sparse_sixteenths({90, 130}, Storage::csr);
  const auto transposed = Attributes{{"transpose_a", true}};
  const DeviceCall cases[] = {
      {"matmul", {matrix, sixteenths({130, 5})}, {}},
      {"matmul", {matrix, sixteenths({130, 5})}, {{"row_sparse_product", true}}},
      {"matmul", {matrix, sixteenths({90, 5})}, transposed},
      {"matmul",
       {matrix, sixteenths({90, 5})},
       {{"transpose_a", true}, {"row_sparse_product", true}}},
      {"matmul", {sixteenths({4, 90}), matrix}, {}},
      {"matmul", {sixteenths({4, 130}), matrix}, {{"transpose_b", true}}},
      {"matmul", {sixteenths({3, 1, 20, 30}), sixteenths({2, 30, 10})}, {}},
  };
  for (const auto& test : cases) hold_against_cpu(*host, test);
}

TEST_CASE("large on a GPU: transpositions by tiles, and copies of elements and of runs") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  const struct {
    Shape x;
    Axes axes;
  } rows[] = {
      {{32, 32}, {1, 0}},
      {{33, 65}, {1, 0}},
      {{31, 97}, {1, 0}},
      {{16, 300}, {1, 0}},
      {{15, 300}, {1, 0}},
      {{3, 17, 50}, {0, 2, 1}},
      {{2, 3, 40, 35}, {1, 0, 3, 2}},
      {{40, 3, 35}, {2, 1, 0}},
      {{40, 2, 3, 35}, {3, 1, 0, 2}},
      {{5, 40, 70}, {2, 0, 1}},
      {{5, 40, 70}, {1, 2, 0}},
      {{70, 40, 6}, {1, 0, 2}},
  };
  for (const auto& row : rows)
    for (const char* dtype : {"int8", "float16", "float32", "float64"}) {
      CAPTURE(dtype);
      const auto x = host->call("cast", {sixteenths(row.x)}, {{"dtype", dtype}});
      hold_against_cpu(*host, {"transpose", {x}, {{"axes", row.axes}}});
    }
}

TEST_CASE("large on a GPU: casts by packs of 16 bytes, and elements before and after them") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  const char* const dtypes[] = {"bool",    "uint8",    "int8",    "int32",  "int64",
                                "float16", "bfloat16", "float32", "float64"};
  for (const std::int64_t n : {1, 15, 16, 1003})
    for (const char* from : dtypes) {
      const auto x = host->call("cast", {sixteenths({n})}, {{"dtype", from}});
      for (const char* to : dtypes) {
        CAPTURE(from);
        CAPTURE(to);
        hold_against_cpu(*host, {"cast", {x}, {{"dtype", to}}});
      }
    }
}

TEST_CASE("large on a GPU: rows of any length, by as many threads") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  for (const std::int64_t length : {1, 2, 3, 7, 8, 31, 33, 100, 255, 257, 600}) {
    const auto data = sixteenths({90, length});
    for (const char* dtype : {"int8", "float16", "float32"}) {
      const auto x = host->call("cast", {data}, {{"dtype", dtype}});
      hold_against_cpu(*host, {"take_rows", {x, indices(130, 90)}, {}});
      hold_against_cpu(*host, {"retain", {x, indices(20, 90)}, {}});
    }
    hold_against_cpu(
        *host,
        {"embedding", {indices(130, 90), data}, {{"input_dim", 90}, {"output_dim", length}}});
    const auto left = sparse_sixteenths({90, length}, Storage::row_sparse),
               right = sparse_sixteenths({90, length}, Storage::row_sparse, 2);
    hold_against_cpu(*host, {"sum_gradients", {left, right}, {}});
    hold_against_cpu(*host,
                     {"take_rows", {left, Tensor::from<std::int64_t>({1, 2, 2, 80}, {4})}, {}});
    hold_against_cpu(*host, {"cast_storage", {left}, {{"storage", "dense"}}});
    const auto csr = sparse_sixteenths({90, length}, Storage::csr);
    hold_against_cpu(*host,
                     {"slice", {csr}, {{"begin", Axes{80}}, {"end", Axes{3}}, {"step", Axes{-7}}}});
    hold_against_cpu(*host, {"cast_storage", {csr}, {{"storage", "row_sparse"}}});
  }
}

TEST_CASE("large on a GPU: rows of sparse tensors") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  for (const auto storage : {Storage::csr, Storage::row_sparse}) {
    const auto data = sparse_sixteenths({700, 6}, storage);
    const DeviceCall cases[] = {
        {"take_rows",
         {data, storage == Storage::csr ? indices(900, 700)
                                        : Tensor::from<std::int64_t>({1, 2, 2, 500}, {4})},
         {}},
        {"retain", {data, indices(40, 700)}, {}},
        {"slice", {data}, {{"begin", Axes{600}}, {"end", Axes{3}}, {"step", Axes{-7}}}},
        {"scale_by", {data, Tensor::from({0.5f}, Shape::scalar())}, {}},
        {"fill_like", {data}, {{"value", 2.5}}},
        {"stop_gradient", {data}, {}},
        {"cast", {data}, {{"dtype", "int32"}}},
        {"cast", {data}, {{"dtype", "float16"}}},
        {"cast_storage", {data}, {{"storage", "dense"}}},
        {"cast_storage", {data}, {{"storage", "csr"}}},
        {"cast_storage", {data}, {{"storage", "row_sparse"}}},
        {"cast_storage",
         {tenon::cast_storage(data, Storage::dense)},
         {{"storage", storage == Storage::csr ? "csr" : "row_sparse"}}},
    };
    for (const auto& test : cases) hold_against_cpu(*host, test);
  }
  const auto left = sparse_sixteenths({700, 6}, Storage::row_sparse),
             right = sparse_sixteenths({700, 6}, Storage::row_sparse, 2);
  hold_against_cpu(*host, {"sum_gradients", {left, right}, {}});
  hold_against_cpu(*host,
                   {"sum_gradients", {sixteenths({700, 6}), sixteenths({700, 6}, 0, 2)}, {}});
  for (const bool lazy : {true, false})
    hold_against_cpu(*host, {"sgd",
                             {sixteenths({700, 6}), left, Tensor::from({0.5f}, Shape::scalar())},
                             {{"lazy_update", lazy}, {"weight_decay", 0.25}}});
}

TEST_CASE("large on a GPU: an index out of range is reported, and the device stays usable") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  const auto data = sixteenths({3, 2}).to("cuda"),
             wrong = Tensor::from<std::int64_t>({0, -4}, {2}).to("cuda");
  for (const char* op : {"take_rows", "retain"}) {
    CAPTURE(op);
    const auto failure = failure_of([&] { host->call(op, {data, wrong}); });
    CHECK(failure.message.find("index -4 is out of range: it must be from 0 to 2") !=
          std::string::npos);
  }
  hold_against_cpu(*host, {"take_rows", {sixteenths({3, 2}), indices(50, 3)}, {}});
}

TEST_CASE("large on a GPU: gathers, scatters, repetitions, cumulative sums and norms") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  const auto data = sixteenths({40, 300, 3});
  const auto pairs = indices(1200, 40).reshape({600, 2});
  for (const auto& call : std::vector<DeviceCall>{
           {"gather", {data, indices(700, 300)}, {{"axis", 1}}},
           {"gather_along", {data, indices(40 * 50 * 3, 300).reshape({40, 50, 3})}, {{"axis", 1}}},
           {"gather_nd", {data, pairs}, {}},
           {"scatter_nd", {data, pairs, sixteenths({600, 3}, 0, 2)}, {{"reduction", "add"}}},
           {"scatter_nd", {data, pairs, sixteenths({600, 3}, 0, 2)}, {}},
           {"tile", {data}, {{"times", Axes{2, 1, 3}}}},
           {"cumsum", {data}, {{"axis", 1}, {"reverse", true}}},
           {"argmin", {data}, {{"axis", Axes{1}}}}})
    hold_against_cpu(*host, call);
}

TEST_CASE(
    "on a GPU: a kernel that reads elements in the CPU's memory reads those of each run, not those "
    "of a capture") {
  auto* host = host_with_gpu<true>();
  if (host == nullptr) return;
  tenon::Graph graph(*host);
  const auto x = graph.input("x", tenon::f32, {30, 30}),
             along = graph.input("along", tenon::i64, Shape::scalar());
  auto y = graph.add("neg", {graph.add("cumsum", {graph.add("neg", {x}), along})});
  graph.output("y", graph.add("neg", {graph.add("trilu", {y, graph.input("offset", tenon::i64,
                                                                         Shape::scalar())})}));
  tenon::Session on_gpu(graph, {.device = "cuda"}), on_cpu(graph);
  const auto number = [](std::int64_t value) { return Tensor::from({value}, Shape::scalar()); };
  for (int run = 0; run < 8; ++run) {
    CAPTURE(run);
    const tenon::NamedTensors inputs{{"x", sixteenths({30, 30})},
                                     {"along", number(run % 3 == 2)},
                                     {"offset", number(run % 4 - 1)}};
    CHECK(tenon::same_bits(on_gpu.run(inputs).at("y").to("cpu"), on_cpu.run(inputs).at("y")));
  }
}
