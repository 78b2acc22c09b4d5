// The base class of all operators, with the defaults of optional functions.
#pragma once
#include <cstddef>

#include "infer.hpp"
#include "infer_storage.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Base of operators and kernels. A class defines functions of these names as needed; nothing is
/// virtual. Further functions:
///     void forward(const Call&) const;          the kernel, and forward_sparse(const Call&) for
///                                               sparse tensors
///     void forward(Compose&) const;             or the operator as a graph of other operators
///                                               (compose.hpp)
///     void backward(const Call&) const;         its gradient as a kernel, and
///                                               backward_sparse(const Call&)
///     void gradient(Gradient&) const;           or its gradient as a graph of other operators
///     std::size_t workspace(const Infer&) const;           bytes of scratch memory for
///                                                          call.workspace in forward
///     std::size_t backward_workspace(const Infer&) const;  the same for backward
///     void prepare(Prepare&) const;             packed constants: what a CPU kernel precomputes of
///                                               constant inputs (prepare.hpp)
///     double flops(const Infer&) const;         floating-point operations of a forward, for
///                                               profiles (a multiplication and an addition count
///                                               as two); backward_flops(const Infer&) for a
///                                               backward with all gradients
///     std::string algorithm(const Infer&) const;  algorithm of a forward and the reason, for
///                                                 plans: `Winograd: 3x3 filters, large image`; and
///                                                 backward_algorithm(const Infer&) for a backward
///     bool supports(const Infer& types) const;  whether this kernel supports these types; default:
///                                               all types of the operator
///     static constexpr int priority = 1;        of several kernels for a device that support the
///                                               types, the highest runs; default: 0
///     static constexpr bool capturable = true;  a CUDA kernel that only enqueues work on the
///                                               stream
///     static constexpr bool blockwise = true;   a CPU kernel that may be called for segments of
///                                               its tensors (see TENON_TRAIT_BLOCKWISE); true for
///                                               the kernels of
///                                               tenon::Elementwise
/// Each function may throw; the user sees the reason with node, operator and shapes. Kernels of an
/// object run on one thread at a time; infer, workspace, prepare, flops, algorithm, supports and
/// gradient may run on several threads at once.
struct Operator {
  /// Called once all parameters are set: validate combinations, compute derived members.
  void configure() {}
  /// Default: every output has the first input's shape and dtype.
  void infer(Infer& io) const {
    if (io.inputs() == 0) return;
    for (int i = 0; i < io.outputs(); ++i) io.set_output(i, io.input(0).shape);
  }
  /// Default: no sparse kernel; sparse inputs are converted to dense.
  void infer_storage(InferStorage&) const {}
};

/// The class that is registered for an operator's class: the class itself, unless a family of
/// operators (elementwise.hpp) adds members to it.
template <class Class>
struct completed {
  using type = Class;
};
template <class Class>
using Completed = typename completed<Class>::type;

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
