// Window attributes of convolution and pooling.
#pragma once
#include <fmt/format.h>

#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

inline std::vector<std::int64_t> numbers_of(NodeImport& node, const char* name, std::size_t count,
                                            std::int64_t otherwise) {
  auto found = node.integers(name).value_or(std::vector<std::int64_t>(count, otherwise));
  node.require(found.size() == count, fmt::format("its attribute '{}' has {} numbers, but needs {}",
                                                  name, found.size(), count));
  return found;
}

/// Strides, dilations and padding as Tenon parameters.
inline Attributes window_of(NodeImport& node, const std::vector<std::int64_t>& kernel) {
  using Numbers = std::vector<std::int64_t>;
  const auto axes = kernel.size();
  Attributes window{{"kernel", kernel},
                    {"stride", numbers_of(node, "strides", axes, 1)},
                    {"dilate", numbers_of(node, "dilations", axes, 1)}};
  const auto automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    node.ignore("pads");
    window.set("pad_mode", automatic == "SAME_UPPER" ? "same_upper" : "same_lower");
  } else if (automatic == "NOTSET" || automatic.empty()) {
    const auto pads = numbers_of(node, "pads", 2 * axes, 0);
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
    window.set("pad", Numbers(pads.begin(), middle));
    window.set("pad_end", Numbers(middle, pads.end()));
  } else {
    node.require(automatic == "VALID", fmt::format("its auto_pad '{}' is unknown", automatic));
    node.ignore("pads");
  }
  return window;
}

}  // namespace tenon::onnx
