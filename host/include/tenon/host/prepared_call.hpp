// An operator with its parameters, prepared for inputs of known types: inferred once, called many
// times.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/shape.hpp>
#include <vector>

namespace tenon {

class Host;

/// The name and type of an input, output or state of a call.
struct TENON_API Argument {
  std::string name{};
  DType dtype = DType::f32;
  Shape shape{};
  Storage storage = Storage::dense;
  bool present = true;  ///< inputs: false for an omitted optional input
  bool hidden = false;  ///< outputs: true if only backward reads it

  /// An input with this tensor's type; an empty tensor stands for an omitted optional input.
  static Argument like(const Tensor& tensor);
};

/// Determines the random numbers of a call: the host's seed, and the number of the call since the
/// seed was set.
struct RandomPosition {
  std::uint64_t seed = 0, step = 0;
};

struct PrepareOptions {
  std::string device{};   ///< the device of all tensors; empty: cpu
  bool training = false;  ///< run in training mode: dropout drops, states change
};

/// The result of Host::prepare(). A call checks the types of its tensors, runs the kernel and
/// allocates only the results. This object keeps alive what it needs of its host, and the build of
/// the plugin that it was prepared with. Threads: one at a time; a concurrent call gets a Failure.
class TENON_API PreparedCall {
 public:
  ~PreparedCall();
  PreparedCall(PreparedCall&&) noexcept;
  PreparedCall& operator=(PreparedCall&&) noexcept;

  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;  ///< including hidden ones
  const std::vector<Argument>& states() const;
  /// Whether inferred types depend on elements of inputs, which only Host::call() passes to the
  /// operator.
  bool depends_on_values() const;
  /// false if the operator has no gradient, or if its gradient is a graph; use Graph::gradient()
  /// for that
  bool has_backward() const;

  /// Creates states with the operator's initial values.
  std::vector<Tensor> make_states() const;

  /// Runs the operator. `inputs`: one for each of inputs(), empty if it is not present. `outputs`:
  /// one for each of outputs(); an empty tensor is allocated, any other must be dense and
  /// contiguous and is overwritten. Its memory must not overlap that of an input, a state or
  /// another output, which a kernel may read after it has written: this is not checked, and results
  /// are then undefined. `states`: one for each of states(), changed in place; if the span is
  /// empty, new states for this call. Throws Failure: (usage) for tensors of other types, (failed)
  /// with the kernel's message.
  void forward(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               std::span<const Tensor> states = {});
  /// Runs the operator and returns its first output that is not hidden. Throws Failure (usage) if
  /// there is none.
  Tensor operator()(std::span<const Tensor> inputs);

  /// The position of the latest forward call, from which backward() draws. If other forward calls
  /// may run before the backward call, keep it with the outputs, and set it before the backward
  /// call, which any object may run that was prepared in the same way. Throws Failure (usage) if
  /// the object is in use.
  RandomPosition random_position() const;
  void set_random_position(const RandomPosition& position);

  /// Returns the gradients of the inputs, computed from the gradients of the outputs (empty: zero)
  /// and from the inputs, outputs and states of the forward call; tensors that backward does not
  /// read may be empty. A random operator draws from random_position(). `needs_input_grad`: a flag
  /// for each input, or empty for all floating and complex inputs; the gradients of the others are
  /// empty. Throws Failure (usage) if has_backward() is false, and as forward() does.
  std::vector<Tensor> backward(std::span<const Tensor> output_grads, std::span<const Tensor> inputs,
                               std::span<const Tensor> outputs, std::span<const Tensor> states = {},
                               const std::vector<bool>& needs_input_grad = {});

  struct TENON_HIDDEN Impl;  ///< for the host's own code

 private:
  friend class Host;
  explicit PreparedCall(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
