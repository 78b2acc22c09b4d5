// Completes an elementwise class: an operator with all its functions, and a description of their
// features.
#pragma once

#include <type_traits>

#include "../detail/names_of.hpp"
#include "../operator_class.hpp"
#include "../version.hpp"
#include "../visit.hpp"
#include "class_checks.hpp"
#include "complex.hpp"
#include "convert.hpp"
#include "convert_any.hpp"
#include "loops.hpp"
#include "run.hpp"
#include "shapes.hpp"
#include "signature.hpp"
#include "sparse/sparse.hpp"
#include "sparse/sparse_gradient.hpp"
#include "sparse/sparse_pairs.hpp"
#include "sparse/sparse_storage.hpp"
#include "sum.hpp"
#include "trace.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// The first input with the shared dtype.
template <class Class>
inline constexpr int first_shared = detail::first_shared(detail::description_of<Class>);

/// How gradients of broadcast inputs are summed; compiled only for operators with several inputs.
template <class Class>
constexpr Sum summation() {
  if constexpr (arity < Class >> 1) {
    return sum_broadcast;
  } else {
    return no_sum;
  }
}

/// Whether the output's dtype is that of the inputs, so that it may use their memory.
template <class Class>
inline constexpr bool output_like_inputs =
    std::is_same_v<Result<Class, SomeType<Class>>, SomeType<Class>>;

/// Class without the author's scalar gradient(), which must not be taken for a gradient graph of
/// the same name.
template <class Class>
struct WithoutScalarGradient : Class {
  void gradient() const = delete;
};

/// Adds what follows from the function on every device: description and inference.
template <class Class>
struct Semantics
    : std::conditional_t<graph_gradient<Class>(), Class, WithoutScalarGradient<Class>> {
  static constexpr void describe(auto& op) {
    Class::describe(op);
    op.elementwise();
    op.accumulates();
    op.takes_strides();
    constexpr const auto& d = detail::description_of<Class>;
    const char* output = d.outputs[0].name;
    for (const auto& input : d.inputs) {
      if (input.types.has_value) continue;
      if (output_like_inputs<Class>) op.inplace(input.name, output);
      if (differentiable<Class>) op.backward_inplace(output, input.name);
    }
    if (!d.backward_reads.has_value) describe_reads(op);
  }

  void infer(Infer& io) const {
    if constexpr (!std::is_same_v<decltype(&Class::infer), void (Operator::*)(Infer&) const>)
      return Class::infer(io);
    const DType shared = io.input(first_shared<Class>).dtype;
    const DType dtype = shared == unknown_dtype ? shared : output_dtype(shared);
    if constexpr (arity<Class> == 1) {
      io.set_input(0, io.output(0).shape);
      io.set_output(0, io.input(0).shape, dtype);
    } else {
      io.set_output(0, broadcast_shape(io, detail::names_of<Semantics>.inputs), dtype);
    }
  }

 private:
  static DType output_dtype(DType shared) {
    return visit<detail::description_of<Class>.types>(
        shared, [&]<class T>() { return result_dtype<Class, Computed<T>>(shared); });
  }
  static constexpr void describe_reads(auto& op) {
    constexpr const auto& d = detail::description_of<Class>;
    const char* names[max_inputs + 1] = {};
    int count = 0;
    if (rule<Class> == Rule::output) names[count++] = d.outputs[0].name;
    if (rule<Class> == Rule::inputs || rule<Class> == Rule::dual)
      for (const auto& input : d.inputs) names[count++] = input.name;
    op.backward_reads(static_cast<const char* const*>(names), count);
  }
};

/// Adds the CPU kernel. An object of a class that is twice differentiable may represent the
/// derivative with respect to one input: forward then computes that, and backward its derivatives.
template <class Class>
struct ForwardKernel : Semantics<Class> {
  static constexpr bool blockwise = true;
  std::int32_t derivative = -1;  ///< the input to differentiate by; -1: none

  static constexpr void describe(auto& op) {
    Semantics<Class>::describe(op);
    if constexpr (has_derivative<Class> && twice_differentiable<Class>())
      op.derivative(&ForwardKernel::derivative);
  }
  void infer(Infer& io) const {
    if constexpr (complex_types<Class>() != Types{})
      io.require(derivative < 0 || !any_complex.has(io.input(first_shared<Class>).dtype),
                 "second derivatives for ", io.input(first_shared<Class>).dtype,
                 " are not supported");
    Semantics<Class>::infer(io);
  }
  void forward(const Call& call) const {
    if (complex_forward(call, static_cast<const Class&>(*this))) return;
    elementwise::forward(call,
                         kernel(static_cast<DType>(call.raw().inputs[first_shared<Class>]->dtype)));
  }
  void trace(tenon_trace& io) const requires(traceable<Class>()) {
    if (derivative >= 0) fail(ErrorKind::failed, {"it represents a derivative"});
    elementwise::trace(static_cast<const Class&>(*this), io);
  }

 protected:
  const Class& self() const { return *this; }

  /// Returns the kernel for inputs of a dtype.
  Kernel kernel(DType dtype) const {
    const Loops* found = nullptr;
    visit<real_types<Class>()>(dtype, [&]<class T>() { found = &loops<Class, Computed<T>>; });
    return {static_cast<const Class*>(this),
            found,
            conversion<Class>(),
            summation<Class>(),
            derivative < 0 ? rule<Class> : Rule::inputs,
            derivative};
  }
};

/// Adds the sparse kernel for functions of one input that are 0 at 0.
template <class Class>
struct SparseKernel : ForwardKernel<Class> {
  void infer_storage(InferStorage& io) const {
    if constexpr (complex_types<Class>() != Types{})
      if (any_complex.has(io.input_type(0).dtype)) return;
    if (this->derivative < 0) elementwise::infer_storage(static_cast<const Class&>(*this), io);
  }
  void forward_sparse(const Call& call) const {
    elementwise::forward_sparse(call,
                                this->kernel(static_cast<DType>(call.raw().inputs[0]->dtype)));
  }
};

/// Adds the sparse kernel for functions of two inputs with the shared dtype.
template <class Class>
struct SparsePairKernel : ForwardKernel<Class> {
  void infer_storage(InferStorage& io) const {
    if constexpr (complex_types<Class>() != Types{})
      if (any_complex.has(io.input_type(0).dtype)) return;
    if (this->derivative < 0) elementwise::infer_storage(static_cast<const Class&>(*this), io);
  }
  void forward_sparse(const Call& call) const {
    if (write_of(call, 0) == Write::none) return;
    const Kernel kernel = this->kernel(static_cast<DType>(call.raw().inputs[0]->dtype));
    PairCall(call, kernel, zero_rule(static_cast<const Class&>(*this))).run();
  }
};

/// Adds the gradient.
template <class Forward>
struct BackwardKernel : Forward {
  void backward(const Call& call) const {
    const tenon_tensor* dy = call.raw().output_grads[0];
    if (dy && complex_backward(call, this->self())) return;
    if (dy) return elementwise::backward(call, this->kernel(static_cast<DType>(dy->dtype)));
    for (int i = 0; i < call.inputs(); ++i) zero_gradient(call, i);
  }
};

/// Adds the gradient for sparse tensors.
template <class Class, class Backward>
struct SparseBackwardKernel : Backward {
  void backward_sparse(const Call& call) const {
    const Kernel kernel = this->kernel(static_cast<DType>(call.raw().output_grads[0]->dtype));
    GradientCall(call, kernel, gradient_rule(static_cast<const Class&>(*this))).run();
  }
};

template <class Class>
constexpr auto forward_with() {
  if constexpr (arity<Class> == 1) {
    return std::type_identity<SparseKernel<Class>>{};
  } else if constexpr (arity<Class> == 2 && conversion<Class>() == convert_half) {
    return std::type_identity<SparsePairKernel<Class>>{};
  } else {
    return std::type_identity<ForwardKernel<Class>>{};
  }
}
template <class Class>
using Forward = typename decltype(forward_with<Class>())::type;

template <class Class>
constexpr auto all_kernels() {
  if constexpr (!has_derivative<Class>) {
    return std::type_identity<Forward<Class>>{};
  } else if constexpr (has_sparse_derivative<Class>) {
    return std::type_identity<SparseBackwardKernel<Class, BackwardKernel<Forward<Class>>>>{};
  } else {
    return std::type_identity<BackwardKernel<Forward<Class>>>{};
  }
}
template <class Class>
using AllKernels = typename decltype(all_kernels<Class>())::type;

/// For a class whose description has a fault, whose sentence is then the only error.
template <class Class>
struct Undescribed : Class {
  void forward(const Call&) const {}
};

/// For a class with a fault that only elementwise classes can have.
template <class Class>
struct Refused : Class {
  static constexpr void describe(auto& op) {
    Class::describe(op);
    op.elementwise();
  }
  void forward(const Call&) const { report_fault<class_fault<Class>()>(); }
};

template <class Class>
constexpr bool defines_kernels =
    detail::names_forward<Class> || detail::names_forward_sparse<Class> ||
    detail::names_backward<Class> || detail::names_backward_sparse<Class>;

/// A class that defines its own kernels, for another device or with another library, keeps them.
template <class Class>
constexpr auto choose() {
  if constexpr (!detail::Described<Class>) {
    return std::type_identity<Undescribed<Class>>{};
  } else if constexpr (defines_kernels<Class>) {
    return std::type_identity<Semantics<Class>>{};
  } else if constexpr (!detail::Literal<Class> || !detail::DescribedAtCompileTime<Class>) {
    return std::type_identity<Undescribed<Class>>{};
  } else if constexpr (detail::description_of<Class>.fault != detail::ClassFault::none) {
    return std::type_identity<Undescribed<Class>>{};
  } else if constexpr (class_fault<Class>() == Fault::none) {
    return std::type_identity<AllKernels<Class>>{};
  } else {
    return std::type_identity<Refused<Class>>{};
  }
}

}  // namespace tenon::TENON_SDK::elementwise

namespace tenon::TENON_SDK {

/// Specializes the hook of operator_class.hpp.
template <class Class>
requires std::is_base_of_v<Elementwise, Class>
struct completed<Class> {
  using type = typename decltype(elementwise::choose<Class>())::type;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
