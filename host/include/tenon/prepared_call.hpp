// One operator with its parameters for inputs of given types, inferred once and called as often as one likes.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <tenon/attribute_map.hpp>
#include <tenon/dtype.hpp>
#include <tenon/shape.hpp>
#include <tenon/tensor.hpp>
#include <vector>

namespace tenon {

class Host;

/// A tensor of a call: its name and what a call must be given, or gives, at its place.
struct Argument {
  std::string name{};
  DType dtype = DType::f32;
  Shape shape{};
  Storage storage = Storage::dense;
  bool present = true;  ///< of inputs: whether an optional one is given
  bool hidden = false;  ///< of outputs: for backward, not for users of the operator

  /// An input like this tensor; an empty tensor stands for an optional input that is left out.
  static Argument like(const Tensor& tensor);
};

struct PrepareOptions {
  std::string device{};   ///< where all tensors lie; empty: cpu
  bool training = false;  ///< as in training: dropout drops, states change
};

/// What Host::prepare() gives. A call looks at its tensors' types, runs the kernel and allocates nothing but the results. It keeps what it
/// needs of its host, and the build of the plugin that it was prepared with, alive. Threads: one at a time, a second one is refused.
class PreparedCall {
 public:
  ~PreparedCall();
  PreparedCall(PreparedCall&&) noexcept;
  PreparedCall& operator=(PreparedCall&&) noexcept;

  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;  ///< hidden ones too
  const std::vector<Argument>& states() const;
  bool has_backward() const;  ///< the kernel has a gradient of its own; one that is a graph of other operators is Graph::gradient()'s

  /// New states as the operator says that they begin.
  std::vector<Tensor> make_states() const;

  /// Runs the operator. `inputs` as inputs() says, empty where one is not present. `outputs`: one for each of outputs(); an empty one is
  /// made, another is written in place and must be dense and contiguous. `states`: as states() says, changed where they lie; none: new ones
  /// for this call. Throws Failure: (usage) for tensors of other types, (failed) with the kernel's reason.
  void forward(std::span<const Tensor> inputs, std::span<Tensor> outputs, std::span<const Tensor> states = {});
  /// The first output that is not hidden. Throws Failure (usage) where there is none.
  Tensor operator()(std::span<const Tensor> inputs);

  /// Gradients of the inputs from those of the outputs (empty: zero), and from the inputs, outputs and states of the forward call; what
  /// backward does not read may be empty. `wanted`: one for each input, or none for all that are floating. Unwanted ones come back empty.
  /// Throws Failure: (usage) where has_backward() is false, and as forward() does.
  std::vector<Tensor> backward(std::span<const Tensor> output_grads, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                               std::span<const Tensor> states = {}, const std::vector<bool>& wanted = {});

  struct Impl;  ///< for the host's own code

 private:
  friend class Host;
  explicit PreparedCall(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
