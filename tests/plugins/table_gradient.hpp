// The gradient of an embedding with respect to its table.
#pragma once
#include <tenon/host/graph.hpp>

/// Its output `gradient` is that of sum(embedding(indices) * factors).
inline tenon::Graph table_gradient(tenon::Host& host, const tenon::Tensor& indices,
                                   const tenon::Tensor& factors, const tenon::Tensor& table,
                                   bool sparse) {
  tenon::Graph graph(host);
  const auto weight = graph.variable("weight", table);
  const auto rows = graph.add(
      "embedding", {graph.constant("indices", indices), weight},
      {{"input_dim", table.shape()[0]}, {"output_dim", table.shape()[1]}, {"sparse_grad", sparse}});
  const auto product = graph.add("mul", {rows, graph.constant("factors", factors)});
  graph.output("gradient", graph.gradient(graph.add("sum", {product}), {weight}).at(0));
  return graph;
}
