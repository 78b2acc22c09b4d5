// Convolution: parameters that ONNX derives from the shape of the weight are explicit in Tenon.
#include <algorithm>
#include <functional>

#include "onnx/operators/matrix.hpp"
#include "onnx/operators/window.hpp"

namespace tenon::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Data, weight and bias of a convolution, in which half-precision inputs are computed in float32
/// and rounded once.
struct Filters {
  explicit Filters(NodeImport& node) : type(node.dtype(node.input(0))) {
    const auto weight = node.widened(node.input(1)), bias = node.widened(node.optional_input(2));
    shape = node.shape(weight);
    node.require_known(shape.known(), "the shape of its weight is unknown");
    node.require(shape.rank() >= 3, "its weight has fewer than 3 dimensions");
    for (int a = 2; a < shape.rank(); ++a) kernel.push_back(shape[a]);
    if (const auto kernel_shape = node.integers("kernel_shape"))
      node.require(*kernel_shape == kernel,
                   fmt::format("its kernel_shape does not match its weight, {}",
                               to_string(node.importer().type_of(weight))));
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

/// A transposed convolution with the crops and padding that its attributes imply.
class Transposed {
 public:
  explicit Transposed(NodeImport& node)
      : node_(node),
        filters_(node),
        axes_(filters_.kernel.size()),
        stride_(numbers_of(node, "strides", axes_, 1)),
        dilate_(numbers_of(node, "dilations", axes_, 1)),
        extra_(numbers_of(node, "output_padding", axes_, 0)),
        groups_(node.integer("group", 1)),
        mode_(node.text("auto_pad", "NOTSET")) {
    for (const Numbers* numbers :
         std::initializer_list<const Numbers*>{&stride_, &dilate_, &extra_, &filters_.kernel})
      for (const auto number : *numbers)
        node.require(number >= 0 && number <= max_size,
                     "its strides, dilations, output_padding or kernel are negative or too large");
  }

  Operand result() {
    const auto sizes = node_.integers("output_shape");
    const auto window = sizes ? Attributes() : window_of(node_, filters_.kernel);
    if (sizes) node_.ignore("pads");
    return node_.cast(sizes ? of_sizes(*sizes) : of_window(window), filters_.type);
  }

 private:
  static constexpr std::int64_t max_size = 1 << 30;

  bool is_upper() const { return mode_ == "SAME_UPPER"; }
  bool is_same() const { return is_upper() || mode_ == "SAME_LOWER"; }
  bool in_stride() const {
    return std::equal(extra_.begin(), extra_.end(), stride_.begin(), std::less<>());
  }
  std::int64_t reach(std::size_t a) const { return dilate_[a] * (filters_.kernel[a] - 1) + 1; }

  Operand add(Attributes attributes, bool with_bias) {
    attributes.set("num_filter", filters_.shape[1] * groups_);
    attributes.set("groups", groups_);
    auto inputs = filters_.inputs;
    if (!with_bias) inputs.resize(2);
    attributes.set("no_bias", inputs.size() < 3);
    return node_.add("tenon.conv_transpose", inputs, attributes);
  }
  Attributes without_padding() const {
    return {{"kernel", filters_.kernel}, {"stride", stride_}, {"dilate", dilate_}};
  }

  Operand of_window(Attributes window) {
    if (in_stride()) {
      window.set("output_padding", extra_);
      return add(std::move(window), true);
    }
    Numbers begin(axes_), end(axes_);
    const auto pads = is_same() || mode_ == "VALID" ? Numbers(2 * axes_)
                                                    : numbers_of(node_, "pads", 2 * axes_, 0);
    for (std::size_t a = 0; a < axes_; ++a)
      if (is_same())
        cut(a, reach(a) + extra_[a] - stride_[a], begin, end);
      else
        begin[a] = pads[a], end[a] = pads[a + axes_];
    return crop_by(begin, end);
  }

  // output_shape determines the padding.
  Operand of_sizes(const Numbers& sizes) {
    const auto data = node_.shape(filters_.inputs[0].second);
    node_.require((!data.has_rank() || data.rank() == static_cast<int>(axes_) + 2) &&
                      (sizes.size() == axes_ || sizes.size() == axes_ + 2),
                  "its output_shape does not match its input");
    const Numbers output_sizes(sizes.end() - static_cast<std::ptrdiff_t>(axes_), sizes.end());
    for (const auto size : output_sizes)
      node_.require(size > 0 && size <= max_size,
                    "its output_shape has a size below 1, or above 2^30");
    Numbers begin(axes_), end(axes_);
    for (std::size_t a = 0; a < axes_; ++a) {
      const auto size = data.has_rank() ? data[static_cast<int>(a) + 2] : unknown;
      if (size == unknown) return crop_at_runtime(output_sizes);
      node_.require(size <= max_size, "its input is too large");
      cut(a, stride_[a] * (size - 1) + reach(a) + extra_[a] - output_sizes[a], begin, end);
    }
    return crop_by(begin, end);
  }

  // Crops `total` elements in all from both ends; a negative number is added at the end.
  void cut(std::size_t a, std::int64_t total, Numbers& begin, Numbers& end) {
    if (total < 0) extra_[a] -= total;
    const auto less = std::max<std::int64_t>(total, 0);
    begin[a] = is_upper() ? less / 2 : less - less / 2;
    end[a] = less - begin[a];
  }

  // Tenon's operator requires output_padding below the stride. Larger values only add the bias, so
  // the result is padded, and any excess is cropped.
  Operand crop_by(const Numbers& begin, Numbers end) {
    for (std::size_t a = 0; a < axes_; ++a) {
      const auto both = std::min(extra_[a], end[a]);
      extra_[a] -= both;
      end[a] -= both;
    }
    auto attributes = without_padding();
    if (in_stride()) {
      attributes.set("pad", begin);
      attributes.set("pad_end", end);
      attributes.set("output_padding", extra_);
      return add(std::move(attributes), true);
    }
    const Numbers none(axes_);
    auto whole = padded(add(std::move(attributes), false), none, extra_, 1);
    if (begin != none || end != none) whole = padded(whole, begin, end, -1);
    return biased(whole);
  }

  Operand padded(const Operand& x, const Numbers& before, const Numbers& after, std::int64_t sign) {
    Numbers widths[2]{Numbers(2), Numbers(2)};
    for (std::size_t a = 0; a < axes_; ++a)
      widths[0].push_back(sign * before[a]), widths[1].push_back(sign * after[a]);
    return node_.add("tenon.pad", std::vector{x}, {{"before", widths[0]}, {"after", widths[1]}});
  }

  Operand biased(const Operand& x) {
    if (filters_.inputs.size() < 3) return x;
    Numbers spatial;
    for (std::size_t a = 0; a < axes_; ++a) spatial.push_back(static_cast<std::int64_t>(a) + 1);
    const auto bias =
        node_.add("tenon.expand_dims", std::vector{filters_.inputs[2].second}, {{"axis", spatial}});
    return node_.add("tenon.add", std::vector{x, bias});
  }

  // Image sizes are unknown: the full result is computed at run time and then cropped to these
  // sizes.
  Operand crop_at_runtime(const Numbers& output_sizes) {
    const auto numbers = [&](auto&& number_of) {
      Numbers all(axes_);
      for (std::size_t a = 0; a < axes_; ++a) all[a] = number_of(a);
      return node_.constant(all);
    };
    const auto with = [&](const char* op, const Operand& left, const Operand& right) {
      return node_.add(op, std::vector{left, right});
    };
    const auto zero = numbers([](std::size_t) { return std::int64_t{0}; });
    const auto along = numbers([](std::size_t a) { return static_cast<std::int64_t>(a) + 2; });
    const auto full = add(without_padding(), false);
    const auto lengths = sizes_along(node_, full, 2, INT64_MAX);
    const auto total = with("tenon.add", lengths,
                            numbers([&](std::size_t a) { return extra_[a] - output_sizes[a]; }));
    const auto less = with("tenon.maximum", total, zero);
    const auto half =
        with("tenon.int_divide", less, numbers([](std::size_t) { return std::int64_t{2}; }));
    const auto begin = is_upper() ? half : with("tenon.sub", less, half);
    const auto end =
        with("tenon.add", begin, numbers([&](std::size_t a) { return output_sizes[a]; }));
    const auto after = with("tenon.maximum", with("tenon.sub", end, lengths), zero);
    const auto widths = node_.add("tenon.concat", std::vector{zero, after}, {{"axis", 0}});
    const auto padded =
        node_.add("tenon.pad", Importer::Named{{"x", full}, {"widths", widths}, {"along", along}});
    const auto cut = node_.add(
        "tenon.slice",
        Importer::Named{{"x", padded}, {"begins", begin}, {"ends", end}, {"along", along}});
    Numbers shape{0, filters_.shape[1] * groups_};
    shape.insert(shape.end(), output_sizes.begin(), output_sizes.end());
    return biased(
        node_.add("tenon.reshape", std::vector{cut}, {{"shape", shape}, {"copy_zeros", true}}));
  }

  NodeImport& node_;
  const Filters filters_;
  const std::size_t axes_;
  const Numbers stride_, dilate_;
  Numbers extra_;
  const std::int64_t groups_;
  const std::string mode_;
};

void conv_transpose(NodeImport& node) {
  node.output(Transposed(node).result());
}

// MaxPool with the second output, the indices of the maxima, which the ONNX form does not cover.
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

// Divides each element by a power of the mean square of its neighbours in other channels.
void lrn(NodeImport& node) {
  const auto x = node.input(0);
  const auto size = node.integer("size", 0);
  node.require(size > 0, "its size must be 1 or more");
  const auto before = (size - 1) / 2, after = size - 1 - before;
  const int rank = node.rank(x);
  node.require(rank >= 3 && rank <= 4, "its input must be [N, C, W] or [N, C, H, W]");
  auto squares = node.add("tenon.expand_dims",
                          std::vector{node.add("tenon.mul", std::vector{x, x})}, {{"axis", {1}}});
  const auto spatial = static_cast<std::size_t>(rank - 1);
  Numbers pad(spatial), kernel(spatial, 1);
  kernel[0] = size;
  if (before == after)
    pad[0] = before;
  else
    squares = node.add(
        "tenon.pad", std::vector{squares},
        {{"before", Numbers(rank == 4 ? Numbers{0, 0, before, 0, 0} : Numbers{0, 0, before, 0})},
         {"after", Numbers(rank == 4 ? Numbers{0, 0, after, 0, 0} : Numbers{0, 0, after, 0})}});
  auto means = node.add("tenon.avg_pool", std::vector{squares},
                        {{"kernel", kernel},
                         {"stride", Numbers(spatial, 1)},
                         {"pad", pad},
                         {"count_include_pad", true}});
  means = node.add("tenon.squeeze", std::vector{means}, {{"axis", {1}}});
  auto scale = node.add("tenon.mul", std::vector{means, node.scalar(node.real("alpha", 1e-4), x)});
  scale = node.add("tenon.add", std::vector{scale, node.scalar(node.real("bias", 1), x)});
  node.output(node.add(
      "tenon.div",
      std::vector{
          x, node.add("tenon.pow", std::vector{scale, node.scalar(node.real("beta", 0.75), x)})}));
}

const Composition convolutions_read[] = {
    {"Conv", conv}, {"ConvTranspose", conv_transpose}, {"MaxPool", max_pool, 8}, {"LRN", lrn}};

}  // namespace
}  // namespace tenon::onnx
