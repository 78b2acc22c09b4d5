// The implementation of PreparedCall.
#pragma once
#include <optional>
#include <tenon/host/prepared_call.hpp>

#include "run/calls/operator_run.hpp"
#include "run/host_impl.hpp"
#include "run/one_thread.hpp"

namespace tenon {

struct PreparedCall::Impl {
  /// `types`: of inputs, with storages, and of states (unknown if not passed). `owner` may be null
  /// if the host outlives this. Throws Failure if the operator refuses the arguments; the message
  /// lacks the operator's name.
  Impl(Host::Impl& host, std::shared_ptr<Host::Impl> owner, const LoadedOperator& op,
       const Attributes& attributes, Device& device, CallTypes types, bool training);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void forward(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               std::span<const Tensor> states);
  std::vector<Tensor> backward(std::span<const Tensor> output_grads, std::span<const Tensor> inputs,
                               std::span<const Tensor> outputs, std::span<const Tensor> states,
                               const std::vector<bool>& needs_input_grad);
  std::vector<Tensor> make_states() const;
  /// Whether types depend on elements of inputs; the call is then valid for these elements only.
  bool depends_on_values() const { return depends_on_values_; }
  /// Bytes that are held between calls.
  std::int64_t bytes() const {
    return memory_.bytes() + (forward_ ? forward_->run.scratch_bytes() : 0);
  }

  const OperatorInfo& info() const { return call_.info(); }
  bool has_backward() const { return !call_.is_composed() && call_.table().backward != nullptr; }

  Host::Impl& host;
  const std::shared_ptr<Host::Impl> owner;
  std::vector<Argument> inputs, outputs, states;
  RandomPosition random_position;  // of the latest forward call, unless the caller sets another one
  OneThread used;

 private:
  /// One direction of the call. `read` and `written` back the pointers in `tensors`, which the run
  /// uses.
  struct Pass {
    Pass(Impl& call, int dispatch, StorageChoice chosen, std::span<const tenon_type> types_written);
    StorageChoice choice;
    std::vector<tenon_type> types;  // of the written tensors
    std::vector<tenon_tensor> written;
    CallTensors tensors;
    OperatorRun run;
  };

  void describe();
  const tenon_tensor* read(const Tensor& tensor, const tenon_type& type, std::uint8_t storage,
                           const Argument& argument, bool sparse_kernel, bool on_cpu = false);
  void read_inputs(std::span<const Tensor> arguments, CallTensors& tensors, bool sparse_kernel,
                   std::span<const tenon_tensor> unread = {});
  void bind_states(std::span<const Tensor> arguments, CallTensors& tensors);
  void write(Pass& pass, std::size_t i, Tensor& tensor, const Argument& argument) const;
  void run(Pass& pass);
  Tensor take(Pass& pass, std::size_t i);
  void warn_of_conversion(const Argument& argument, const tenon_type& type) const;

  OperatorCall call_;
  const bool training_;
  bool depends_on_values_ = false, some_on_cpu_ = false;
  CallTypes types_;
  std::vector<tenon_type>
      inferred_;  // of outputs; kernel-allocated ones get their full shapes in each call
  SparseMemory memory_;
  std::vector<Tensor> temporaries_;  // copies and temporaries of one call
  std::vector<tenon_tensor> state_tensors_;
  std::optional<Pass> forward_, backward_;
};

}  // namespace tenon
