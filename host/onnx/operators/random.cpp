// Random tensors with the shape of an input, whose seeds come from the session, and Dropout nodes
// that the operator's own ONNX form does not cover: with a training_mode, with a mask output that
// is used, or in subgraphs, which cannot draw random numbers.
#include "onnx/dtype.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

/// Random numbers in the shape of the first input.
Operand drawn(NodeImport& node, const char* op, Attributes attributes) {
  node.ignore("seed");
  const auto shape = node.shape(node.input(0));
  if (!shape.known())
    node.refuse(
        "the shape of its input is unknown, but random numbers need it when the model is imported",
        "give the inputs fully known shapes");
  attributes.set("shape", std::vector<std::int64_t>(shape.begin(), shape.end()));
  return node.add(op, std::vector<Operand>{}, attributes);
}

DType dtype_or(NodeImport& node, DType otherwise) {
  if (node.attribute("dtype") == nullptr) return otherwise;
  const auto* element = element_type(static_cast<std::int32_t>(node.integer("dtype", 0)));
  node.require(element != nullptr && element->dtype != unknown_dtype,
               "its dtype is not supported by Tenon");
  return element->dtype;
}

void normal_like(NodeImport& node) {
  const auto made =
      drawn(node, "tenon.normal", {{"mean", node.real("mean", 0)}, {"sd", node.real("scale", 1)}});
  node.output(node.cast(made, dtype_or(node, node.dtype(node.input(0)))));
}

void uniform_like(NodeImport& node) {
  const auto made =
      drawn(node, "tenon.uniform", {{"low", node.real("low", 0)}, {"high", node.real("high", 1)}});
  node.output(node.cast(made, dtype_or(node, node.dtype(node.input(0)))));
}

// 1 with the probability that the input gives.
void bernoulli(NodeImport& node) {
  const auto probability = node.cast(node.input(0), node.dtype(node.input(0)) == f64 ? f64 : f32);
  const auto made = node.cast(drawn(node, "tenon.uniform", {{"low", 0.0}, {"high", 1.0}}),
                              node.dtype(probability));
  node.output(node.cast(node.add("tenon.less", std::vector{made, probability}),
                        dtype_or(node, node.dtype(node.input(0)))));
}

const Composition random_read[] = {{"RandomNormalLike", normal_like},
                                   {"RandomUniformLike", uniform_like},
                                   {"Bernoulli", bernoulli, 15}};

}  // namespace

namespace {

void dropout(NodeImport& node) {
  node.ignore("seed");
  const auto x = node.input(0);
  // A ratio that is unknown at import cannot be used for training. Such a node becomes the
  // identity, as in inference.
  const bool known = node.version() < 12 || !node.has(1) || node.input(1).known();
  const double ratio = !known                ? 0
                       : node.version() < 12 ? node.real("ratio", 0.5)
                                             : node.known_number(1).value_or(0.5);
  if (node.known_number(2).value_or(0) != 0)
    node.refuse(
        "its training_mode is true, so it drops in every run; Tenon graphs drop only in training",
        "export the model for inference; training in Tenon still applies dropout");
  if (node.is_read(1))
    node.output(1, node.cast(node.add("tenon.fill_like", std::vector{x}, {{"value", 1.0}}),
                             node.version() < 10 ? node.dtype(x) : boolean));
  const bool trains = !node.importer().is_inner() && node.dtype(x) == f32 && ratio > 0 && ratio < 1;
  node.output(0, trains ? node.add("tenon.dropout", std::vector{x}, {{"p", ratio}}) : x);
}

const Composition dropout_read[] = {{"Dropout", dropout, 7}};

}  // namespace

}  // namespace tenon::onnx
