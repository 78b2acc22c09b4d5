// Inference of one operator: what the host knows by itself (shared dtypes), then the operator's own infer(), then a check of all it said.
#pragma once
#include <span>
#include <string>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "graph/instance.hpp"
#include "graph/type.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// The types of one call: of inputs (present = 0: left out), and, once inferred, of outputs and states.
struct CallTypes {
  std::vector<tenon_type> inputs, outputs, states;
  std::vector<const tenon_tensor*> values{};  ///< elements of inputs, null where they are not known; empty: none is
  std::vector<std::uint8_t> storages{};       ///< of inputs, where the kernel is chosen by them (enum tenon_storage)
  std::vector<std::uint8_t> wanted{};         ///< out: 1 where infer() would use the elements of an input
  DType precision = f32;                      ///< what products of f32 may be computed in
};

/// Whether infer() may see a tensor's elements: dense, contiguous, on the CPU, 64 KiB at most.
bool may_infer_see(const tenon_tensor& tensor);

/// Which input of the manifest the i-th connected input is: a variadic one stands for all that follow.
inline std::size_t declared_input(const OperatorInfo& info, std::size_t i) {
  return i < info.inputs.size() ? i : info.inputs.size() - 1;
}

/// `weight`; a variadic input's tensors are numbered, as in the SDK.
std::string name_of_input(const OperatorInfo& info, std::size_t i);

/// Adds all that can be known. Throws Failure (failed) with the reason and the inputs' types, without the node's name.
void infer_operator(const LoadedOperator& op, const void* instance, CallTypes& types);

/// Scratch that a kernel asks for, in bytes; dispatch is enum tenon_dispatch. Throws Failure like infer_operator.
std::uint64_t workspace_bytes(const OperatorInfo& info, const Instance& kernel, int dispatch, CallTypes& types);

/// Floating-point operations of a call, as the kernel says; 0 where it does not. Throws Failure like infer_operator.
double flops_of(const OperatorInfo& info, const Instance& kernel, int dispatch, CallTypes& types);

/// Whether algorithm_of() may return a text.
bool tells_algorithm(const Instance& kernel);
/// The algorithm that a call runs and the reason for it, as one printable line; empty if the kernel does not tell. Throws Failure like
/// infer_operator.
std::string algorithm_of(const OperatorInfo& info, const Instance& kernel, int dispatch, CallTypes& types);

/// Whether the kernel computes these types, as far as they are known. Throws Failure like infer_operator.
bool supports(const OperatorInfo& info, const Instance& kernel, CallTypes& types);

/// ` (data float32 [8, 64], weight float32 [10, 32])`, with a space before it; empty without inputs.
std::string describe_inputs(const OperatorInfo& info, std::span<const tenon_type> inputs);

}  // namespace tenon
