// Memory that sparse operators allocate grows with the number of stored elements, not with the
// shape: a table of bytes for three numbers of stored elements.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/session.hpp>

#include "plugins/strict_host.hpp"
#include "run/session/session_impl.hpp"

namespace {

using tenon::Graph, tenon::Host, tenon::Session, tenon::Shape, tenon::Storage, tenon::Tensor,
    tenon::Value;

constexpr std::int64_t tall = 40'000, columns = 5'000;  // 800 MB of float32 if dense
constexpr std::int64_t fewest = 400, middle = 4'000, most = 40'000;

Tensor large_matrix(std::int64_t stored, Storage storage) {
  std::vector<float> values;
  std::vector<std::int64_t> at_row, at_column;
  for (std::int64_t i = 0; i < stored; ++i) {
    values.push_back(1.0F + static_cast<float>(i % 7));
    at_row.push_back(i * (tall / stored));
    at_column.push_back(i * 7919 % columns);
  }
  const auto csr =
      tenon::csr_from_coordinates(Tensor::from(values, {stored}), Tensor::from(at_row, {stored}),
                                  Tensor::from(at_column, {stored}), {tall, columns});
  if (storage == Storage::csr) return csr;
  // rows of 8 values each; otherwise the stored rows would be as long as the table is wide
  return Tensor::row_sparse(Tensor::zeros(tenon::f32, {stored, 8}), Tensor::from(at_row, {stored}),
                            {tall, 8});
}

struct SparseGraph {
  const char* name;
  Storage storage;
  std::function<Value(Graph&, Value)> build;
  std::int64_t whatever;  ///< bytes that do not depend on the stored elements: dense results, one
                          ///< number per row or column
};

std::int64_t bytes_of(Host& host, const SparseGraph& test, std::int64_t stored) {
  Graph graph(host);
  graph.output("y", test.build(graph, graph.constant("x", large_matrix(stored, test.storage))));
  Session session(graph);
  const auto result = session.run({}).at("y");
  return result.bytes() + session.plan_bytes({}) +
         impl_of(session).plans.all().begin()->second.execution->sparse_bytes();
}

Value weight(Graph& graph, const Shape& shape) {
  return graph.variable("w", Tensor::zeros(tenon::f32, shape));
}

}  // namespace

TEST_CASE("sparse operators allocate in proportion to the stored elements") {
  StrictHost host(2);
  const auto numbers = [](Graph& graph) {
    return graph.constant("numbers", Tensor::from({std::int64_t{0}, std::int64_t{100}}, {2}));
  };
  const std::int64_t starts = 8 * (tall + 1);
  const SparseGraph cases[] = {
      {"square of csr", Storage::csr, [](Graph& g, Value x) { return g.add("square", {x}); },
       starts},
      {"square of row_sparse", Storage::row_sparse,
       [](Graph& g, Value x) { return g.add("square", {x}); }, 0},
      {"square, then tanh", Storage::csr,
       [](Graph& g, Value x) { return g.add("tanh", {g.add("square", {x})}); }, 2 * starts},
      {"csr x dense", Storage::csr,
       [](Graph& g, Value x) {
         return g.add("matmul", {x, weight(g, {columns, 8})});
       },
       4 * 8 * tall},
      {"csr' x dense", Storage::csr,
       [](Graph& g, Value x) {
         return g.add("matmul", {x, weight(g, {tall, 8})}, {{"transpose_a", true}});
       },
       4 * 8 * columns + 16 * columns},
      {"csr' x dense, row_sparse", Storage::csr,
       [](Graph& g, Value x) {
         return g.add("matmul", {x, weight(g, {tall, 8})},
                      {{"transpose_a", true}, {"row_sparse_product", true}});
       },
       16 * columns},
      {"gradient of csr x dense by dense", Storage::csr,
       [](Graph& g, Value x) {
         const auto w = weight(g, {columns, 8});
         return g.gradient(g.add("matmul", {x, w}), {w}).at(0);
       },
       2 * 4 * 8 * tall + 16 * columns},
      {"sum of rows", Storage::csr,
       [](Graph& g, Value x) {
         return g.add("sum", {x}, {{"axis", std::vector<std::int64_t>{1}}});
       },
       4 * tall},
      {"mean of columns", Storage::csr,
       [](Graph& g, Value x) {
         return g.add("mean", {x}, {{"axis", std::vector<std::int64_t>{0}}});
       },
       64 * columns},
      {"slice of rows", Storage::csr,
       [](Graph& g, Value x) {
         return g.add("slice", {x},
                      {{"begin", std::vector<std::int64_t>{0}},
                       {"end", std::vector<std::int64_t>{tall / 2}}});
       },
       starts},
      {"rows taken", Storage::csr,
       [&](Graph& g, Value x) {
         return g.add("take_rows", {x, numbers(g)});
       },
       0},
      {"rows retained", Storage::row_sparse,
       [&](Graph& g, Value x) {
         return g.add("retain", {x, numbers(g)});
       },
       0},
  };
  std::string table =
      "bytes allocated where 400, 4,000 and 40,000 elements or rows are stored, of 40,000 x 5,000 "
      "(rows of 8 values)\n";
  for (const auto& test : cases) {
    CAPTURE(test.name);
    const auto few = bytes_of(host, test, fewest), some = bytes_of(host, test, middle),
               many = bytes_of(host, test, most);
    table += std::string(test.name) + ": " + std::to_string(few) + ", " + std::to_string(some) +
             ", " + std::to_string(many) + '\n';
    constexpr std::int64_t each =
        2 * (8 * 4 + 16);  // a stored row of 8 values with its index, and scratch of the same size
    CHECK(few <= test.whatever + each * fewest + 4096);
    CHECK(some <= test.whatever + each * middle + 4096);
    CHECK(many <= test.whatever + each * most + 4096);
  }
  MESSAGE(table);
}
