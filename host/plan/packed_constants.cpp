#include "plan/packed_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <exception>
#include <tenon/detail/host_error.hpp>
#include <utility>

#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "plan/passes.hpp"
#include "plugin/plugin_call.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 46;  // 64 TiB, more than any machine has
constexpr std::size_t longest_key = 4096;

/// One call of a kernel's prepare(). The ABI struct comes first: its address is also this object's.
class Asking {
 public:
  Asking(const PackingQuery& question, std::uint32_t step, const PackConstant& keep)
      : question_(question),
        plan_(question.plan),
        step_(step),
        keep_(keep),
        node_(forward_of(plan_.model(), plan_.node(step))) {}

  void ask();

 private:
  static std::int32_t keep(tenon_prepare* self, std::uint32_t slot, std::uint32_t input,
                           const char* key, std::uint64_t bytes, tenon_fill fill,
                           void* fill_context);
  void keep(std::uint32_t slot, std::uint32_t input, const char* key, std::uint64_t bytes,
            tenon_fill fill, void* fill_context);
  const tenon_tensor* constant(std::uint32_t input) const;
  [[noreturn]] void fail(const std::string& reason) const {
    throw Failure(FailureKind::failed,
                  reason + describe_inputs(*plan_.graph.binding().nodes[plan_.node_of(step_)].info,
                                           types_.inputs));
  }

  const PackingQuery& question_;
  const Plan& plan_;
  const std::uint32_t step_;
  const PackConstant& keep_;
  // the forward node, also for backward: its inputs and outputs are the arguments
  const NodeRecord& node_;
  CallTypes types_;
  std::vector<const tenon_tensor*> constants_;
  std::bitset<TENON_MAX_KEPT> taken_;
  bool filling_ = false;
  std::string refusal_;  // reason of a failed keep(), even if the kernel ignores it
};

const tenon_tensor* Asking::constant(std::uint32_t input) const {
  const auto value = plan_.model().edges[node_.first_edge + input];
  return value != none && value < plan_.constant.size() && plan_.constant[value]
             ? &question_.tensors[value].abi()
             : nullptr;
}

void Asking::ask() {
  for (std::uint32_t i = 0; i < node_.input_count; ++i) constants_.push_back(constant(i));
  const auto is_null = [](const auto* tensor) { return tensor == nullptr; };
  if (std::all_of(constants_.begin(), constants_.end(), is_null)) return;
  gather_types(plan_.model(), node_, plan_.types(), types_);
  ErrorBuffer buffer;
  tenon_prepare io{};
  io.size = sizeof io;
  io.error = &buffer.error;
  io.context = this;
  io.input_count = node_.input_count;
  io.output_count = node_.output_count;
  io.dispatch = dispatch_of(plan_.node(step_).pass == Pass::backward, plan_.runs_sparse(step_));
  io.threads = question_.threads;
  io.inputs = types_.inputs.data();
  io.outputs = types_.outputs.data();
  io.constants = constants_.data();
  io.keep = keep;
  const auto& kernel = plan_.graph.kernel_of(plan_.node_of(step_), question_.kernels);
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::prepare);
  const bool failed = kernel.table()->prepare(kernel.get(), &io) != 0;
  if (!refusal_.empty()) fail(refusal_);
  if (failed) fail(buffer.reason());
}

std::int32_t Asking::keep(tenon_prepare* self, std::uint32_t slot, std::uint32_t input,
                          const char* key, std::uint64_t bytes, tenon_fill fill,
                          void* fill_context) {
  auto& own = *static_cast<Asking*>(self->context);
  try {
    own.keep(slot, input, key, bytes, fill, fill_context);
    return 0;
  } catch (const std::exception& failure) {
    own.refusal_ = text_of(failure);
  }
  self->error->kind = TENON_ERROR_FAILED;
  std::snprintf(self->error->text, self->error->capacity, "%s", own.refusal_.c_str());
  return 1;
}

void Asking::keep(std::uint32_t slot, std::uint32_t input, const char* key, std::uint64_t bytes,
                  tenon_fill fill, void* fill_context) {
  const auto refuse = [](const std::string& what) {
    throw Failure(FailureKind::plugin, "its prepare() " + what);
  };
  if (filling_) refuse("packs a constant while it fills another");
  if (slot >= TENON_MAX_KEPT)
    refuse(fmt::format("uses slot {}, but there are {}", slot, TENON_MAX_KEPT));
  if (taken_[slot]) refuse(fmt::format("uses slot {} twice", slot));
  if (input >= constants_.size() || constants_[input] == nullptr)
    refuse(fmt::format("packs input {}, which is not a constant", input));
  const auto length = key == nullptr ? 0 : strnlen(key, longest_key + 1);
  if (length == 0 || length > longest_key || !is_name({key, length}))
    refuse(fmt::format("gives slot {} a key that is not 1 to {} bytes of printable text", slot,
                       longest_key));
  if (bytes == 0 || bytes > max_bytes)
    refuse(fmt::format("requests {} for slot {}", counted(bytes, "byte"), slot));
  if (fill == nullptr) refuse(fmt::format("has no fill function for slot {}", slot));
  taken_[slot] = true;
  filling_ = true;
  keep_(
      {step_, slot, plan_.model().edges[node_.first_edge + input], std::string(key, length), bytes},
      fill, fill_context);
  filling_ = false;
}

}  // namespace

void query_packed_constants(const PackingQuery& question, std::uint32_t step,
                            const PackConstant& keep) {
  const auto& plan = question.plan;
  if (plan.copy_of(step) != none || plan.group_of(step) != none || plan.constant.empty() ||
      !plan.device_of(step).is_cpu())
    return;
  const auto id = plan.node_of(step);
  if (!prepares(*plan.graph.kernel_of(id, question.kernels).table())) return;
  at_node(plan.model(), id, [&] { Asking(question, step, keep).ask(); });
}

void pack_constants(PlanDraft& draft) {
  auto& plan = *draft.plan;
  plan.constant = draft.request.constant;
  std::vector<PackedConstant> parts;
  for (std::uint32_t step = 0; step < plan.step_count(); ++step)
    query_packed_constants(
        {plan, draft.kernels, draft.tensors, draft.request.threads}, step,
        [&](const PackedConstant& part, tenon_fill, void*) { parts.push_back(part); });
  plan.packed = std::move(parts);
}

}  // namespace tenon
