// Convolution: what ONNX reads off the weight's shape are parameters here.
#include <algorithm>

#include "onnx/operators/window.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The filters of a node, and its data and bias: halves are computed in float32 and rounded once.
struct Filters {
  explicit Filters(NodeImport& node) : type(node.dtype(node.input(0))) {
    const auto weight = node.widened(node.input(1)), bias = node.widened(node.optional_input(2));
    shape = node.shape(weight);
    node.require(shape.known() && shape.rank() >= 3, "the shape of its weight is not known");
    for (int a = 2; a < shape.rank(); ++a) kernel.push_back(shape[a]);
    if (const auto given = node.integers("kernel_shape"))
      node.require(*given == kernel,
                   fmt::format("its kernel_shape is not that of its weight, {}", to_string(node.importer().type_of(weight))));
    inputs = {{"data", node.widened(node.input(0))}, {"weight", weight}};
    if (!bias.empty()) inputs.emplace_back("bias", bias);
  }

  DType type;
  Shape shape;
  Numbers kernel{};
  Importer::Named inputs{};
};

void conv(NodeImport& node) {
  const Filters filters(node);
  auto attributes = window_of(node, filters.kernel);
  attributes.set("num_filter", filters.shape[0]);
  attributes.set("groups", node.integer("group", 1));
  attributes.set("no_bias", filters.inputs.size() < 3);
  node.output(node.cast(node.add("tenon.convolution", filters.inputs, attributes), filters.type));
}

// output_shape stands for the padding that gives it.
void pad_to(NodeImport& node, const Filters& filters, const Numbers& sizes, Attributes& attributes) {
  const auto axes = filters.kernel.size();
  const auto data = node.shape(filters.inputs[0].second);
  const bool upper = node.text("auto_pad", "NOTSET") == "SAME_UPPER";
  const auto stride = numbers_of(node, "strides", axes, 1), dilate = numbers_of(node, "dilations", axes, 1);
  auto extra = numbers_of(node, "output_padding", axes, 0);
  const auto rank = static_cast<int>(axes) + 2;
  node.require(data.has_rank() && data.rank() == rank && (sizes.size() == axes || sizes.size() == axes + 2),
               "its output_shape does not fit its input");
  Numbers begin(axes), end(axes);
  for (std::size_t a = 0; a < axes; ++a) {
    const auto size = data[static_cast<int>(a) + 2], wanted = sizes[sizes.size() - axes + a];
    node.require(size != unknown, "its output_shape needs sizes that are not known");
    constexpr std::int64_t most = 1 << 30;
    const auto fits = [&](std::int64_t number) { return number >= 0 && number <= most; };
    node.require(fits(size) && fits(wanted) && fits(stride[a]) && fits(dilate[a]) && fits(extra[a]) && fits(filters.kernel[a]),
                 "its output_shape, strides, dilations or output_padding are no sizes");
    const auto total = stride[a] * (size - 1) + extra[a] + dilate[a] * (filters.kernel[a] - 1) + 1 - wanted;
    if (total < 0) extra[a] -= total;
    const auto cut = std::max<std::int64_t>(total, 0);
    begin[a] = upper ? cut / 2 : cut - cut / 2;
    end[a] = cut - begin[a];
  }
  attributes.set("pad", begin);
  attributes.set("pad_end", end);
  attributes.set("output_padding", extra);
}

void conv_transpose(NodeImport& node) {
  const Filters filters(node);
  const auto axes = filters.kernel.size();
  const auto groups = node.integer("group", 1);
  Attributes attributes;
  if (const auto sizes = node.integers("output_shape")) {
    attributes = Attributes{
        {"kernel", filters.kernel}, {"stride", numbers_of(node, "strides", axes, 1)}, {"dilate", numbers_of(node, "dilations", axes, 1)}};
    node.ignore("pads");
    pad_to(node, filters, *sizes, attributes);
  } else {
    attributes = window_of(node, filters.kernel);
    attributes.set("output_padding", numbers_of(node, "output_padding", axes, 0));
  }
  attributes.set("num_filter", filters.shape[1] * groups);
  attributes.set("groups", groups);
  attributes.set("no_bias", filters.inputs.size() < 3);
  node.output(node.cast(node.add("tenon.conv_transpose", filters.inputs, attributes), filters.type));
}

// With the places of the largest, which its form leaves out.
void max_pool(NodeImport& node) {
  const auto kernel = node.integers("kernel_shape");
  node.require(kernel.has_value(), "its kernel_shape is missing");
  auto attributes = window_of(node, *kernel);
  attributes.set("ceil_mode", node.integer("ceil_mode", 0) != 0);
  attributes.set("column_major", node.integer("storage_order", 0) != 0);
  attributes.set("return_indices", node.is_read(1));
  const auto made = node.add_all("tenon.max_pool", std::vector{node.input(0)}, attributes);
  node.output(0, made[0]);
  if (node.is_read(1)) node.output(1, made[1]);
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

const Composition convolutions_read[] = {{"Conv", conv}, {"ConvTranspose", conv_transpose}, {"MaxPool", max_pool, 8}, {"LRN", lrn}};

}  // namespace
}  // namespace tenon::onnx
