#include "cli/print/profile.hpp"

#include <algorithm>
#include <iterator>

#include "io/atomic_file.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

constexpr std::size_t max_nodes = 40;  // longest-running nodes shown in the text table

std::string per_second(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.2f}", amount / seconds / 1e9)
                                   : std::string("-");
}

// draw_profile() returns only the page's body.
std::string profile_page(const std::vector<NodeTime>& times, const MachineSpeed& machine) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
         "charset=\"utf-8\"><title>Profile</title></head><body>\n" +
         draw_profile(times, machine) + "</body></html>\n";
}

void add_titles(std::string& text, const char* what, const char* second) {
  fmt::format_to(std::back_inserter(text), "{:<32} {:>24} {:>8} {:>12} {:>12} {:>7} {:>9} {:>9}\n",
                 what, second, "calls", "ms", "us per call", "share", "GB/s", "GFLOP/s");
}

void add_line(std::string& text, const std::string& name, const std::string& second,
              const NodeTime& time, double whole) {
  fmt::format_to(std::back_inserter(text),
                 "{:<32} {:>24} {:>8} {:>12.3f} {:>12.2f} {:>5.1f} % {:>9} {:>9}\n", name, second,
                 time.calls, 1e3 * time.seconds,
                 1e6 * time.seconds / static_cast<double>(time.calls),
                 whole > 0 ? 100 * time.seconds / whole : 0, per_second(time.bytes, time.seconds),
                 per_second(time.flops, time.seconds));
}

}  // namespace

std::vector<Option> profile_options() {
  return {{"profile", "",
           "measure each node and operator; runs are slower because each step is synchronized"},
          {"profile-html", "FILE",
           "write the profile and a timeline of the last run to a self-contained HTML page"}};
}

void give_profile(Context& context, const Arguments& arguments, const std::vector<NodeTime>& times,
                  void (*write)(std::string_view)) {
  const auto machine = measure_machine(context.host());
  if (arguments.has("profile-html"))
    AtomicFile::write_text(arguments.get("profile-html"), profile_page(times, machine));
  if (arguments.has("profile")) write(profile_text(times, machine));
}

std::string profile_text(const std::vector<NodeTime>& times, const MachineSpeed& machine) {
  double whole = 0;
  for (const auto& time : times) whole += time.seconds;
  std::string text;
  add_titles(text, "operator", "nodes");
  for (const auto& op : by_operator(times))
    add_line(text, op.op, std::to_string(op.nodes), op, whole);
  text += '\n';
  add_titles(text, "node", "operator");
  for (std::size_t i = 0; i < std::min(times.size(), max_nodes); ++i)
    add_line(text, times[i].node, times[i].op, times[i], whole);
  if (times.size() > max_nodes)
    text += fmt::format("{} with less time omitted; use --json or --profile-html to see all\n",
                        counted(times.size() - max_nodes, "node"));
  text += fmt::format("\nthis machine on {}: copy {:.1f} GB/s", counted(machine.threads, "thread"),
                      machine.copy / 1e9);
  if (machine.product > 0)
    text += fmt::format(", float32 matrix product {:.1f} GFLOP/s", machine.product / 1e9);
  return text + '\n';
}

JsonItem profile_json(const std::vector<NodeTime>& times, const MachineSpeed& machine) {
  std::vector<JsonItem> items;
  items.reserve(times.size());
  for (const auto& time : times)
    items.push_back(json_object("node", time.node, "operator", time.op, "device", time.device,
                                "calls", time.calls, "ms", 1e3 * time.seconds, "min_ms",
                                1e3 * time.least, "bytes", time.bytes, "flops", time.flops,
                                "begin_ms", 1e3 * time.begin, "last_ms", 1e3 * time.last));
  return json_object("nodes", json_list(items), "copy_bytes_per_second", machine.copy,
                     "product_flops_per_second", machine.product);
}

}  // namespace tenon::cli
