// Runs one operator of a bundled plugin directly through the C ABI: any number of threads, every
// write mode, forward and backward; on the CPU, or on TENON_TEST_DEVICE.
#pragma once
#include <tenon/abi.h>

#include <string>
#include <tenon/host/attribute_map.hpp>
#include <vector>

#include "array.hpp"
#include "device/device.hpp"
#include "operator_manifest.hpp"

class PluginOperator {
 public:
  /// The mode of a call.
  struct Mode {
    bool training = false;
    int threads = 1;
    std::vector<std::size_t> channels_last_inputs = {};  ///< of forward
    bool channels_last_output = false;
    std::vector<std::size_t> constants = {};  ///< inputs that prepare() may pack
  };
  struct Types {
    std::vector<tenon::TensorType> inputs, outputs, states;
  };

  /// Loads the bundled plugin and creates an object. Throws tenon::Error with the operator's
  /// reason.
  PluginOperator(const std::string& plugin, const std::string& name,
                 const tenon::Attributes& attributes);
  ~PluginOperator();
  PluginOperator(const PluginOperator&) = delete;
  PluginOperator& operator=(const PluginOperator&) = delete;

  /// An input without a dtype is not connected, and an empty array has none. outputs: known types,
  /// if any. Throws tenon::Error with the operator's reason.
  Types infer(const std::vector<tenon::TensorType>& inputs,
              const std::vector<tenon::TensorType>& outputs = {}) const;

  /// Adds to the outputs that are in `add_to`. Throws tenon::Error with the kernel's reason.
  std::vector<Array> forward(const std::vector<Array>& inputs, std::vector<Array>& states,
                             const Mode& mode, const std::vector<Array>& add_to = {});
  /// Output 0 in the memory of input `shared`.
  std::vector<Array> forward_in_place(const std::vector<Array>& inputs, std::size_t shared,
                                      std::vector<Array>& states, const Mode& mode);

  /// Gradients of the inputs marked in `requested`; the others are empty. output_grads are those of
  /// the first outputs; missing and empty ones are zero.
  std::vector<Array> backward(const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                              const std::vector<Array>& output_grads,
                              const std::vector<bool>& requested, const Mode& mode,
                              const std::vector<Array>& add_to = {});

  /// The gradient of the input that may share memory with the output's gradient.
  std::vector<Array> backward_in_place(const std::vector<Array>& inputs,
                                       const std::vector<Array>& outputs,
                                       const std::vector<Array>& output_grads,
                                       const std::vector<bool>& requested, const Mode& mode);

  std::vector<Array> make_states(const std::vector<Array>& inputs) const;

  bool accumulates() const { return manifest_.accumulates; }
  /// The input whose memory output 0 may use, and the one whose gradient may use that of output
  /// 0's; -1: none.
  int forward_in_place_input() const { return manifest_.forward_in_place; }
  int backward_in_place_input() const { return manifest_.backward_in_place; }

 private:
  struct Step;
  std::vector<Array> run_backward(const std::vector<Array>& inputs,
                                  const std::vector<Array>& outputs,
                                  const std::vector<Array>& output_grads,
                                  const std::vector<bool>& requested, const Mode& mode,
                                  const std::vector<Array>& add_to, int shared);
  void run(Step& step, int dispatch, const Mode& mode);
  std::vector<std::vector<std::uint8_t>> prepare(const Step& step, int dispatch,
                                                 const Mode& mode) const;
  void find_kernel_on_device(void* library, const std::string& plugin);
  std::vector<std::uint8_t> workspace(const std::vector<Array>& inputs, int dispatch) const;

  std::string name_;
  OperatorManifest manifest_;
  std::size_t output_count_ = 0;
  const tenon_operator* operator_ = nullptr;  // for inference
  const tenon_operator* kernel_ = nullptr;    // for computation; often the same
  tenon::Device* device_ = nullptr;           // the kernel's device; null: the CPU
  void *operator_object_ = nullptr, *kernel_object_ = nullptr;
};
