#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/cast_storage.hpp>

#include "graph/initialize.hpp"
#include "io/counted.hpp"
#include "plugin/device_kernel.hpp"
#include "plugin/operator_name.hpp"
#include "run/calls/prepared_call_impl.hpp"
#include "tensor/tensor_device.hpp"
#include "tensor/tensor_impl.hpp"

namespace tenon {
namespace {

constexpr auto dense_storage = static_cast<std::uint8_t>(TENON_DENSE);

std::string text_of(const tenon_type& type, std::uint8_t storage) {
  auto stored = type;
  stored.storage = storage;
  return to_string(stored);
}

bool same_dims(const tenon_dense& tensor, const tenon_type& type) {
  return tensor.ndim == type.rank &&
         std::equal(tensor.shape, tensor.shape + tensor.ndim, type.dims);
}

Argument argument_of(std::string name, const tenon_type& type, std::uint8_t storage,
                     bool hidden = false) {
  if (storage == TENON_STORAGE_UNKNOWN) storage = dense_storage;
  return {std::move(name),   static_cast<DType>(type.dtype),
          shape_of(type),    static_cast<Storage>(storage),
          type.present != 0, hidden};
}

bool needs_elements(const CallTypes& types) {
  return std::any_of(types.requested.begin(), types.requested.end(),
                     [](std::uint8_t requested) { return requested != 0; });
}

void require_known_outputs(const OperatorInfo& info, const CallTypes& types) {
  for (std::size_t i = 0; i < types.outputs.size(); ++i)
    if (const auto& type = types.outputs[i]; info.allocates(i)
                                                 ? type.dtype == TENON_DTYPE_UNKNOWN
                                                 : !is_known(type) || byte_count(type) < 0)
      throw Failure(
          FailureKind::failed,
          fmt::format("cannot infer the full shape of output {}: {}{}", i, to_string(type),
                      describe_inputs(info, types.inputs)),
          needs_elements(types)
              ? "the shape depends on elements of an input: in graphs it must be a constant, and "
                "Host::prepare() cannot know it"
              : "");
  for (std::size_t i = 0; i < types.states.size(); ++i)
    if (!is_known(types.states[i]))
      throw Failure(FailureKind::failed,
                    fmt::format("cannot infer the shape of state '{}'", info.states[i].name));
}

}  // namespace

Argument Argument::like(const Tensor& tensor) {
  if (!tensor) return {.name = {}, .shape = {}, .present = false};
  return {
      .name = {}, .dtype = tensor.dtype(), .shape = tensor.shape(), .storage = tensor.storage()};
}

PreparedCall::Impl::Pass::Pass(Impl& call, int dispatch, StorageChoice chosen,
                               std::span<const tenon_type> types_written)
    : choice(std::move(chosen)),
      types(types_written.begin(), types_written.end()),
      written(types.size()),
      tensors{std::vector<const tenon_tensor*>(call.types_.inputs.size()),
              std::vector<tenon_tensor*>(call.types_.outputs.size()),
              std::vector<tenon_tensor*>(call.types_.states.size()),
              std::vector<std::uint8_t>(types.size(), TENON_WRITE_TO),
              std::vector<const tenon_tensor*>(call.types_.outputs.size()),
              std::vector<tenon_tensor*>(call.types_.inputs.size())},
      run(call.call_, dispatch, call.types_, tensors,
          {.threads = call.host.threads,
           .training = call.training_,
           .memory = &call.memory_,
           .log = &call.host.kernel_log}) {}

PreparedCall::Impl::Impl(Host::Impl& host, std::shared_ptr<Host::Impl> owner,
                         const LoadedOperator& op, const Attributes& attributes, Device& device,
                         CallTypes types, bool training)
    : host(host),
      owner(std::move(owner)),
      call_(op, attributes, device),
      training_(training),
      types_(std::move(types)),
      state_tensors_(types_.states.size()) {
  types_.outputs.assign(call_.outputs(), unknown_type());
  some_on_cpu_ = std::any_of(info().inputs.begin(), info().inputs.end(),
                             [](const InputInfo& input) { return input.on_cpu; });
  call_.infer(types_);
  depends_on_values_ = needs_elements(types_);
  types_.values.clear();  // owned by the caller
  require_known_outputs(info(), types_);
  inferred_ = types_.outputs;
  auto choice = call_.storage(types_);
  for (std::size_t i = 0; i < choice.outputs.size(); ++i) {
    require_fits(types_.outputs[i], choice.outputs[i], i);
    if (info().allocates(i)) choice.outputs[i] = TENON_STORAGE_UNKNOWN;
  }
  const int dispatch = choice.sparse ? TENON_FORWARD_SPARSE : TENON_FORWARD;
  forward_.emplace(*this, dispatch, std::move(choice), types_.outputs);
  describe();
  // pointers into it must stay valid during a call
  temporaries_.reserve(inputs.size() + states.size() + 2 * outputs.size());
}

void PreparedCall::Impl::describe() {
  for (std::size_t i = 0; i < types_.inputs.size(); ++i)
    inputs.push_back(argument_of(info().inputs[declared_input(info(), i)].name, types_.inputs[i],
                                 types_.storages[i]));
  std::size_t next = 0;
  for (const auto& output : info().outputs)
    for (auto left = call_.count_of(output); left > 0; --left, ++next)
      outputs.push_back(argument_of(output.name, types_.outputs[next],
                                    forward_->choice.outputs[next], output.hidden));
  for (std::size_t i = 0; i < types_.states.size(); ++i)
    states.push_back(argument_of(info().states[i].name, types_.states[i], dense_storage));
}

// Checks a tensor that the call reads, and returns its ABI struct.
const tenon_tensor* PreparedCall::Impl::read(const Tensor& tensor, const tenon_type& type,
                                             std::uint8_t storage, const Argument& argument,
                                             bool sparse_kernel, bool on_cpu) {
  const auto& device = on_cpu ? cpu_device() : call_.device();
  const auto& abi = tensor.abi();
  if (abi.dtype != type.dtype || abi.storage != storage || !same_dims(abi.dense, type))
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is {} but the call was prepared for {}", argument.name,
                              text_of(type_of(tensor), abi.storage), text_of(type, storage)));
  if (abi.dense.device_type != device.type() || abi.dense.device_id != device.id())
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is on {} but the call {} {}", argument.name, tensor.device(),
                              on_cpu ? "reads it on the" : "was prepared for", device.name()));
  if (storage == TENON_DENSE &&
      (abi.dense.strides == nullptr || (info().strides && !call_.is_composed())))
    return &abi;
  if (storage == TENON_DENSE) return &temporaries_.emplace_back(tensor.make_contiguous()).abi();
  if (!sparse_kernel) {
    warn_of_conversion(argument, type);
    return &temporaries_.emplace_back(cast_storage(tensor, Storage::dense)).abi();
  }
  return abi.index_dtype == TENON_I64
             ? &abi
             : &temporaries_.emplace_back(cast_storage(tensor, tensor.storage()))
                    .abi();  // kernels read int64
}

void PreparedCall::Impl::warn_of_conversion(const Argument& argument,
                                            const tenon_type& type) const {
  const auto& name = info().name;
  const auto storage = name_of(argument.storage);
  host.warnings.densified(
      fmt::format("{} {}", name, storage),
      fmt::format(
          "[{}]: {} is converted from {} to dense, {}, because {} has no kernel for these storages",
          name, argument.name, storage, counted(byte_count(type), "byte"), name));
}

// `unread`: in backward, placeholders for inputs that it does not read; empty in forward.
void PreparedCall::Impl::read_inputs(std::span<const Tensor> arguments, CallTensors& tensors,
                                     bool sparse_kernel, std::span<const tenon_tensor> unread) {
  if (arguments.size() != inputs.size())
    throw Failure(FailureKind::usage,
                  fmt::format("the call was prepared for {} but got {}",
                              counted(inputs.size(), "input"), arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!unread.empty() && inputs[i].present && !arguments[i] &&
        !info().backward_reads_input[declared_input(info(), i)]) {
      tensors.inputs[i] = &unread[i];
      continue;
    }
    if (static_cast<bool>(arguments[i]) != inputs[i].present)
      throw Failure(FailureKind::usage,
                    fmt::format("input '{}' {} but the call was prepared {} it", inputs[i].name,
                                arguments[i] ? "is present" : "is missing",
                                arguments[i] ? "without" : "with"));
    const bool on_cpu = some_on_cpu_ && info().inputs[declared_input(info(), i)].on_cpu;
    tensors.inputs[i] = arguments[i] ? read(arguments[i], types_.inputs[i], types_.storages[i],
                                            inputs[i], sparse_kernel, on_cpu)
                                     : nullptr;
  }
}

namespace {

void require_writable(const Tensor& tensor, std::string_view what, const Argument& argument) {
  if (tensor.read_only())
    throw Failure(
        FailureKind::usage,
        fmt::format("{} '{}' is read-only, but the call writes to it", what, argument.name),
        "pass a writable copy");
}

/// Backs up the caller's states, in case the call fails. Bundled operators refuse invalid arguments
/// before they write.
class CallerStateBackup {
 public:
  CallerStateBackup(const OperatorInfo& info, std::span<const Tensor> states) : states_(states) {
    if (states.empty() || info.space == bundled_space) return;
    for (const auto& state : states) before_.push_back(state ? state.clone() : Tensor());
  }
  void restore() const {
    for (std::size_t i = 0; i < before_.size(); ++i)
      if (before_[i])
        copy_bytes(before_[i].abi().dense, states_[i].abi().dense,
                   static_cast<std::uint64_t>(states_[i].bytes()));
  }

 private:
  std::span<const Tensor> states_;
  std::vector<Tensor> before_;
};

}  // namespace

std::vector<Tensor> PreparedCall::Impl::make_states() const {
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < states.size(); ++i)
    made.push_back(first_state(info().states[i], types_.states[i]).to(call_.device().name()));
  return made;
}

void PreparedCall::Impl::bind_states(std::span<const Tensor> arguments, CallTensors& tensors) {
  if (!arguments.empty() && arguments.size() != states.size())
    throw Failure(FailureKind::usage,
                  fmt::format("the operator has {} but got {}", counted(states.size(), "state"),
                              arguments.size()));
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool present = !arguments.empty() && arguments[i];
    if (present && arguments[i].storage() == Storage::dense && !arguments[i].contiguous())
      throw Failure(
          FailureKind::usage,
          fmt::format("state '{}' must be contiguous because the call changes it in place",
                      states[i].name));
    if (present) require_writable(arguments[i], "state", states[i]);
    const auto& tensor =
        present ? arguments[i]
                : temporaries_.emplace_back(
                      first_state(info().states[i], types_.states[i]).to(call_.device().name()));
    state_tensors_[i] = *read(tensor, types_.states[i], dense_storage, states[i], false);
    tensors.states[i] = &state_tensors_[i];
  }
}

// Selects the memory of output i: the caller's, new memory, or, for kernel-allocated ones, none
// yet.
void PreparedCall::Impl::write(Pass& pass, std::size_t i, Tensor& tensor,
                               const Argument& argument) const {
  auto& type = pass.types[i];
  if (pass.choice.outputs[i] != TENON_DENSE) {
    pass.written[i] = tensor_of(type, pass.choice.outputs[i]);
    if (pass.choice.outputs[i] == TENON_STORAGE_UNKNOWN)
      expect_allocation(pass.written[i], inferred_[i]);
    pass.written[i].dense.device_type = call_.device().type();
    pass.written[i].dense.device_id = call_.device().id();
    pass.written[i].stored = -1;
    return;
  }
  if (!tensor)
    tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type), call_.device().name());
  const auto& abi = tensor.abi();
  if (abi.dtype != type.dtype || abi.storage != TENON_DENSE || !same_dims(abi.dense, type) ||
      abi.dense.strides != nullptr || abi.dense.device_type != call_.device().type() ||
      abi.dense.device_id != call_.device().id())
    throw Failure(FailureKind::usage,
                  fmt::format("the memory for '{}' is {} on {} but must be contiguous {} on {}",
                              argument.name, text_of(type_of(tensor), abi.storage), tensor.device(),
                              to_string(type), call_.device().name()));
  require_writable(tensor, "the memory for", argument);
  pass.written[i] = abi;
}

void PreparedCall::Impl::run(Pass& pass) {
  pass.run.set_random(random_position.seed, random_position.step);
  pass.run.launch();
  pass.run.finish();
}

Tensor PreparedCall::Impl::take(Pass& pass, std::size_t i) {
  if (pass.written[i].storage == TENON_STORAGE_UNKNOWN)
    throw Failure(FailureKind::failed, not_allocated(i));
  if (pass.written[i].storage != TENON_DENSE && pass.written[i].stored < 0)
    throw Failure(
        FailureKind::failed,
        fmt::format(
            "its kernel violated a rule of sparse tensors in output {}: it was not allocated", i));
  return memory_.release(pass.written[i]);
}

void PreparedCall::Impl::forward(std::span<const Tensor> arguments, std::span<Tensor> made,
                                 std::span<const Tensor> state_arguments) {
  auto& pass = *forward_;
  if (made.size() != outputs.size())
    throw Failure(FailureKind::usage, fmt::format("the call has {} but got memory for {}",
                                                  counted(outputs.size(), "output"), made.size()));
  temporaries_.clear();
  read_inputs(arguments, pass.tensors, pass.choice.sparse);
  bind_states(state_arguments, pass.tensors);
  for (std::size_t i = 0; i < made.size(); ++i) {
    write(pass, i, made[i], outputs[i]);
    pass.tensors.outputs[i] = &pass.written[i];
  }
  random_position = host.random.next();
  const CallerStateBackup backup(info(), state_arguments);
  try {
    run(pass);
    for (std::size_t i = 0; i < made.size(); ++i)
      if (pass.choice.outputs[i] != TENON_DENSE) made[i] = take(pass, i);
  } catch (...) {
    backup.restore();
    throw;
  }
  temporaries_.clear();
}

std::vector<Tensor> PreparedCall::Impl::backward(std::span<const Tensor> output_grads,
                                                 std::span<const Tensor> arguments,
                                                 std::span<const Tensor> values,
                                                 std::span<const Tensor> state_arguments,
                                                 const std::vector<bool>& needs_input_grad) {
  if (!has_backward())
    throw Failure(FailureKind::usage, "it has no backward kernel",
                  "Graph::gradient() differentiates operators whose gradient is a graph");
  const auto count = [](std::size_t found, std::size_t needed, const char* what) {
    if (found != needed)
      throw Failure(FailureKind::usage,
                    fmt::format("got {} {} but the call has {}", found, what, needed));
  };
  count(output_grads.size(), outputs.size(), "output gradients");
  count(values.size(), outputs.size(), "outputs");
  if (!needs_input_grad.empty())
    count(needs_input_grad.size(), inputs.size(), "flags for input gradients");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!info().allocates(i)) continue;
    if (const auto& known = values[i] ? values[i] : output_grads[i]; known)
      types_.outputs[i] = type_of(known);
    backward_.reset();
  }
  if (!backward_) {
    // Gradients of sparse inputs are always dense in single calls; graphs choose their storages.
    backward_.emplace(*this, TENON_BACKWARD,
                      StorageChoice{false, std::vector<std::uint8_t>(inputs.size(), dense_storage)},
                      types_.inputs);
  }
  auto& pass = *backward_;
  temporaries_.clear();
  std::vector<tenon_tensor> unread(inputs.size());
  for (std::size_t i = 0; i < unread.size(); ++i)
    unread[i] = tensor_of(types_.inputs[i], TENON_STORAGE_UNKNOWN);
  read_inputs(arguments, pass.tensors, false, unread);
  bind_states(state_arguments, pass.tensors);
  std::vector<tenon_tensor> read_values(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& type = types_.outputs[i];
    pass.tensors.output_grads[i] =
        output_grads[i]
            ? read(output_grads[i], type, output_grads[i].abi().storage, outputs[i], false)
            : nullptr;
    read_values[i] = values[i] ? *read(values[i], type, values[i].abi().storage, outputs[i], false)
                               : tensor_of(types_.outputs[i], TENON_STORAGE_UNKNOWN);
    pass.tensors.outputs[i] = &read_values[i];
  }
  std::vector<Tensor> grads(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool needs = inputs[i].present && (floating + any_complex).has(inputs[i].dtype) &&
                       (needs_input_grad.empty() || needs_input_grad[i]);
    pass.tensors.writes[i] = needs ? TENON_WRITE_TO : TENON_WRITE_NONE;
    pass.tensors.input_grads[i] = needs ? &pass.written[i] : nullptr;
    if (needs) write(pass, i, grads[i], inputs[i]);
  }
  if (std::any_of(grads.begin(), grads.end(),
                  [](const Tensor& grad) { return static_cast<bool>(grad); }))
    run(pass);
  temporaries_.clear();
  return grads;
}

namespace {

/// Allows one thread at a time and prefixes failures with the operator's name.
template <class Work>
decltype(auto) guarded(PreparedCall::Impl& call, Work&& work) {
  try {
    const OneThread::Use use(call.used, "the prepared call", "prepare one for each thread");
    return work(call);
  } catch (const Failure& failure) {
    throw Failure(failure.kind(), fmt::format("[{}] {}", call.info().name, failure.what()),
                  failure.hint());
  }
}

PreparedCall::Impl& checked_impl(const std::unique_ptr<PreparedCall::Impl>& call) {
  return deref(call, "the prepared call");
}

}  // namespace

PreparedCall::PreparedCall(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PreparedCall::~PreparedCall() = default;
PreparedCall::PreparedCall(PreparedCall&&) noexcept = default;
PreparedCall& PreparedCall::operator=(PreparedCall&&) noexcept = default;

const std::vector<Argument>& PreparedCall::inputs() const {
  return checked_impl(impl_).inputs;
}
const std::vector<Argument>& PreparedCall::outputs() const {
  return checked_impl(impl_).outputs;
}
const std::vector<Argument>& PreparedCall::states() const {
  return checked_impl(impl_).states;
}
bool PreparedCall::depends_on_values() const {
  return checked_impl(impl_).depends_on_values();
}
bool PreparedCall::has_backward() const {
  return checked_impl(impl_).has_backward();
}
std::vector<Tensor> PreparedCall::make_states() const {
  return checked_impl(impl_).make_states();
}

void PreparedCall::forward(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           std::span<const Tensor> states) {
  guarded(checked_impl(impl_), [&](Impl& call) { call.forward(inputs, outputs, states); });
}

Tensor PreparedCall::operator()(std::span<const Tensor> inputs) {
  const auto& outputs = checked_impl(impl_).outputs;
  const auto first = std::find_if(outputs.begin(), outputs.end(),
                                  [](const Argument& output) { return !output.hidden; });
  if (first == outputs.end())
    throw Failure(FailureKind::usage,
                  fmt::format("[{}] has no output with these parameters", impl_->info().name));
  if (outputs.size() == 1) {
    Tensor made;
    forward(inputs, {&made, 1});
    return made;
  }
  std::vector<Tensor> made(outputs.size());
  forward(inputs, made);
  return std::move(made[static_cast<std::size_t>(first - outputs.begin())]);
}

RandomPosition PreparedCall::random_position() const {
  return checked_impl(impl_).random_position;
}
void PreparedCall::set_random_position(const RandomPosition& position) {
  guarded(checked_impl(impl_), [&](Impl& call) { call.random_position = position; });
}

std::vector<Tensor> PreparedCall::backward(std::span<const Tensor> output_grads,
                                           std::span<const Tensor> inputs,
                                           std::span<const Tensor> outputs,
                                           std::span<const Tensor> states,
                                           const std::vector<bool>& needs_input_grad) {
  return guarded(checked_impl(impl_), [&](Impl& call) {
    return call.backward(output_grads, inputs, outputs, states, needs_input_grad);
  });
}

}  // namespace tenon
