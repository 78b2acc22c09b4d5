// One operator with its parameters for inputs of given types: inferred once, called many times.
#pragma once
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

/// Name and type of one input, output or state of a call.
struct TENON_API Argument {
  std::string name{};
  DType dtype = DType::f32;
  Shape shape{};
  Storage storage = Storage::dense;
  bool present = true;  ///< inputs: false for an optional one that is omitted
  bool hidden = false;  ///< outputs: only backward reads it

  /// An input like this tensor; an empty tensor stands for an omitted optional input.
  static Argument like(const Tensor& tensor);
};

struct PrepareOptions {
  std::string device{};   ///< the device of all tensors; empty: cpu
  bool training = false;  ///< run as in training: dropout drops, states change
};

/// What Host::prepare() returns. A call checks its tensors' types, runs the kernel and allocates nothing but the results. This object keeps
/// alive what it needs of its host, and the build of the plugin that it was prepared with. Threads: one at a time; a second one gets a
/// Failure.
class TENON_API PreparedCall {
 public:
  ~PreparedCall();
  PreparedCall(PreparedCall&&) noexcept;
  PreparedCall& operator=(PreparedCall&&) noexcept;

  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;  ///< hidden ones too
  const std::vector<Argument>& states() const;
  /// Whether what was inferred follows from elements of inputs, which only Host::call() shows to the operator.
  bool depends_on_values() const;
  bool has_backward() const;  ///< false if the operator has no gradient, or one that is a graph: use Graph::gradient() for that

  /// New states with the operator's first values.
  std::vector<Tensor> make_states() const;

  /// Runs the operator. `inputs`: one for each of inputs(), empty if it is not present. `outputs`: one for each of outputs(); an empty one
  /// is allocated, any other must be dense and contiguous and is overwritten. `states`: one for each of states(), changed in place; or
  /// none: new ones for this call. Throws Failure: (usage) for tensors of other types, (failed) with the kernel's reason.
  void forward(std::span<const Tensor> inputs, std::span<Tensor> outputs, std::span<const Tensor> states = {});
  /// Runs the operator and returns its first output that is not hidden. Throws Failure (usage) if there is none.
  Tensor operator()(std::span<const Tensor> inputs);

  /// Returns the gradients of the inputs, computed from those of the outputs (empty: zero) and from the inputs, outputs and states of the
  /// forward call; tensors that backward does not read may be empty. An operator that draws random numbers gets those of this object's
  /// latest forward call. `wanted`: one flag for each input, or none for all floating and complex inputs; the gradients of the others are
  /// empty. Throws Failure (usage) if has_backward() is false, and as forward() does.
  std::vector<Tensor> backward(std::span<const Tensor> output_grads, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                               std::span<const Tensor> states = {}, const std::vector<bool>& wanted = {});

  struct TENON_HIDDEN Impl;  ///< for the host's own code

 private:
  friend class Host;
  explicit PreparedCall(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
