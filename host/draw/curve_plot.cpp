#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tenon/host/draw.hpp>
#include <vector>

#include "io/counted.hpp"

namespace tenon {
namespace {

// Pixels. A panel consists of a frame, the numbers left of and below it, and a title above.
constexpr double panel_width = 380, panel_height = 280, frame_left = 56, frame_right = 364,
                 frame_top = 34, frame_bottom = 238;
constexpr double max_drawn = 1e30;  // beyond it, differences and their squares overflow

struct Point {
  double epoch, value;
};
struct Curve {
  std::string_view name, colour, dashes;
  std::vector<Point> points;
};
struct Tick {
  double at;
  std::string text;
};

/// Maps numbers to pixels, linearly or logarithmically.
struct Axis {
  double low, high, low_pixel, high_pixel;
  bool logarithmic = false;
  std::vector<Tick> ticks;

  double operator()(double number) const {
    const auto scaled = [&](double x) { return logarithmic ? std::log10(x) : x; };
    return low_pixel +
           (scaled(number) - scaled(low)) / (scaled(high) - scaled(low)) * (high_pixel - low_pixel);
  }
};

/// The smallest of 1, 2 or 5 times a power of ten such that at most `max_steps` of it make up
/// `length`.
double round_step(double length, int max_steps) {
  const double power = std::pow(10.0, std::floor(std::log10(length / max_steps)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (length / (factor * power) <= max_steps) return factor * power;
  return 10 * power;
}

/// Ends at round numbers, or close to low and high.
Axis even_axis(double low, double high, int max_steps, double min_step, bool round_ends) {
  const double middle = std::max(std::abs(low), std::abs(high));
  if (high - low <= middle * 1e-9)
    low -= std::max(middle * 0.05, 0.05), high += std::max(middle * 0.05, 0.05);
  const double step = std::max(round_step(high - low, max_steps), min_step);
  const double first = round_ends ? std::floor(low / step + 1e-9) : std::ceil(low / step - 1e-9);
  const double last = round_ends ? std::ceil(high / step - 1e-9) : std::floor(high / step + 1e-9);
  Axis axis{round_ends ? first * step : low, round_ends ? last * step : high, 0, 1, false, {}};
  for (int i = 0; i <= static_cast<int>(last - first); ++i) {
    const double at = (first + i) * step + 0.0;  // avoids -0
    axis.ticks.push_back({at, fmt::format("{:.6g}", at)});
  }
  return axis;
}

/// Powers of ten, with 2 and 5 in between if there is room.
Axis logarithmic_axis(double low, double high) {
  Axis axis{low / 1.1, high * 1.1, 0, 1, true, {}};
  const int first = static_cast<int>(std::floor(std::log10(axis.low))),
            last = static_cast<int>(std::ceil(std::log10(axis.high)));
  const int every = (last - first + 5) / 6;
  const bool room = axis.high / axis.low < 2000;
  for (int power = first; power <= last; power += every)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = factor * std::pow(10, power);
      if (at >= axis.low && at <= axis.high && (factor == 1 || room))
        axis.ticks.push_back({at, fmt::format("{:.6g}", at)});
    }
  return axis;
}

struct Panel {
  std::string_view name;
  bool may_be_logarithmic;
  std::vector<Curve> curves;

  std::pair<double, double> range(double Point::*member) const {
    double low = 1e300, high = -1e300;
    for (const auto& curve : curves)
      for (const auto& point : curve.points)
        low = std::min(low, point.*member), high = std::max(high, point.*member);
    return low > high ? std::pair(0.0, 1.0) : std::pair(low, high);
  }
};

/// Logarithmic if the values span more than a factor of ten: a linear axis would hide the small
/// ones.
Axis value_axis(const Panel& panel) {
  const auto [low, high] = panel.range(&Point::value);
  auto axis = panel.may_be_logarithmic && low > 0 && high / low > 10
                  ? logarithmic_axis(low, high)
                  : even_axis(low, high, 6, 0, true);
  axis.low_pixel = frame_bottom, axis.high_pixel = frame_top;
  return axis;
}

Axis epoch_axis(const Panel& panel) {
  const auto [first, last] = panel.range(&Point::epoch);
  auto axis = even_axis(first, last, 7, 1, false);
  axis.low_pixel = frame_left, axis.high_pixel = frame_right;
  return axis;
}

std::string axes_svg(const Axis& x, const Axis& y) {
  std::string svg;
  for (const auto& [at, text] : y.ticks)
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{:g} {:.1f}H{:g}\"/><text x=\"{:g}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        frame_left, y(at), frame_right, frame_left - 6, y(at) + 4, text);
  for (const auto& [at, text] : x.ticks)
    svg += fmt::format(
        "<path class=\"axis\" d=\"M{:.1f} {:g}v4\"/><text x=\"{:.1f}\" y=\"{:g}\" "
        "text-anchor=\"middle\">{}</text>\n",
        x(at), frame_bottom, x(at), frame_bottom + 18, text);
  return svg + fmt::format(
                   "<path class=\"axis\" d=\"M{:g} {:g}V{:g}H{:g}\"/>\n<text x=\"{:g}\" y=\"{:g}\" "
                   "text-anchor=\"middle\">epoch</text>\n",
                   frame_left, frame_top, frame_bottom, frame_right, (frame_left + frame_right) / 2,
                   frame_bottom + 34);
}

std::string curve_svg(const Curve& curve, const Axis& x, const Axis& y) {
  std::string path;
  for (const auto& [epoch, value] : curve.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(epoch), y(value));
  if (curve.points.size() == 1) path += "h0.1";  // round line ends make it a dot
  return fmt::format("<path class=\"curve\" stroke=\"{}\" stroke-dasharray=\"{}\" d=\"{}\"/>\n",
                     curve.colour, curve.dashes, path);
}

/// Names with the last values, in the order of the curves.
std::string legend_svg(const Panel& panel) {
  std::string svg;
  double x = frame_left + 64;
  for (const auto& curve : panel.curves) {
    if (curve.points.empty()) continue;
    svg += fmt::format(
        "<path class=\"curve\" stroke=\"{}\" stroke-dasharray=\"{}\" d=\"M{:g} {:g}h18\"/><text "
        "x=\"{:g}\" y=\"{:g}\">{} {:.3g}</text>\n",
        curve.colour, curve.dashes, x, frame_top - 16, x + 24, frame_top - 12, curve.name,
        curve.points.back().value);
    x += 122;
  }
  return svg;
}

std::string panel_svg(const Panel& panel, double left) {
  const auto x = epoch_axis(panel), y = value_axis(panel);
  auto svg = fmt::format(
      "<g transform=\"translate({:g} 0)\">\n<text class=\"name\" x=\"4\" y=\"{:g}\">{}</text>\n",
      left, frame_top - 12, panel.name);
  svg += legend_svg(panel) + axes_svg(x, y);
  for (const auto& curve : panel.curves) svg += curve_svg(curve, x, y);
  return svg + "</g>\n";
}

void add_point(Curve& curve, std::uint64_t epoch, std::optional<double> value) {
  if (value && std::abs(*value) <= max_drawn)
    curve.points.push_back({static_cast<double>(epoch + 1), *value});
}

std::vector<Panel> panels_of(std::span<const EpochMetrics> epochs) {
  const std::vector<Curve> empty{{"training", "#1f6fb4", "none", {}},
                                 {"validation", "#d1495b", "5 3", {}}};
  Panel loss{"loss", true, empty}, accuracy{"accuracy", false, empty};
  for (const auto& [epoch, training, validation] : epochs) {
    add_point(loss.curves[0], epoch, training.loss);
    add_point(accuracy.curves[0], epoch, training.accuracy);
    if (!validation) continue;
    add_point(loss.curves[1], epoch, validation->loss);
    add_point(accuracy.curves[1], epoch, validation->accuracy);
  }
  const bool has_accuracy =
      !accuracy.curves[0].points.empty() || !accuracy.curves[1].points.empty();
  return has_accuracy ? std::vector{loss, accuracy} : std::vector{loss};
}

}  // namespace

std::string draw_curves(std::span<const EpochMetrics> epochs) {
  const auto panels = panels_of(epochs);
  const double width = panel_width * static_cast<double>(panels.size());
  auto svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" role=\"img\">\n"
      "<title>{2} over {3}</title>\n"
      "<style>text {{font: 12px sans-serif; fill: #333}} .name {{font-weight: bold}} path {{fill: "
      "none}} .axis {{stroke: #333}}\n"
      ".grid {{stroke: #ddd}} .curve {{stroke-width: 2; stroke-linejoin: round; stroke-linecap: "
      "round}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, panel_height, panels.size() > 1 ? "Loss and accuracy" : "Loss",
      counted(epochs.size(), "epoch"));
  for (std::size_t i = 0; i < panels.size(); ++i)
    svg += panel_svg(panels[i], panel_width * static_cast<double>(i));
  return svg + "</svg>\n";
}

}  // namespace tenon
