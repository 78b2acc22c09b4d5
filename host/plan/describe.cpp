#include "plan/describe.hpp"

#include <fmt/format.h>

#include <iterator>

#include "plan/memory/memory_use.hpp"

namespace tenon {
namespace {

std::string place_of(const Plan& plan, std::size_t step, std::uint32_t output, ValueId value) {
  const auto write = plan.write(step, output);
  if (write == TENON_WRITE_NONE) return "not computed";
  if (plan.types()[value].storage != TENON_DENSE) return "made by the kernel";
  const auto offset = plan.offset_of(value);
  if (offset < 0) return plan.memory().updated.contains(value) ? "in place of a variable" : "given out";
  return fmt::format("{} {}", write == TENON_WRITE_IN_PLACE ? "in place at" : write == TENON_WRITE_ADD ? "added at" : "at", offset);
}

// Of a sparse value they are known when it is there.
std::string bytes_text(const tenon_type& type) {
  return type.storage == TENON_DENSE ? fmt::format("{} bytes", byte_count(type)) : "as many bytes as are stored";
}

}  // namespace

std::string describe(const Plan& plan) {
  const auto& model = plan.model();
  std::string text;
  for (std::size_t step = 0; step < plan.steps().size(); ++step) {
    const auto& node = model.nodes[plan.node_of(step)];
    fmt::format_to(std::back_inserter(text), "{:>5}  {:<24} {:<20} {}", step, model.strings[node.name], work_label(model, node),
                   plan.device_of(step).name());
    if (const auto* from = plan.copied_from(step); from != nullptr)
      fmt::format_to(std::back_inserter(text), " from {}, {}", from->name(), bytes_text(plan.types()[node.first_output]));
    if (plan.captures(step)) text += " captured";
    if (plan.runs_sparse(step)) text += " sparse";
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const auto value = node.first_output + i;
      fmt::format_to(std::back_inserter(text), "  {} {}", to_string(plan.types()[value]), place_of(plan, step, i, value));
    }
    if (const auto scratch = plan.workspace_of(step); scratch > 0) fmt::format_to(std::back_inserter(text), "  workspace {}", scratch);
    text += '\n';
  }
  return text + describe(plan.memory()) + '\n';
}

}  // namespace tenon
