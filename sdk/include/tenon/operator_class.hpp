// The base class of every operator: what happens where a class says nothing of its own.
#pragma once
#include <cstddef>

#include "infer.hpp"
#include "infer_storage.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Base of operators and kernels. A class gives what it needs, by the same names; nothing is virtual. Besides these, as it needs them:
///     void forward(const Call&) const;          the kernel, and forward_sparse(const Call&) for sparse tensors
///     void forward(Compose&) const;             or the operator as a graph of others (compose.hpp)
///     void backward(const Call&) const;         its gradient as a kernel, and backward_sparse(const Call&)
///     void gradient(Gradient&) const;           or its gradient as a graph of other operators
///     std::size_t workspace(const Infer&) const;           bytes of scratch that forward gets by call.workspace
///     std::size_t backward_workspace(const Infer&) const;  the same for backward
///     void prepare(Prepare&) const;             what a CPU kernel keeps of inputs that do not change (prepare.hpp)
///     double flops(const Infer&) const;         floating-point operations of a forward, for profiles: a multiplication and an addition are
///     2;
///                                               and backward_flops(const Infer&) those of a backward that computes all gradients
///     std::string algorithm(const Infer&) const;  which algorithm a forward runs and why, for plans: `Winograd: 3x3 filters, large image`;
///                                               and backward_algorithm(const Infer&) for a backward
///     bool supports(const Infer& types) const;  whether this kernel computes these types; default: all that the operator has
///     static constexpr int priority = 1;        of several kernels for a device, the highest that supports the types runs; default: 0
///     static constexpr bool capturable = true;  a CUDA kernel that only enqueues work on the stream
///     static constexpr bool blockwise = true;   a CPU kernel that may be called for parts of its tensors, see TENON_TRAIT_BLOCKWISE; the
///                                               kernels of tenon::Elementwise are
/// Each may throw; the reason reaches the user with node, operator and shapes. An object is used by one thread at a time, infer, workspace,
/// prepare, flops, algorithm, supports and gradient by several.
struct Operator {
  /// Called once all parameters are set: check them together, derive members from them.
  void configure() {}
  /// Every output has the first input's shape and dtype.
  void infer(Infer& io) const {
    if (io.inputs() == 0) return;
    for (int i = 0; i < io.outputs(); ++i) io.set_output(i, io.input(0).shape);
  }
  /// No sparse kernel: sparse inputs are made dense.
  void infer_storage(InferStorage&) const {}
};

/// The class that is registered for an operator's class: itself, unless a family of operators (elementwise.hpp) adds members to it.
template <class Class>
struct completed {
  using type = Class;
};
template <class Class>
using Completed = typename completed<Class>::type;

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
