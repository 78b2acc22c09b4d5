#include "cli/print/profile.hpp"

#include <algorithm>
#include <map>

namespace tenon::cli {
namespace {

struct OperatorTime {
  std::string op;
  std::size_t nodes = 0;
  std::uint64_t calls = 0;
  double seconds = 0;
};

std::vector<OperatorTime> by_operator(const std::vector<NodeTime>& times) {
  std::map<std::string, OperatorTime> found;
  for (const auto& time : times) {
    auto& sum = found[time.op];
    sum.op = time.op, ++sum.nodes, sum.calls += time.calls, sum.seconds += time.seconds;
  }
  std::vector<OperatorTime> sorted;
  for (const auto& [op, time] : found) sorted.push_back(time);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) { return left.seconds > right.seconds; });
  return sorted;
}

}  // namespace

Option profile_option() {
  return {"profile", "", "measure each operator: each step is waited for, which makes runs slower"};
}

std::string profile_text(const std::vector<NodeTime>& times) {
  double whole = 0;
  for (const auto& time : times) whole += time.seconds;
  auto text = fmt::format("{:<32} {:>6} {:>8} {:>12} {:>12} {:>7}\n", "operator", "nodes", "calls", "ms", "us a call", "share");
  for (const auto& [op, nodes, calls, seconds] : by_operator(times))
    text += fmt::format("{:<32} {:>6} {:>8} {:>12.3f} {:>12.2f} {:>5.1f} %\n", op, nodes, calls, 1e3 * seconds,
                        1e6 * seconds / static_cast<double>(calls), whole > 0 ? 100 * seconds / whole : 0);
  return text;
}

JsonItem profile_json(const std::vector<NodeTime>& times) {
  std::vector<JsonItem> items;
  for (const auto& time : times)
    items.push_back(
        json_object("node", time.node, "operator", time.op, "device", time.device, "calls", time.calls, "ms", 1e3 * time.seconds));
  return json_list(items);
}

}  // namespace tenon::cli
