#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tenon/host/draw.hpp>

#include "draw/xml_text.hpp"
#include "io/counted.hpp"
#include "plan/memory/memory_use.hpp"

namespace tenon {
namespace {

// of the plot area, and its margins
constexpr double width = 960, height = 480, left = 90, top = 30, right = 20, bottom = 40;

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

class Drawing {
 public:
  explicit Drawing(const PlanInfo& plan)
      : plan_(plan),
        steps_(static_cast<double>(std::max<std::size_t>(plan.steps.size(), 1))),
        bytes_(static_cast<double>(std::max<std::int64_t>(plan.bytes(), 1))) {}

  std::string run() {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"Helvetica\" "
        "font-size=\"11\">\n",
        left + width + right, top + height + bottom);
    add("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    add_axes();
    add_boxes();
    add_bound();
    return text_ + "</svg>\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  double x(double step) const { return left + step / steps_ * width; }
  double y(double offset) const { return top + height - offset / bytes_ * height; }

  void add_axes();
  void add_boxes();
  void add_box(const MemoryUse& use, std::uint32_t end);
  void add_bound();
  std::int64_t base_of(std::uint32_t arena) const;

  const PlanInfo& plan_;
  double steps_, bytes_;
  std::string text_;
};

void Drawing::add_axes() {
  add("<text x=\"{}\" y=\"{}\">{}</text>\n", left, top - 12, xml_text(summarize(plan_)));
  for (int i = 0; i <= 4; ++i) {
    const double step = std::floor(steps_ * i / 4), offset = bytes_ * i / 4;
    add("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(step),
        top + height + 16, step);
    add("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6, y(offset) + 4,
        bytes_text(offset));
  }
  add("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">step</text>\n", left + width / 2,
      top + height + 32);
  add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#555555\"/>\n",
      left, top, width, height);
}

void Drawing::add_boxes() {
  // value -> the step in which another value takes over its memory
  std::map<std::string_view, std::uint32_t> taken;
  for (const auto& use : plan_.memory)
    if (!use.in_place_of.empty()) taken.emplace(use.in_place_of, use.first);
  for (const auto& use : plan_.memory) {
    const auto found = use.workspace ? taken.end() : taken.find(use.name);
    add_box(use, found == taken.end() ? use.last + 1 : std::max(found->second, use.first + 1));
  }
}

void Drawing::add_box(const MemoryUse& use, std::uint32_t end) {
  static constexpr const char* fills[] = {"#cfe8cf", "#d7ecff", "#fde7c8",
                                          "#ffd9d9", "#e6dcf5", "#f4f0b8"};
  if (use.bytes == 0) return;
  const auto bottom_edge = static_cast<double>(base_of(use.arena) + use.offset),
             top_edge = bottom_edge + static_cast<double>(use.bytes);
  const double box_width = x(end) - x(use.first), box_height = y(bottom_edge) - y(top_edge);
  const auto name = xml_text(use.name);
  add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
      "stroke=\"#555555\" stroke-width=\"0.5\">",
      x(use.first), y(top_edge), box_width, box_height,
      use.workspace ? "#eeeeee" : fills[use.first % std::size(fills)]);
  add("<title>{}{}: {} at {}, steps {} to {}{}</title></rect>\n", name,
      use.workspace ? " (workspace)" : "", counted(use.bytes, "byte"), use.offset, use.first,
      use.last, use.in_place_of.empty() ? "" : ", in place of " + xml_text(use.in_place_of));
  if (box_height >= 13 && box_width >= 7 * static_cast<double>(use.name.size()))
    add("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\" "
        "pointer-events=\"none\">{}</text>\n",
        x(use.first) + box_width / 2, y((bottom_edge + top_edge) / 2) + 4, name);
}

// Devices are stacked vertically.
std::int64_t Drawing::base_of(std::uint32_t arena) const {
  std::int64_t base = 0;
  for (std::uint32_t below = 0; below < arena; ++below) base += plan_.arenas[below].bytes;
  return base;
}

void Drawing::add_bound() {
  for (std::uint32_t arena = 0; arena < plan_.arenas.size(); ++arena) {
    const auto& each = plan_.arenas[arena];
    const auto where = plan_.arenas.size() == 1 ? "" : " of " + each.device;
    const auto bound = y(static_cast<double>(base_of(arena) + each.lower_bound));
    add("<line x1=\"{0}\" y1=\"{2:.2f}\" x2=\"{1}\" y2=\"{2:.2f}\" stroke=\"#b03030\" "
        "stroke-dasharray=\"6 4\">",
        left, left + width, bound);
    add("<title>lower bound{}: {}</title></line>\n", where, counted(each.lower_bound, "byte"));
  }
}

}  // namespace

std::string draw_memory(const PlanInfo& plan) {
  check_arenas(plan);
  return Drawing(plan).run();
}

}  // namespace tenon
