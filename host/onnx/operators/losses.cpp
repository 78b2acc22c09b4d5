// Losses, and normalizations with their additional outputs.
#include <fmt/format.h>

#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

Operand unary(NodeImport& node, const char* op, const Operand& x) {
  return node.add(op, std::vector{x});
}
Operand binary(NodeImport& node, const char* op, const Operand& left, const Operand& right) {
  return node.add(op, std::vector{left, right});
}

// -weight[target] * log_probability[target], and 0 for ignored targets.
Operand likelihood_loss(NodeImport& node, const Operand& scores, const Operand& labels,
                        const Operand& weight) {
  const auto reduction = node.text("reduction", "mean");
  node.require(reduction == "none" || reduction == "sum" || reduction == "mean",
               fmt::format("its reduction '{}' is unknown", reduction));
  auto target = node.cast(labels, i64);
  Operand counts;  // the weight of each target
  const bool ignores = node.attribute("ignore_index") != nullptr;
  const auto zero = node.scalar(0, scores), one = node.scalar(1, scores);
  Operand ignored;
  if (ignores) {
    ignored =
        binary(node, "tenon.equal", target,
               node.constant(Tensor::from({node.integer("ignore_index", 0)}, Shape::scalar())));
    target = node.add("tenon.where", std::vector{ignored, node.scalar(0, target), target});
  }
  const auto indices = node.add("tenon.expand_dims", std::vector{target}, {{"axis", {1}}});
  auto loss = node.add("tenon.gather_along", std::vector{scores, indices}, {{"axis", 1}});
  loss = unary(node, "tenon.neg", node.add("tenon.squeeze", std::vector{loss}, {{"axis", {1}}}));
  if (!weight.empty())
    counts = node.add("tenon.gather", std::vector{weight, target}, {{"axis", 0}});
  if (ignores && counts.empty())
    counts = node.add("tenon.where", std::vector{ignored, zero, one});
  else if (ignores)
    counts = node.add("tenon.where", std::vector{ignored, zero, counts});
  if (!counts.empty()) loss = binary(node, "tenon.mul", loss, counts);
  // the ignored class may have any score
  if (ignores) loss = node.add("tenon.where", std::vector{ignored, zero, loss});
  if (reduction == "none") return loss;
  auto total = unary(node, "tenon.sum", loss);
  if (reduction == "sum") return total;
  if (counts.empty()) return unary(node, "tenon.mean", loss);
  return binary(node, "tenon.div", total, unary(node, "tenon.sum", counts));
}

void negative_log_likelihood(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  node.output(node.cast(likelihood_loss(node, node.widened(node.input(0)), node.input(1),
                                        node.widened(node.optional_input(2))),
                        type));
}

void softmax_cross_entropy(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const auto logs =
      node.add("tenon.log_softmax", std::vector{node.widened(node.input(0))}, {{"axis", 1}});
  node.output(
      0, node.cast(likelihood_loss(node, logs, node.input(1), node.widened(node.optional_input(2))),
                   type));
  node.output(1, node.cast(logs, type));
}

// LayerNormalization whose outputs for the mean and the inverse standard deviation are used.
void layer_normalization(NodeImport& node) {
  const auto x = node.input(0);
  const auto type = node.dtype(x);
  const auto in = static_cast<std::int32_t>(node.integer("stash_type", 1));
  node.require(in == 1, "its stash_type is not float32");
  const int rank = node.rank(x), first = node.axis(node.integer("axis", -1), rank);
  std::vector<std::int64_t> axes;
  for (int a = first; a < rank; ++a) axes.push_back(a);
  const Attributes over{{"axis", axes}, {"keepdims", true}};
  const auto wide = node.cast(x, type == f64 ? f64 : f32);
  const auto mean = node.add("tenon.mean", std::vector{wide}, over);
  const auto centred = binary(node, "tenon.sub", wide, mean);
  const auto variance =
      node.add("tenon.mean", std::vector{binary(node, "tenon.mul", centred, centred)}, over);
  const auto inverse =
      unary(node, "tenon.rsqrt",
            binary(node, "tenon.add", variance, node.scalar(node.real("epsilon", 1e-5), wide)));
  auto y = node.cast(binary(node, "tenon.mul", centred, inverse), type);
  y = binary(node, "tenon.mul", y, node.input(1));
  if (node.has(2)) y = binary(node, "tenon.add", y, node.input(2));
  node.output(0, y);
  node.output(1, node.cast(mean, f32));
  node.output(2, node.cast(inverse, f32));
}

// BatchNormalization with statistics that are known only at run time, by elementwise operators:
// statistics from inputs, or from the batch with an update of the running ones.
void batch_normalization(NodeImport& node) {
  const bool trains = node.integer("training_mode", 0) != 0;
  node.require(node.integer("spatial", 1) != 0,
               "its statistics are not per channel (spatial is 0)");
  const auto momentum = node.real("momentum", 0.9);
  const auto type = node.dtype(node.input(0));
  const auto x = node.widened(node.input(0));
  const int rank = node.rank(x);
  node.require(rank >= 2, "its input needs a channel axis");
  std::vector<std::int64_t> spatial;
  for (int a = 2; a < rank; ++a) spatial.push_back(a - 1);
  const auto per_channel = [&](const Operand& each) {
    return spatial.empty() ? each
                           : node.add("tenon.expand_dims", std::vector{each}, {{"axis", spatial}});
  };
  auto mean = node.widened(node.input(3)), variance = node.widened(node.input(4));
  if (trains) {
    node.require(node.version() >= 14, "training mode is supported from opset 14 on");
    std::vector<std::int64_t> all{0};
    for (const auto axis : spatial) all.push_back(axis + 1);
    const auto moved = [&](const Operand& before, const Operand& now) {
      return binary(node, "tenon.add",
                    binary(node, "tenon.mul", before, node.scalar(momentum, before)),
                    binary(node, "tenon.mul", now, node.scalar(1 - momentum, now)));
    };
    const auto of_batch = [&](const Operand& each) {
      return node.add("tenon.mean", std::vector{each}, {{"axis", all}});
    };
    const auto batch_mean = of_batch(x);
    const auto difference = binary(node, "tenon.sub", x, per_channel(batch_mean));
    const auto batch_variance = of_batch(binary(node, "tenon.mul", difference, difference));
    if (node.is_read(1))
      node.output(1, node.cast(moved(mean, batch_mean), node.dtype(node.input(3))));
    if (node.is_read(2))
      node.output(2, node.cast(moved(variance, batch_variance), node.dtype(node.input(4))));
    mean = batch_mean, variance = batch_variance;
  }
  const auto spread = per_channel(variance);
  const auto deviation =
      unary(node, "tenon.sqrt",
            binary(node, "tenon.add", spread, node.scalar(node.real("epsilon", 1e-5), spread)));
  auto y = binary(node, "tenon.div", binary(node, "tenon.sub", x, per_channel(mean)), deviation);
  y = binary(node, "tenon.mul", y, per_channel(node.widened(node.input(1))));
  node.output(
      node.cast(binary(node, "tenon.add", y, per_channel(node.widened(node.input(2)))), type));
}

const Composition losses_read[] = {{"NegativeLogLikelihoodLoss", negative_log_likelihood},
                                   {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
                                   {"LayerNormalization", layer_normalization},
                                   {"BatchNormalization", batch_normalization}};

}  // namespace
}  // namespace tenon::onnx
