#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <tenon/host/profile.hpp>

#include "draw/xml_text.hpp"
#include "io/counted.hpp"

namespace tenon {
namespace {

constexpr std::string_view profile_style = R"css(
.tenon-profile { font: 14px/1.45 system-ui, sans-serif; max-width: 60rem; }
.tenon-profile table { border-collapse: collapse; }
.tenon-profile th, .tenon-profile td { padding: .2rem .7rem; text-align: right;
  border-bottom: 1px solid #d0d7de; white-space: nowrap; }
.tenon-profile th { font-weight: 600; }
.tenon-profile .name { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.tenon-profile .bar { background: linear-gradient(#9ec5fe, #9ec5fe) no-repeat; }
.tenon-profile svg { width: 100%; height: auto; }
)css";

constexpr std::array operator_colours{"#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2",
                                      "#eeca3b", "#b279a2", "#ff9da6", "#9d755d", "#bab0ac"};

double share_of(double amount, double total) {
  return total > 0 ? 100 * amount / total : 0;
}

class ProfilePage {
 public:
  ProfilePage(std::span<const NodeTime> times, const MachineSpeed& machine)
      : times_(times), operators_(by_operator(times)), machine_(machine) {
    for (const auto& time : times)
      whole_ += time.seconds, end_ = std::max(end_, time.begin + time.last);
    for (std::size_t i = 0; i < operators_.size(); ++i)
      colour_of_.emplace(operators_[i].op, operator_colours[i % operator_colours.size()]);
  }

  std::string run() {
    add("<style>{}</style>\n<div class=\"tenon-profile\">\n", profile_style);
    add_summary();
    add_timeline();
    add_operators();
    add_nodes();
    return text_ + "</div>\n";
  }

 private:
  static constexpr double width = 960, bar_height = 34, axis_height = 18;  // of the timeline
  // of the tables, and of the timeline, which shows the longest
  static constexpr std::size_t max_rows = 1000;

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void add_summary();
  void add_timeline();
  void add_operators();
  void add_nodes();
  void add_row(std::string_view name, const std::string& second, const NodeTime& time);
  void add_speed(double amount, double seconds, double limit);

  std::span<const NodeTime> times_;
  std::vector<OperatorTime> operators_;
  const MachineSpeed& machine_;
  std::map<std::string_view, std::string_view> colour_of_;
  double whole_ = 0, end_ = 0;  // seconds of all calls; the last run's end
  std::string text_;
};

void ProfilePage::add_summary() {
  add("<p>{} in {:.3f} ms of calls. This machine on {}: a copy moves {:.1f} GB/s",
      counted(times_.size(), "node"), 1e3 * whole_, counted(machine_.threads, "thread"),
      machine_.copy / 1e9);
  if (machine_.product > 0)
    add(", a float32 product computes {:.1f} GFLOP/s", machine_.product / 1e9);
  add(". Shaded cells compare each node with these speeds.</p>\n");
}

void ProfilePage::add_timeline() {
  if (end_ <= 0) return;
  add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"Helvetica\" "
      "font-size=\"11\">\n",
      width, bar_height + axis_height);
  for (const auto& time : times_.first(std::min(times_.size(), max_rows)))
    add("<rect x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>{} ({}): "
        "{:.2f} us at {:.2f} us</title></rect>\n",
        time.begin / end_ * width, std::max(time.last / end_ * width, 0.1), bar_height,
        colour_of_.at(time.op), xml_text(time.node), xml_text(time.op), 1e6 * time.last,
        1e6 * time.begin);
  add("<text x=\"0\" y=\"{0}\">0</text><text x=\"{1}\" y=\"{0}\" text-anchor=\"end\">{2:.1f} us: "
      "the last run</text>\n</svg>\n",
      bar_height + axis_height - 4, width, 1e6 * end_);
}

// The share of the machine's speed, shaded.
void ProfilePage::add_speed(double amount, double seconds, double limit) {
  if (amount <= 0 || seconds <= 0) return add("<td></td>");
  add("<td class=\"bar\" style=\"background-size: {:.0f}% 100%\">{:.2f}</td>",
      std::min(share_of(amount / seconds, limit), 100.0), amount / seconds / 1e9);
}

void ProfilePage::add_row(std::string_view name, const std::string& second, const NodeTime& time) {
  const auto share = share_of(time.seconds, whole_);
  add("<tr><td class=\"name\"><span style=\"color: {}\">&#9632;</span> {}</td><td "
      "class=\"name\">{}</td><td>{}</td><td>{:.3f}</td>"
      "<td>{:.2f}</td><td class=\"bar\" style=\"background-size: {:.0f}% 100%\">{:.1f} %</td>",
      colour_of_.at(time.op), xml_text(name), second, time.calls, 1e3 * time.seconds,
      1e6 * time.seconds / static_cast<double>(time.calls), share, share);
  add_speed(time.bytes, time.seconds, machine_.copy);
  add_speed(time.flops, time.seconds, machine_.product);
  add("</tr>\n");
}

void ProfilePage::add_operators() {
  add("<table>\n<tr><th class=\"name\">operator</th><th "
      "class=\"name\">nodes</th><th>calls</th><th>ms</th><th>us per "
      "call</th><th>share</th>"
      "<th>GB/s</th><th>GFLOP/s</th></tr>\n");
  for (const auto& op : operators_) add_row(op.op, std::to_string(op.nodes), op);
  add("</table>\n");
}

void ProfilePage::add_nodes() {
  add("<table>\n<tr><th class=\"name\">node</th><th "
      "class=\"name\">operator</th><th>calls</th><th>ms</th><th>us per call</th><th>share</th>"
      "<th>GB/s</th><th>GFLOP/s</th></tr>\n");
  for (const auto& time : times_.first(std::min(times_.size(), max_rows)))
    add_row(time.node, xml_text(time.op), time);
  add("</table>\n");
  if (times_.size() > max_rows)
    add("<p>Not shown: {} with shorter times.</p>\n", counted(times_.size() - max_rows, "node"));
}

}  // namespace

std::vector<OperatorTime> by_operator(std::span<const NodeTime> times) {
  std::map<std::string_view, OperatorTime> found;
  for (const auto& time : times) {
    auto& sum = found[time.op];
    if (sum.nodes++ == 0) sum.op = time.op, sum.device = time.device, sum.least = time.least;
    sum.calls += time.calls, sum.seconds += time.seconds, sum.bytes += time.bytes,
        sum.flops += time.flops;
    sum.least = std::min(sum.least, time.least);
  }
  std::vector<OperatorTime> sorted;
  sorted.reserve(found.size());
  for (auto& [op, time] : found) sorted.push_back(std::move(time));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
    return left.seconds > right.seconds;
  });
  return sorted;
}

std::string draw_profile(std::span<const NodeTime> times, const MachineSpeed& machine) {
  return ProfilePage(times, machine).run();
}

}  // namespace tenon
