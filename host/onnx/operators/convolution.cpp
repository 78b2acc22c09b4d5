// Convolution: what ONNX reads off the weight's shape are parameters here.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(NodeImport& node, const char* name, std::size_t count, std::int64_t otherwise) {
  auto found = node.integers(name).value_or(Numbers(count, otherwise));
  node.require(found.size() == count, fmt::format("its attribute '{}' has {} numbers and must have {}", name, found.size(), count));
  return found;
}

struct Window {
  Numbers kernel, stride, dilate;
};

// Of both sides, as the attributes or the input's size say; SAME counts dilations.
Numbers padding(NodeImport& node, const Window& window, const Shape& shape) {
  const auto axes = window.kernel.size();
  const auto automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) return numbers(node, "pads", 2 * axes, 0);
  node.ignore("pads");
  Numbers pads(2 * axes);
  if (automatic == "VALID") return pads;
  node.require(automatic == "SAME_UPPER" || automatic == "SAME_LOWER", fmt::format("its auto_pad '{}' is unknown", automatic));
  for (std::size_t a = 0; a < axes; ++a) {
    const auto size = shape.has_rank() ? shape[static_cast<int>(a) + 2] : unknown;
    const auto reach = window.dilate[a] * (window.kernel[a] - 1) + 1;
    if (size == unknown && window.stride[a] != 1)
      node.refuse("its auto_pad needs sizes that are not known", "give the inputs whole shapes");
    const auto places = size == unknown ? 0 : (size + window.stride[a] - 1) / window.stride[a];
    const auto total = size == unknown ? reach - 1 : std::max<std::int64_t>((places - 1) * window.stride[a] + reach - size, 0);
    const auto less = total / 2, more = total - less;
    pads[a] = automatic == "SAME_UPPER" ? less : more;
    pads[axes + a] = automatic == "SAME_UPPER" ? more : less;
  }
  return pads;
}

// Zeros where the two sides differ; else the convolution's own padding.
Operand padded(NodeImport& node, const Operand& data, Numbers& pads) {
  const auto axes = pads.size() / 2;
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  if (std::equal(pads.begin(), middle, middle)) {
    pads.resize(axes);
    return data;
  }
  Numbers before{0, 0}, after{0, 0};
  before.insert(before.end(), pads.begin(), middle);
  after.insert(after.end(), middle, pads.end());
  pads.assign(axes, 0);
  return node.add("tenon.pad", std::vector{data}, {{"before", before}, {"after", after}});
}

// Halves are computed in float32 and rounded once.
void conv(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  const bool half = type == f16 || type == bf16;
  const auto wide = [&](const Operand& operand) { return half && !operand.empty() ? node.cast(operand, f32) : operand; };
  const auto data = wide(node.input(0)), weight = wide(node.input(1)), bias = wide(node.optional_input(2));
  const auto filters = node.shape(weight);
  node.require(filters.has_rank() && filters.rank() >= 3, "the shape of its weight is not known");
  const auto axes = static_cast<std::size_t>(filters.rank() - 2);
  Window window;
  for (std::size_t a = 0; a < axes; ++a) window.kernel.push_back(filters[static_cast<int>(a) + 2]);
  node.require(filters.known(), "the shape of its weight is not known");
  if (const auto given = node.integers("kernel_shape"))
    node.require(*given == window.kernel,
                 fmt::format("its kernel_shape is not that of its weight, {}", to_string(node.importer().type_of(weight))));
  window.stride = numbers(node, "strides", axes, 1);
  window.dilate = numbers(node, "dilations", axes, 1);
  auto pads = padding(node, window, node.shape(data));
  const auto given = padded(node, data, pads);
  Importer::Named inputs{{"data", given}, {"weight", weight}};
  if (!bias.empty()) inputs.emplace_back("bias", bias);
  const auto result = node.add("tenon.convolution", inputs,
                               {{"num_filter", filters[0]},
                                {"kernel", window.kernel},
                                {"stride", window.stride},
                                {"dilate", window.dilate},
                                {"pad", pads},
                                {"groups", node.integer("group", 1)},
                                {"no_bias", bias.empty()}});
  node.output(half ? node.cast(result, type) : result);
}

// Each element over a power of the mean square of its neighbours in other channels.
void lrn(NodeImport& node) {
  const auto x = node.input(0);
  const auto size = node.integer("size", 0);
  node.require(size > 0, "its size must be 1 or more");
  const auto before = (size - 1) / 2, after = size - 1 - before;
  const int rank = node.rank(x);
  node.require(rank >= 3 && rank <= 4, "its input must be [N, C, W] or [N, C, H, W]");
  auto squares = node.add("tenon.expand_dims", std::vector{node.add("tenon.mul", std::vector{x, x})}, {{"axis", {1}}});
  const auto spatial = static_cast<std::size_t>(rank - 1);
  Numbers pad(spatial), kernel(spatial, 1);
  kernel[0] = size;
  if (before == after)
    pad[0] = before;
  else
    squares = node.add("tenon.pad", std::vector{squares},
                       {{"before", Numbers(rank == 4 ? Numbers{0, 0, before, 0, 0} : Numbers{0, 0, before, 0})},
                        {"after", Numbers(rank == 4 ? Numbers{0, 0, after, 0, 0} : Numbers{0, 0, after, 0})}});
  auto means = node.add("tenon.avg_pool", std::vector{squares},
                        {{"kernel", kernel}, {"stride", Numbers(spatial, 1)}, {"pad", pad}, {"count_include_pad", true}});
  means = node.add("tenon.squeeze", std::vector{means}, {{"axis", {1}}});
  auto scale = node.add("tenon.mul", std::vector{means, node.scalar(node.real("alpha", 1e-4), x)});
  scale = node.add("tenon.add", std::vector{scale, node.scalar(node.real("bias", 1), x)});
  node.output(node.add("tenon.div", std::vector{x, node.add("tenon.pow", std::vector{scale, node.scalar(node.real("beta", 0.75), x)})}));
}

const Composition convolutions_read[] = {{"Conv", conv}, {"LRN", lrn}};

}  // namespace
}  // namespace tenon::onnx
