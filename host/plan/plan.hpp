// A bound graph with concrete shapes, ready to run: a flat list of steps and an arena for each device.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tenon/failure.hpp>
#include <tenon/tensor.hpp>
#include <vector>

#include "device/block.hpp"
#include "device/float_modes.hpp"
#include "graph/binding.hpp"
#include "plan/captures.hpp"
#include "plan/copy_step.hpp"
#include "plan/faults.hpp"
#include "plan/kernels.hpp"
#include "plan/memory/memory_plan.hpp"
#include "plan/step.hpp"
#include "plan/streams.hpp"
#include "plan/tensor_table.hpp"
#include "plan/turn.hpp"
#include "plan/waits.hpp"
#include "tensor/call_context.hpp"

namespace tenon {

/// What a session gives to all its plans.
struct PlanContext {
  const tenon_host* host = nullptr;
  Threads* threads = nullptr;
  Streams* streams = nullptr;
  ErrorBuffer* error = nullptr;
  bool training = false;
  bool keep_on_device = false;
  bool capture = true;
  std::uint64_t seed = 0;
};

/// What is given to one plan.
struct PlanInputs {
  std::vector<tenon_type> types;          ///< of all values, as infer_with() finds them
  std::map<ValueId, Device*> devices;     ///< of inputs, where that is not the CPU
  const WantedOutputs* wanted = nullptr;  ///< all outputs where it is null
};

/// The declared types of the inputs, storages too, with these shapes in their places.
std::map<ValueId, tenon_type> input_types(const GraphModel& model, const std::map<std::string, Shape>& shapes);

/// The types of all values with these input shapes bound, inferred to the end (as far as is `wanted`), with the storages of what is given:
/// inputs and `tensors`.
/// Throws Failure for inputs that do not fit.
std::vector<tenon_type> infer_with(const GraphModel& model, const Binding& binding, const TensorTable& tensors,
                                   const std::map<ValueId, tenon_type>& inputs, const WantedOutputs* wanted = nullptr);

/// Everything points into the plan itself, so it does not move. Threads: one at a time.
///
/// A run: set_data() and the like, start(), each of the steps that it gives, finish(). Steps on a GPU only put work on its streams;
/// finish() waits for it, once. A run that fails ends with abandon() instead.
class Plan {
 public:
  Plan(std::shared_ptr<const GraphSnapshot> graph, Kernels& kernels, const TensorTable& tensors, const PlanContext& context,
       PlanInputs inputs);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::vector<Step>& steps() const { return steps_; }  ///< one for each node that runs
  /// What to call in this run: the steps, or fewer that do the same.
  const std::vector<Step>& start();
  /// The same where the steps themselves are called, one by one.
  void start_steps();
  /// Whether a GPU is asked for the step together with its neighbours.
  bool captures(std::size_t step) const { return captures_ && captures_->contains(step); }
  std::string capture_trouble() const { return captures_ ? captures_->trouble() : ""; }
  /// Writes what variables become over them, waits for the GPUs and lets the CPU have the outputs. Throws Failure that names the node whose
  /// kernel reported a fault, or the nodes among which the GPU failed.
  void finish();
  void abandon() noexcept;  ///< waits for what the GPUs were asked to do, so that memory may be given back
  /// Waits until the device is done with this step. Throws Failure.
  void wait_for(std::size_t step);
  /// After each step: puts back the floating-point modes that it left changed, which `modes` are, and warns of its operator.
  void keep_modes(const FloatModes& modes, const Step& step) {
    if (FloatModes::now() != modes || call_context_.left_modes.load(std::memory_order_relaxed)) [[unlikely]]
      put_modes_back(modes, step);
  }
  /// Of a step that start() gave and that did not return 0.
  Failure failure_of(const Step& step) const;
  const GraphModel& model() const { return graph_.model(); }  ///< the graph as it runs, conversions too
  const LoadedOperator& operator_of(NodeId node) const { return *graph_.binding().nodes[node].op; }
  const std::vector<Conversion>& conversions() const { return graph_.conversions; }
  const std::vector<DeviceCopy>& copies() const { return graph_.copies; }
  Device& device_of(std::size_t step) const { return *graph_.devices[node_of(step)]; }
  Device& place_of(ValueId value) const { return *graph_.places[value]; }
  /// Of a step that copies: the device it copies from; else null.
  const Device* copied_from(std::size_t step) const;
  bool runs_sparse(std::size_t step) const { return graph_.sparse[memory_.order[step]]; }
  const MemoryPlan& memory() const { return memory_; }
  NodeId node_of(std::size_t step) const { return memory_.order[step]; }
  const std::vector<tenon_type>& types() const { return memory_.types; }
  /// enum tenon_write; none: nobody wants this gradient, and the step does not compute it.
  std::uint8_t write(std::size_t step, std::uint32_t output) const { return steps_[step].call->writes[output]; }
  std::int64_t offset_of(ValueId value) const { return memory_.offset_of(value); }
  std::int64_t workspace_of(std::size_t step) const { return static_cast<std::int64_t>(steps_[step].call->workspace_size); }

  /// Points an input or a dense output at this run's memory.
  void set_data(ValueId value, void* data);
  /// The same for an input of any storage; its indices are int64.
  void set_tensor(ValueId value, const tenon_tensor& tensor);
  /// A sparse output of the run that is over; it belongs to the caller then. Throws Failure where a GPU's kernel broke a rule of its
  /// storage.
  Tensor take_sparse(ValueId output);
  std::int64_t sparse_bytes() const { return sparse_memory_.bytes(); }  ///< held for sparse values inside
  /// Whether an output's kernels can add to what is there; set_add then says whether they shall.
  bool can_add(ValueId output) const;
  void set_add(ValueId output, bool add);
  /// For the calls that draw random numbers.
  void set_step(std::uint64_t step);
  const tenon_tensor& tensor(ValueId value) const { return tensors_[value]; }

 private:
  // A step whose outputs are sparse: they are looked at before anybody follows their indices.
  struct SparseStep {
    tenon_kernel_function function;
    void* instance;
  };
  static std::int32_t run_sparse(void* step, const tenon_call* call);

  // A step on one of several GPUs.
  struct OtherGpuStep {
    Device* device;
    Step step;
  };
  static std::int32_t run_on_gpu(void* step, const tenon_call* call);

  struct Gpu {
    Stream stream;  // of its kernels
    Faults faults;
    const Turn* last = nullptr;  // after all that a run put on any of its streams
  };

  void make_arenas(Streams& streams);
  std::byte* memory_at(std::uint32_t buffer) const { return arenas_[memory_.arena_of[buffer]].data() + memory_.offsets[buffer]; }
  void make_tensors(const TensorTable& tensors);
  void make_copies(Streams& streams);
  const Stream& stream_of(const DeviceCopy& copy, Streams& streams) const;
  bool may_pin(std::size_t copy) const;
  void pin_copies();
  void make_calls(Kernels& kernels, const PlanContext& context);
  Step make_step(NodeId id, const Instance& kernel, tenon_call& call);
  void connect_gpus(Streams& streams);
  void connect_gpu(const Stream& stream, bool several);
  void find_stretches(const Kernels& kernels);
  bool is_capturable(std::size_t step, const Kernels& kernels) const;
  std::vector<bool> nodes_before_copies() const;
  void capture_stretches();

  // plan_streams.cpp
  void take_turns();
  void add_turn(Waits& waits, const Stream& stream, const std::vector<Touch>& touches);
  void put_in_turn(std::uint32_t begin, std::uint32_t end, const Turn& turn);
  const Stream* stream_of(std::size_t step) const;
  std::uint32_t line_of(const Stream& stream) const;
  std::vector<Touch> touches_of(std::uint32_t begin, std::uint32_t end) const;
  void touch(ValueId value, bool written, std::vector<Touch>& touches) const;
  void touch_buffer(std::uint32_t buffer, bool written, std::vector<Touch>& touches) const;
  std::int64_t beside_arenas(const Device& device) const;

  bool runs_kernel(std::size_t step, const Device& device) const;
  void update_variables();
  [[gnu::cold]] void put_modes_back(const FloatModes& modes, const Step& step);
  template <class Work>
  void for_each_gpu(Work work);
  void report_fault(Gpu& gpu) const;
  Failure failure_at(std::size_t step, const std::string& reason, const std::string& hint = {}) const;
  std::string nodes_before(std::size_t step, const Device& device) const;
  void connect_forward(const GraphModel& model, const NodeRecord& node, tenon_call& call);
  void connect_backward(const GraphModel& model, const NodeRecord& node, tenon_call& call);

  Lowered graph_;
  MemoryPlan memory_;
  ErrorBuffer& error_;
  SparseMemory sparse_memory_;
  CallContext call_context_;
  std::vector<Block> arenas_;  // as memory_.arenas
  std::vector<tenon_tensor> tensors_;
  std::vector<tenon_tensor> unread_;  // what backward steps may ask the types of alone
  std::vector<tenon_tensor*> pointers_;
  tenon_tensor** next_pointer_ = nullptr;
  std::vector<tenon_call> calls_;
  std::vector<tenon_call*> random_calls_;
  std::vector<SparseStep> sparse_steps_;
  std::deque<CopyStep> copies_;  // as graph_.copies
  std::vector<CopyStep*> put_off_;
  std::optional<PinnedBlock> pinned_;
  std::vector<Gpu> gpus_;
  std::vector<Stream> lines_;  // all that work is put on
  std::deque<OtherGpuStep> other_gpu_steps_;
  std::deque<Turn> turns_;  // of each piece of work on a GPU, in order
  std::deque<StepInTurn> steps_in_turn_;
  std::vector<Step> steps_;
  std::vector<ValueId> outside_;  // what captured work reads and writes that lies elsewhere in each run
  std::vector<std::uint64_t> key_;
  std::vector<Stretch> stretches_;
  std::optional<Captures> captures_;
};

}  // namespace tenon
