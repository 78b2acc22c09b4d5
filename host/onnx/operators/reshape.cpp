// Changes of shape.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/operators/matrix.hpp"

namespace tenon::onnx {
namespace {

// A size of 0 copies the input's size, unless allowzero is set.
void reshape(NodeImport& node) {
  const auto data = node.input(0);
  const bool zeros = node.integer("allowzero", 0) != 0;
  const auto sizes =
      node.version() < 5
          ? node.constant(node.integers("shape").value_or(std::vector<std::int64_t>{}))
          : node.input(1);
  if (!sizes.known())
    return node.output(node.add("tenon.reshape", Importer::Named{{"x", data}, {"sizes", sizes}},
                                {{"copy_zeros", !zeros}}));
  auto shape = node.version() < 5 ? *node.integers("shape") : *node.known_integers(1);
  node.require(
      shape.size() <= max_rank,
      fmt::format("its shape has {} dimensions; at most {} are supported", shape.size(), max_rank));
  const auto from = node.shape(data);
  const auto num_inferred = std::count(shape.begin(), shape.end(), -1);
  std::int64_t unknown_axis = -1;  // of a copied size; -1 if all are known
  for (std::size_t i = 0; !zeros && i < shape.size(); ++i) {
    if (shape[i] != 0) continue;
    const auto size =
        from.has_rank() && static_cast<int>(i) < from.rank() ? from[static_cast<int>(i)] : unknown;
    if (size == unknown && (unknown_axis >= 0 || num_inferred > 0))
      return node.output(node.add("tenon.reshape", Importer::Named{{"x", data}, {"sizes", sizes}},
                                  {{"copy_zeros", true}}));
    if (size == unknown) unknown_axis = static_cast<std::int64_t>(i);
    shape[i] = size;
  }
  node.output(node.add("tenon.reshape", std::vector{data}, {{"shape", shape}}));
}

// Before opset 13, all axes from `axis` on are treated as one.
void flattened(NodeImport& node, const char* op) {
  const auto data = node.input(0);
  const auto axis = node.integer("axis", 1);
  const auto shape = node.shape(data);
  if (axis == -1 || (shape.has_rank() && axis == shape.rank() - 1))
    return node.output(node.add(op, std::vector{data}, {{"axis", axis}}));
  node.output(reshaped(node, node.add(op, std::vector{as_matrix(node, data, axis)}, {{"axis", -1}}),
                       node.shape_of(data)));
}
void softmax(NodeImport& node) {
  flattened(node, "tenon.softmax");
}
void log_softmax(NodeImport& node) {
  flattened(node, "tenon.log_softmax");
}

std::int64_t channels_of(NodeImport& node, const Operand& data, Shape& shape) {
  shape = node.shape(data);
  node.require_known(shape.known(), "the shape of its input is unknown");
  node.require(shape.rank() == 4, "its input must be [N, C, H, W]");
  return shape[1];
}

Operand shaped(NodeImport& node, const Operand& data, std::vector<std::int64_t> shape) {
  return node.add("tenon.reshape", std::vector{data}, {{"shape", std::move(shape)}});
}

void depth_to_space(NodeImport& node) {
  Shape s;
  const auto data = node.input(0);
  const auto block = node.integer("blocksize", 0), depth = channels_of(node, data, s);
  const auto mode = node.text("mode", "DCR");
  node.require(block > 0 && depth % (block * block) == 0,
               "its blocksize does not divide the channels");
  node.require(mode == "DCR" || mode == "CRD", fmt::format("its mode '{}' is unknown", mode));
  const auto rest = depth / (block * block);
  const bool dcr = mode == "DCR";
  const auto split = dcr ? shaped(node, data, {s[0], block, block, rest, s[2], s[3]})
                         : shaped(node, data, {s[0], rest, block, block, s[2], s[3]});
  const auto transposed = node.add("tenon.transpose", std::vector{split},
                                   {{"axes", dcr ? std::vector<std::int64_t>{0, 3, 4, 1, 5, 2}
                                                 : std::vector<std::int64_t>{0, 1, 4, 2, 5, 3}}});
  node.output(shaped(node, transposed, {s[0], rest, s[2] * block, s[3] * block}));
}

void space_to_depth(NodeImport& node) {
  Shape s;
  const auto data = node.input(0);
  const auto block = node.integer("blocksize", 0), depth = channels_of(node, data, s);
  node.require(block > 0 && s[2] % block == 0 && s[3] % block == 0,
               "its blocksize does not divide the spatial sizes");
  const auto split = shaped(node, data, {s[0], depth, s[2] / block, block, s[3] / block, block});
  const auto transposed = node.add("tenon.transpose", std::vector{split},
                                   {{"axes", std::vector<std::int64_t>{0, 3, 5, 1, 2, 4}}});
  node.output(shaped(node, transposed, {s[0], depth * block * block, s[2] / block, s[3] / block}));
}

const Composition reshapes_read[] = {{"Reshape", reshape},
                                     {"Softmax", softmax},
                                     {"LogSoftmax", log_softmax},
                                     {"DepthToSpace", depth_to_space},
                                     {"SpaceToDepth", space_to_depth}};

}  // namespace
}  // namespace tenon::onnx
