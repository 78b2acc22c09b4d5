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
constexpr std::size_t max_key_length = 4096;

/// One call of a kernel's prepare(). The ABI struct comes first: its address is also this object's.
class PrepareCall {
 public:
  PrepareCall(const PackingQuery& query, std::uint32_t step, const PackConstant& pack)
      : query_(query),
        plan_(query.plan),
        step_(step),
        pack_(pack),
        node_(forward_of(plan_.model(), plan_.node(step))) {}

  void run();

 private:
  static std::int32_t pack(tenon_prepare* self, std::uint32_t slot, std::uint32_t input,
                           const char* key, std::uint64_t bytes, tenon_fill fill,
                           void* fill_context);
  void pack(std::uint32_t slot, std::uint32_t input, const char* key, std::uint64_t bytes,
            tenon_fill fill, void* fill_context);
  const tenon_tensor* constant(std::uint32_t input) const;
  [[noreturn]] void fail(const std::string& reason) const {
    throw Failure(FailureKind::failed,
                  reason + describe_inputs(*plan_.graph.binding().nodes[plan_.node_of(step_)].info,
                                           types_.inputs));
  }

  const PackingQuery& query_;
  const Plan& plan_;
  const std::uint32_t step_;
  const PackConstant& pack_;
  // the forward node, also for backward: its inputs and outputs are the arguments
  const NodeRecord& node_;
  CallTypes types_;
  std::vector<const tenon_tensor*> constants_;
  std::bitset<TENON_MAX_KEPT> used_slots_;
  bool filling_ = false;
  std::string error_;  // reason of a failed pack(), even if the kernel ignores it
};

const tenon_tensor* PrepareCall::constant(std::uint32_t input) const {
  const auto value = plan_.model().edges[node_.first_edge + input];
  return value != none && value < plan_.constant.size() && plan_.constant[value]
             ? &query_.tensors[value].abi()
             : nullptr;
}

void PrepareCall::run() {
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
  io.threads = query_.threads;
  io.inputs = types_.inputs.data();
  io.outputs = types_.outputs.data();
  io.constants = constants_.data();
  io.keep = pack;
  const auto& kernel = plan_.graph.kernel_of(plan_.node_of(step_), query_.kernels);
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::prepare);
  const bool failed = kernel.table()->prepare(kernel.get(), &io) != 0;
  if (!error_.empty()) fail(error_);
  if (failed) fail(buffer.reason());
}

std::int32_t PrepareCall::pack(tenon_prepare* self, std::uint32_t slot, std::uint32_t input,
                               const char* key, std::uint64_t bytes, tenon_fill fill,
                               void* fill_context) {
  auto& call = *static_cast<PrepareCall*>(self->context);
  try {
    call.pack(slot, input, key, bytes, fill, fill_context);
    return 0;
  } catch (const std::exception& failure) {
    call.error_ = text_of(failure);
  }
  self->error->kind = TENON_ERROR_FAILED;
  std::snprintf(self->error->text, self->error->capacity, "%s", call.error_.c_str());
  return 1;
}

void PrepareCall::pack(std::uint32_t slot, std::uint32_t input, const char* key,
                       std::uint64_t bytes, tenon_fill fill, void* fill_context) {
  const auto refuse = [](const std::string& what) {
    throw Failure(FailureKind::plugin, "its prepare() " + what);
  };
  if (filling_) refuse("packs a constant while it fills another");
  if (slot >= TENON_MAX_KEPT)
    refuse(fmt::format("uses slot {}, but there are {}", slot, TENON_MAX_KEPT));
  if (used_slots_[slot]) refuse(fmt::format("uses slot {} twice", slot));
  if (input >= constants_.size() || constants_[input] == nullptr)
    refuse(fmt::format("packs input {}, which is not a constant", input));
  const auto length = key == nullptr ? 0 : strnlen(key, max_key_length + 1);
  if (length == 0 || length > max_key_length || !is_name({key, length}))
    refuse(fmt::format("gives slot {} a key that is not 1 to {} bytes of printable text", slot,
                       max_key_length));
  if (bytes == 0 || bytes > max_bytes)
    refuse(fmt::format("requests {} for slot {}", counted(bytes, "byte"), slot));
  if (fill == nullptr) refuse(fmt::format("has no fill function for slot {}", slot));
  used_slots_[slot] = true;
  filling_ = true;
  pack_(
      {step_, slot, plan_.model().edges[node_.first_edge + input], std::string(key, length), bytes},
      fill, fill_context);
  filling_ = false;
}

}  // namespace

void query_packed_constants(const PackingQuery& query, std::uint32_t step,
                            const PackConstant& pack) {
  const auto& plan = query.plan;
  if (plan.copy_of(step) != none || plan.group_of(step) != none || plan.constant.empty() ||
      !plan.device_of(step).is_cpu())
    return;
  const auto id = plan.node_of(step);
  if (!has_prepare(*plan.graph.kernel_of(id, query.kernels).table())) return;
  at_node(plan.model(), id, [&] { PrepareCall(query, step, pack).run(); });
}

void pack_constants(PlanDraft& draft) {
  auto& plan = *draft.plan;
  plan.constant = draft.request.constant;
  std::vector<PackedConstant> packed;
  for (std::uint32_t step = 0; step < plan.step_count(); ++step)
    query_packed_constants(
        {plan, draft.kernels, draft.tensors, draft.request.threads}, step,
        [&](const PackedConstant& constant, tenon_fill, void*) { packed.push_back(constant); });
  plan.packed = std::move(packed);
}

}  // namespace tenon
