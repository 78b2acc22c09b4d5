#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tenon/host/draw.hpp>
#include <tenon/host/failure.hpp>
#include <vector>

#include "draw/xml_text.hpp"
#include "io/counted.hpp"
#include "train/tally.hpp"

namespace tenon {
namespace {

constexpr double cell = 36, left_edge = 110, top_edge = 60;

std::vector<std::string> names_of_classes(std::span<const std::string> names,
                                          std::int64_t classes) {
  std::vector<std::string> all(names.begin(), names.end());
  if (all.empty())
    for (std::int64_t i = 0; i < classes; ++i) all.push_back(std::to_string(i));
  if (std::ssize(all) != classes)
    throw Failure(FailureKind::usage,
                  fmt::format("the confusion matrix has {} but got {}",
                              counted(classes, "class", "classes"), counted(all.size(), "name")));
  return all;
}

}  // namespace

// The shade is a row's share, so that classes with few examples stay visible.
std::string draw_confusion(const Tensor& counts, std::span<const std::string> names) {
  const auto shape = counts.shape();
  if (shape.rank() != 2 || shape[0] != shape[1] || !integral.has(counts.dtype()))
    throw Failure(FailureKind::usage,
                  fmt::format("a confusion matrix must be integers [classes, classes], not {} {}",
                              name_of(counts.dtype()), to_string(shape)));
  const auto classes = shape[0];
  const auto labels = names_of_classes(names, classes);
  const auto numbers = classes_of(counts);
  const double size = cell * static_cast<double>(classes);
  auto svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" role=\"img\">\n"
      "<title>Confusion of {2} classes</title>\n<style>text {{font: 12px sans-serif; fill: #333; "
      "text-anchor: middle}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{3:g}\" y=\"20\">predicted</text>\n<text x=\"30\" y=\"{4:g}\">true</text>\n",
      left_edge + size + 20, top_edge + size + 20, classes, left_edge + size / 2,
      top_edge + size / 2);
  const auto to = std::back_inserter(svg);
  for (std::int64_t row = 0; row < classes; ++row) {
    const auto* first = numbers.data() + row * classes;
    const double y = top_edge + cell * static_cast<double>(row),
                 along = left_edge + cell * (static_cast<double>(row) + 0.5);
    double all = 0;
    for (std::int64_t column = 0; column < classes; ++column)
      all += static_cast<double>(first[column]);
    const auto name = xml_text(labels[static_cast<std::size_t>(row)]);
    fmt::format_to(to,
                   "<text x=\"{:g}\" y=\"{:g}\">{}</text>\n<text x=\"{:g}\" y=\"{:g}\">{}</text>\n",
                   left_edge - 25, y + cell / 2 + 4, name, along, top_edge - 10, name);
    for (std::int64_t column = 0; column < classes; ++column) {
      const double x = left_edge + cell * static_cast<double>(column),
                   share = all > 0 ? static_cast<double>(first[column]) / all : 0;
      fmt::format_to(to,
                     "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\" "
                     "fill-opacity=\"{:.3f}\" stroke=\"#ddd\"/>"
                     "<text x=\"{:g}\" y=\"{:g}\">{}</text>\n",
                     x, y, cell, cell, row == column ? "#1f6fb4" : "#d1495b", share, x + cell / 2,
                     y + cell / 2 + 4, first[column]);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace tenon
