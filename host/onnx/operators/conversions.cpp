// Conversions, places of the largest, parts, products of halves.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

void cast_like(NodeImport& node) {
  node.ignore("saturate");  // of 8-bit floats, which Tenon has not
  node.output(node.cast(node.input(0), node.dtype(node.input(1))));
}

void hardmax(NodeImport& node) {
  const auto x = node.input(0);
  const int rank = node.rank(x), axis = node.axis(node.integer("axis", node.version() < 13 ? 1 : -1), rank);
  node.require(node.version() >= 13 || axis == rank - 1,
               "before opset 13 it takes all axes from its axis on as one, which is done for the last one alone");
  const auto shape = node.shape(x);
  node.require(shape.has_rank() && shape[axis] != unknown, "the size along its axis is not known");
  const auto largest = node.add("tenon.argmax", std::vector{x}, {{"axis", {axis}}});
  node.output(node.cast(node.add("tenon.one_hot", std::vector{largest}, {{"depth", shape[axis]}, {"axis", axis}, {"dtype", "float32"}}),
                        node.dtype(x)));
}

void split(NodeImport& node) {
  const auto x = node.input(0);
  const auto parts = static_cast<std::int64_t>(node.node().outputs.size());
  const auto axis = node.integer("axis", 0);
  node.require(node.integer("num_outputs", parts) == parts, "its num_outputs is not the number of its outputs");
  std::vector<Operand> made;
  if (const auto sizes = node.version() < 13 ? node.integers("split") : std::nullopt) {
    made = node.add_all("tenon.split", std::vector{x}, {{"sections", parts}, {"axis", axis}, {"sizes", *sizes}});
  } else if (node.version() >= 13 && node.has(1)) {
    const auto given = node.input(1);
    made = given.known()
               ? node.add_all("tenon.split", std::vector{x}, {{"sections", parts}, {"axis", axis}, {"sizes", *node.known_integers(1)}})
               : node.add_all("tenon.split", std::vector{x, given}, {{"sections", parts}, {"axis", axis}});
  } else {
    const auto size = node.shape(x).has_rank() ? node.shape(x)[node.axis(axis, node.rank(x))] : unknown;
    if (size == unknown || size % parts == 0) {
      made = node.add_all("tenon.split", std::vector{x}, {{"sections", parts}, {"axis", axis}});
    } else {
      const auto each = (size + parts - 1) / parts;
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), each);
      sizes.back() = size - each * (parts - 1);
      node.require(sizes.back() >= 0, "it has more outputs than parts");
      made = node.add_all("tenon.split", std::vector{x}, {{"sections", parts}, {"axis", axis}, {"sizes", sizes}});
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i) node.output(i, made[i]);
}

// Halves are multiplied in float32 and rounded once.
void product(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  node.require(type == f16 || type == bf16, "matmul computes floating numbers alone");
  node.output(node.cast(node.add("tenon.matmul", std::vector{node.cast(node.input(0), f32), node.cast(node.input(1), f32)}), type));
}

const Composition conversions_read[] = {{"CastLike", cast_like}, {"Hardmax", hardmax}, {"Split", split}, {"MatMul", product}};

}  // namespace
}  // namespace tenon::onnx
