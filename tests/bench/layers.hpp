// Layers as published networks use them: convolution, batch normalization and activation as one.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/udf.hpp>
#include <vector>

#include "graph/model.hpp"
#include "run/impl_access.hpp"

/// Resizes images, as the last layer of a segmentation network does; only its shapes matter here.
struct ResizeBilinear : tenon::Operator {
  std::int64_t height = 1, width = 1;
  static constexpr void describe(auto& op) {
    op.doc("each image in another size, by bilinear interpolation");
    op.types({tenon::f32});
    op.input("data", "[batch, channels, rows, columns]");
    op.output("output", "[batch, channels, height, width]");
    op.param("height", &ResizeBilinear::height, "rows of output").at_least(1);
    op.param("width", &ResizeBilinear::width, "columns of output").at_least(1);
    op.backward_reads();
  }
  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    io.set_output(0, {data[0], data[1], height, width});
  }
  void forward(const tenon::Call&) const {
    throw tenon::Error("this operator can only be planned, not run");
  }
  void backward(const tenon::Call& call) const { forward(call); }
};

using Numbers = std::vector<std::int64_t>;

struct Filters {
  std::int64_t rows, columns, stride = 1, dilate = 1;
  bool padded = true;  // stride 1 keeps the size
};

class Layers {
 public:
  Layers(tenon::Host& host, std::int64_t size) : graph(host) {
    image = graph.input("image", tenon::DType::f32, {1, 3, size, size});
  }

  tenon::Value convolution(tenon::Value x, std::int64_t filters, Filters shape,
                           std::int64_t groups = 1) {
    const auto pad = [&](std::int64_t kernel) {
      return shape.padded ? shape.dilate * (kernel - 1) / 2 : 0;
    };
    return graph.add("convolution", {x},
                     {{"num_filter", filters},
                      {"kernel", Numbers{shape.rows, shape.columns}},
                      {"stride", Numbers{shape.stride}},
                      {"dilate", Numbers{shape.dilate}},
                      {"pad", Numbers{pad(shape.rows), pad(shape.columns)}},
                      {"groups", groups},
                      {"no_bias", true}});
  }
  tenon::Value normalized(tenon::Value x, std::int64_t filters, Filters shape,
                          std::int64_t groups = 1) {
    return graph.add("batch_norm", {convolution(x, filters, shape, groups)});
  }
  tenon::Value layer(tenon::Value x, std::int64_t filters, Filters shape) {
    return graph.add("relu", {normalized(x, filters, shape)});
  }
  tenon::Value layer6(tenon::Value x, std::int64_t filters, Filters shape,
                      std::int64_t groups = 1) {
    return graph.add("clip", {normalized(x, filters, shape, groups)}, {{"low", 0}, {"high", 6}});
  }
  /// Depthwise filters, then a convolution that mixes the channels.
  tenon::Value separable(tenon::Value x, std::int64_t filters, std::int64_t stride) {
    return layer6(layer6(x, channels(x), {3, 3, stride}, channels(x)), filters, {1, 1});
  }
  tenon::Value max_pool(tenon::Value x, std::int64_t pad) { return pool("max_pool", x, 2, pad); }
  tenon::Value avg_pool(tenon::Value x) { return pool("avg_pool", x, 1, 1); }
  tenon::Value concat(const std::vector<tenon::Value>& parts) {
    return graph.add("concat", parts, {{"axis", 1}});
  }
  std::int64_t channels(tenon::Value x) const { return graph.shape(x)[1]; }
  std::int64_t size(tenon::Value x) const { return graph.shape(x)[2]; }

  void classify(tenon::Value x) {
    graph.output("scores", graph.add("fully_connected", {graph.add("global_avg_pool", {x})},
                                     {{"num_hidden", 1000}}, "scores"));
  }
  /// The gradients of all weights are outputs, as in a training step.
  tenon::Graph with_gradients() const {
    auto training = graph.clone();
    training.bind();
    std::vector<tenon::Value> weights;
    for (const auto& value : model_of(graph).values)
      if (value.role == tenon::Role::variable)
        weights.push_back(training.find(model_of(graph).strings[value.name]));
    const auto gradients = training.gradient(training.find("scores"), weights);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      training.output("gradient " + std::to_string(i), gradients[i]);
    return training;
  }

  tenon::Graph graph;
  tenon::Value image;

 private:
  tenon::Value pool(const char* op, tenon::Value x, std::int64_t stride, std::int64_t pad) {
    return graph.add(
        op, {x}, {{"kernel", Numbers{3, 3}}, {"stride", Numbers{stride}}, {"pad", Numbers{pad}}});
  }
};
