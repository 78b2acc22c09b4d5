#include "graph/inference/operator_inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>
#include <tenon/host/failure.hpp>

#include "graph/composition.hpp"
#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "plugin/plugin_call.hpp"
#include "tensor/element_count.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {

std::string name_of_input(const OperatorInfo& info, std::size_t i) {
  const auto declared = declared_input(info, i);
  const auto& input = info.inputs[declared];
  return input.variadic ? fmt::format("{}{}", input.name, i - declared) : input.name;
}

namespace {

[[noreturn]] void refuse(const OperatorInfo& info, const CallTypes& types,
                         const std::string& reason) {
  throw Failure(FailureKind::failed, reason + describe_inputs(info, types.inputs));
}

std::string names_of(DTypeMask mask) {
  std::string text;
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
    if (allows(mask, static_cast<DType>(i)))
      text += (text.empty() ? "" : ", ") + std::string(name_of(static_cast<DType>(i)));
  return text;
}

std::uint8_t only_one_of(DTypeMask mask) {
  return std::has_single_bit(mask) ? static_cast<std::uint8_t>(std::countr_zero(mask))
                                   : std::uint8_t{TENON_DTYPE_UNKNOWN};
}

void check_allowed(const OperatorInfo& info, const CallTypes& types, std::size_t i,
                   DTypeMask mask) {
  const auto dtype = types.inputs[i].dtype;
  if (dtype == TENON_DTYPE_UNKNOWN || allows(mask, static_cast<DType>(dtype))) return;
  refuse(info, types,
         fmt::format("{} is {} but must be one of {}", name_of_input(info, i),
                     name_of(static_cast<DType>(dtype)), names_of(mask)));
}

// Inputs that declare no dtype share one.
void unify_dtypes(const OperatorInfo& info, CallTypes& types) {
  std::size_t first = types.inputs.size();
  std::uint8_t shared = only_one_of(info.types);
  for (std::size_t i = 0; i < types.inputs.size(); ++i) {
    auto& input = types.inputs[i];
    const auto& declared = info.inputs[declared_input(info, i)];
    if (declared.types) {
      if (input.dtype == TENON_DTYPE_UNKNOWN) input.dtype = only_one_of(*declared.types);
      check_allowed(info, types, i, *declared.types);
      continue;
    }
    check_allowed(info, types, i, info.types);
    if (input.dtype == TENON_DTYPE_UNKNOWN || !input.present) continue;
    if (shared != TENON_DTYPE_UNKNOWN && input.dtype != shared)
      refuse(info, types,
             fmt::format("{} is {} but {} is {}: both must have the same dtype",
                         name_of_input(info, i), name_of(static_cast<DType>(input.dtype)),
                         name_of_input(info, first), name_of(static_cast<DType>(shared))));
    shared = input.dtype;
    if (first == types.inputs.size()) first = i;
  }
  for (std::size_t i = 0; i < types.inputs.size(); ++i)
    if (!info.inputs[declared_input(info, i)].types && types.inputs[i].dtype == TENON_DTYPE_UNKNOWN)
      types.inputs[i].dtype = shared;
}

// The operator may only add to what is known.
void check_inferred(const OperatorInfo& info, const CallTypes& before,
                    std::vector<tenon_type> CallTypes::*group, const char* what, CallTypes& types) {
  for (std::size_t i = 0; i < (types.*group).size(); ++i) {
    const tenon_type& inferred = (types.*group)[i];
    tenon_type known = (before.*group)[i];
    if (std::memcmp(&inferred, &known, sizeof inferred) == 0) continue;
    if (!is_sound(inferred))
      refuse(info, before, fmt::format("its infer() returned an invalid type for {} {}", what, i));
    const bool other_dtype = group == &CallTypes::outputs && known.dtype != TENON_DTYPE_UNKNOWN &&
                             inferred.dtype != known.dtype;
    if (merge(known, inferred) == Merge::contradiction)
      refuse(info, before,
             fmt::format("{} {} is inferred as {}, but is already {}{}", what, i,
                         to_string(inferred), to_string(known),
                         other_dtype ? "; infer() must name the output's dtype on every path, "
                                       "before any return: without one, "
                                       "an output has the inputs' shared dtype"
                                     : ""));
    known.present = (before.*group)[i].present;
    (types.*group)[i] = known;
  }
}

// Whether the outputs are known more precisely than the operator reported.
bool is_more_precise(const std::vector<tenon_type>& known,
                     const std::vector<tenon_type>& reported) {
  return !std::equal(known.begin(), known.end(), reported.begin(),
                     [](const tenon_type& left, const tenon_type& right) {
                       return left.dtype == right.dtype && left.rank == right.rank &&
                              std::equal(left.dims, left.dims + TENON_MAX_RANK, right.dims);
                     });
}

tenon_infer as_boundary(CallTypes& types, ErrorBuffer& buffer) {
  tenon_infer io{};
  io.size = sizeof io;
  io.error = &buffer.error;
  io.input_count = static_cast<std::uint32_t>(types.inputs.size());
  io.output_count = static_cast<std::uint32_t>(types.outputs.size());
  io.state_count = static_cast<std::uint32_t>(types.states.size());
  io.precision = types.precision == f32 ? 0u : static_cast<std::uint32_t>(types.precision);
  io.inputs = types.inputs.data();
  io.outputs = types.outputs.data();
  io.states = types.states.data();
  types.requested.assign(types.inputs.size(), 0);
  io.wanted = types.requested.data();
  io.values = types.values.size() == types.inputs.size() ? types.values.data() : nullptr;
  return io;
}

}  // namespace

bool may_infer_read(const tenon_tensor& tensor) {
  const auto& dense = tensor.dense;
  if (tensor.storage != TENON_DENSE || dense.strides != nullptr || dense.device_type != TENON_CPU)
    return false;
  const auto bytes = byte_count(static_cast<DType>(tensor.dtype), Shape(dense.shape, dense.ndim));
  return bytes && *bytes <= max_bytes_for_infer && (dense.data != nullptr || *bytes == 0);
}

static void run_infer(const LoadedOperator& op, const void* instance, const CallTypes& before,
                      CallTypes& types) {
  ErrorBuffer buffer;
  auto io = as_boundary(types, buffer);
  const PluginCall call(op, op.owner, PluginFunction::infer);
  if (op.table->infer(instance, &io) != 0) refuse(*op.info, before, buffer.reason());
  check_inferred(*op.info, before, &CallTypes::inputs, "input", types);
  check_inferred(*op.info, before, &CallTypes::states, "state", types);
}

// The nodes of a composed operator may infer more than the operator's own infer().
static void infer_from_nodes(const LoadedOperator& op, const void* instance, CallTypes& types) {
  const auto before = types;
  infer_composed(op, instance, types);
  check_inferred(*op.info, before, &CallTypes::inputs, "input", types);
  check_inferred(*op.info, before, &CallTypes::outputs, "output", types);
}

namespace {

/// Scratch vectors of infer_operator(), reused between nodes. One set for each nesting level, as
/// composed operators recurse.
class InferenceMemory {
 public:
  struct Scratch {
    CallTypes before;
    std::vector<tenon_type> reported;
  };
  InferenceMemory() {
    if (depth_++ == scratch_.size()) scratch_.emplace_back();
  }
  ~InferenceMemory() { --depth_; }
  InferenceMemory(const InferenceMemory&) = delete;
  InferenceMemory& operator=(const InferenceMemory&) = delete;
  Scratch& operator*() const { return scratch_[depth_ - 1]; }

 private:
  static thread_local std::deque<Scratch> scratch_;
  static thread_local std::size_t depth_;
};
thread_local std::deque<InferenceMemory::Scratch> InferenceMemory::scratch_;
thread_local std::size_t InferenceMemory::depth_ = 0;

}  // namespace

// Operators fill in an output's dtype only if it is unknown. They are therefore called first with
// all outputs unknown, so that their result is what the kernels write and can be checked against
// the graph. A second call, with the outputs as known from the graph, may then infer more about the
// inputs.
void infer_operator(const LoadedOperator& op, const void* instance, CallTypes& types) {
  unify_dtypes(*op.info, types);
  types.requested.assign(types.inputs.size(), 0);
  const bool composed = is_composed(op);
  if (op.table->infer == nullptr && !composed) return;
  const InferenceMemory memory;
  auto& [before, reported] = *memory;
  before.inputs.assign(types.inputs.begin(), types.inputs.end());
  before.outputs.assign(types.outputs.begin(), types.outputs.end());
  before.states.assign(types.states.begin(), types.states.end());

  std::fill(types.outputs.begin(), types.outputs.end(), unknown_type());
  if (op.table->infer != nullptr) run_infer(op, instance, before, types);
  if (composed) infer_from_nodes(op, instance, types);
  reported.assign(types.outputs.begin(), types.outputs.end());
  check_inferred(*op.info, before, &CallTypes::outputs, "output", types);
  if (composed || !is_more_precise(types.outputs, reported)) return;

  before.inputs.assign(types.inputs.begin(), types.inputs.end());
  before.outputs.assign(types.outputs.begin(), types.outputs.end());
  before.states.assign(types.states.begin(), types.states.end());
  run_infer(op, instance, before, types);
  check_inferred(*op.info, before, &CallTypes::outputs, "output", types);
}

std::uint64_t workspace_bytes(const OperatorInfo& info, const Instance& kernel, int dispatch,
                              CallTypes& types) {
  if (kernel.table()->workspace == nullptr) return 0;
  constexpr std::uint64_t limit = std::uint64_t{1} << 46;  // 64 TiB, more than any machine has
  ErrorBuffer buffer;
  const auto io = as_boundary(types, buffer);
  std::uint64_t bytes = 0;
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::workspace);
  if (kernel.table()->workspace(kernel.get(), &io, dispatch, &bytes) != 0)
    refuse(info, types, buffer.reason());
  if (bytes > limit)
    refuse(info, types,
           fmt::format("its workspace() requests {} bytes, more than any machine has", bytes));
  return bytes;
}

double flops_of(const OperatorInfo& info, const Instance& kernel, int dispatch, CallTypes& types) {
  if (kernel.table() == nullptr || !has_flops(*kernel.table())) return 0;
  ErrorBuffer buffer;
  const auto io = as_boundary(types, buffer);
  double flops = 0;
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::flops);
  if (kernel.table()->flops(kernel.get(), &io, dispatch, &flops) != 0)
    refuse(info, types, buffer.reason());
  if (!(flops >= 0 && flops < std::numeric_limits<double>::infinity()))
    refuse(info, types,
           fmt::format("its flops() returned {} but must return a finite number of at least 0",
                       flops));
  return flops;
}

static tenon_algorithm algorithm_function(const Instance& kernel) {
  if (kernel.table() == nullptr) return nullptr;
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::algorithm);
  return query<tenon_algorithm>(*kernel.table(), "algorithm/1");
}

bool reports_algorithm(const Instance& kernel) {
  return algorithm_function(kernel) != nullptr;
}

std::string algorithm_of(const OperatorInfo& info, const Instance& kernel, int dispatch,
                         CallTypes& types) {
  const auto algorithm = algorithm_function(kernel);
  if (algorithm == nullptr) return {};
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::algorithm);
  ErrorBuffer buffer;
  const auto io = as_boundary(types, buffer);
  std::array<char, 256> line{};
  if (algorithm(kernel.get(), &io, dispatch, line.data(), line.size()) != 0)
    refuse(info, types, buffer.reason());
  return printable({line.data(), strnlen(line.data(), line.size())});
}

bool supports(const OperatorInfo& info, const Instance& kernel, CallTypes& types) {
  if (!has_supports(*kernel.table())) return true;
  ErrorBuffer buffer;
  const auto io = as_boundary(types, buffer);
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::supports);
  const auto answer = kernel.table()->supports(kernel.get(), &io);
  if (answer != 0 && answer != 1) refuse(info, types, buffer.reason());
  return answer == 1;
}

std::string describe_inputs(const OperatorInfo& info, std::span<const tenon_type> inputs) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].present) texts.push_back(name_of_input(info, i) + ' ' + to_string(inputs[i]));
  return texts.empty() ? std::string() : " (" + listed(texts) + ')';
}

}  // namespace tenon
