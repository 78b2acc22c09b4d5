// Inference of one operator: the host's own rules (shared dtypes), then the operator's infer(),
// then validation of the result.
#pragma once
#include <span>
#include <string>
#include <tenon/host/operator_info.hpp>
#include <vector>

#include "graph/inference/type.hpp"
#include "graph/instance.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// The types of one call: inputs (present = 0: not connected) and, once inferred, outputs and
/// states.
struct CallTypes {
  std::vector<tenon_type> inputs, outputs, states;
  std::vector<const tenon_tensor*>
      values{};  ///< elements of inputs, null if unknown; empty: all unknown
  /// of inputs, if kernel selection depends on them (enum tenon_storage)
  std::vector<std::uint8_t> storages{};
  std::vector<std::uint8_t> requested{};  ///< out: 1 if infer() requested the elements of an input
  /// precision in which float32 products may be computed
  DType precision = f32;
};

inline constexpr std::int64_t max_bytes_for_infer = std::int64_t{64} << 10;

/// Whether infer() may read a tensor's elements: dense, contiguous, on the CPU, at most 64 KiB.
bool may_infer_read(const tenon_tensor& tensor);

/// Returns the declared input of the i-th connected one: the last, variadic input covers all that
/// follow.
inline std::size_t declared_input(const OperatorInfo& info, std::size_t i) {
  return i < info.inputs.size() ? i : info.inputs.size() - 1;
}

/// `weight`; tensors of a variadic input are numbered, as in the SDK.
std::string name_of_input(const OperatorInfo& info, std::size_t i);

/// Infers types in place. Throws Failure (failed) with the reason and the inputs' types, without
/// the node's name.
void infer_operator(const LoadedOperator& op, const void* instance, CallTypes& types);

/// Returns the bytes of scratch memory that a kernel requests; dispatch is enum tenon_dispatch.
/// Throws Failure like infer_operator.
std::uint64_t workspace_bytes(const OperatorInfo& info, const Instance& kernel, int dispatch,
                              CallTypes& types);

/// Returns the floating-point operations of a call as reported by the kernel; 0 if it does not
/// report them. Throws Failure like infer_operator.
double flops_of(const OperatorInfo& info, const Instance& kernel, int dispatch, CallTypes& types);

/// Whether algorithm_of() may return a non-empty text.
bool reports_algorithm(const Instance& kernel);
/// Returns the algorithm of a call and the reason for it in one printable line; empty if the kernel
/// reports none. Throws Failure like infer_operator.
std::string algorithm_of(const OperatorInfo& info, const Instance& kernel, int dispatch,
                         CallTypes& types);

/// Whether the kernel supports these types, as far as they are known. Throws Failure like
/// infer_operator.
bool supports(const OperatorInfo& info, const Instance& kernel, CallTypes& types);

/// ` (data float32 [8, 64], weight float32 [10, 32])`, with a leading space; empty if there are no
/// inputs.
std::string describe_inputs(const OperatorInfo& info, std::span<const tenon_type> inputs);

}  // namespace tenon
