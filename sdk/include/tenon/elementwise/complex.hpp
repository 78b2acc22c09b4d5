// The CPU kernel of elementwise operators for complex numbers, separate from that for real ones: it
// is compiled only for classes whose types include a complex dtype. Dense tensors only.
//
// The gradient of a complex value z = a + bi is dL/da + i dL/db, as in PyTorch: the direction of
// steepest ascent of L. For a function with a complex derivative f', found by dual numbers, it is
// conj(f'(z)) times the output's gradient. Others, such as abs, define gradient() themselves.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../call.hpp"
#include "../visit.hpp"
#include "job.hpp"
#include "signature.hpp"
#include "strided.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class Class>
constexpr Types real_types() {
  return {static_cast<Types::Mask>(detail::description_of<Class>.types.mask & ~any_complex.mask)};
}
template <class Class>
constexpr Types complex_types() {
  return {static_cast<Types::Mask>(detail::description_of<Class>.types.mask & any_complex.mask)};
}

/// A tensor broadcast to the axes of a shape.
struct ComplexOperand {
  unsigned char* data = nullptr;  ///< null: zeros
  DType dtype = unknown_dtype;
  std::int64_t strides[max_rank] = {};  ///< in bytes; 0 along broadcast axes

  ComplexOperand() = default;
  ComplexOperand(const tenon_tensor* tensor, const tenon_dense& broadcast)
      : dtype(tensor ? static_cast<DType>(tensor->dtype) : unknown_dtype) {
    if (!tensor) return;
    const tenon_dense& dense = tensor->dense;
    data = first_element(*tensor);
    auto row_major = static_cast<std::int64_t>(size_of(dtype));
    for (int own = dense.ndim - 1, axis = broadcast.ndim - 1; own >= 0; --own, --axis) {
      const std::int64_t stride =
          dense.strides ? dense.strides[own] * static_cast<std::int64_t>(size_of(dtype))
                        : row_major;
      if (axis < 0 || (dense.shape[own] != 1 && dense.shape[own] != broadcast.shape[axis]))
        refuse_broadcast(dense, broadcast.shape, broadcast.ndim);
      strides[axis] = dense.shape[own] == 1 ? 0 : stride;
      row_major *= dense.shape[own];
    }
  }

  /// Reads an element as T; real numbers and bools get a zero imaginary part.
  template <class T>
  T at(std::int64_t offset) const {
    if (!data) return T(0);
    if (dtype == dtype_of<T>) return *reinterpret_cast<const T*>(data + offset);
    if (dtype == boolean) return T(*reinterpret_cast<const bool*>(data + offset) ? 1 : 0);
    if constexpr (is_complex<T>) {
      using Real = decltype(T::re);
      if (dtype == dtype_of<Real>) return T(*reinterpret_cast<const Real*>(data + offset));
    }
    constexpr DType requested = dtype_of<T>;  // a reference to dtype_of would make it a symbol
    fail(ErrorKind::type, {dtype, " cannot be read as ", requested, " here"});
  }
};

/// Computes output[i] = f(x[0], x[1] ...) with the given Write. If the output is smaller than
/// `broadcast`, it is the sum over the missing axes, in double precision and in an order that
/// depends only on the shapes.
template <class T, int count, class F>
void complex_map(const Call& call, tenon_tensor& output, Write write, const tenon_dense& broadcast,
                 const tenon_tensor* const (&sources)[count], const F& f) {
  using Out = decltype(f(static_cast<const ComplexOperand*>(nullptr),
                         static_cast<const std::int64_t*>(nullptr)));
  const ComplexOperand target(&output, broadcast);
  ComplexOperand from[count];
  for (int k = 0; k < count; ++k) from[k] = ComplexOperand(sources[k], broadcast);
  std::int64_t results = 1, terms = 1, summed[max_rank] = {}, retained[max_rank] = {};
  for (int axis = 0; axis < broadcast.ndim; ++axis) {
    const int own = axis - (broadcast.ndim - output.dense.ndim);
    const std::int64_t size = own < 0 ? 1 : output.dense.shape[own];
    retained[axis] = size, summed[axis] = size == broadcast.shape[axis] ? 1 : broadcast.shape[axis];
    results *= size, terms *= summed[axis];
  }
  // Adds the offsets of point number i of a box.
  const auto add_offsets = [&](const std::int64_t* dims, std::int64_t i, std::int64_t* offsets,
                               std::int64_t& out) {
    for (int axis = broadcast.ndim - 1; axis >= 0; --axis) {
      if (dims[axis] == 1) continue;
      const std::int64_t coordinate = i % dims[axis];
      i /= dims[axis];
      for (int k = 0; k < count; ++k) offsets[k] += coordinate * from[k].strides[axis];
      out += coordinate * target.strides[axis];
    }
  };
  call.parallel_for(results, 1 + grain / (terms + 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t base[count] = {}, out_offset = 0;
      add_offsets(retained, i, base, out_offset);
      Out value{};
      if (terms == 1) {
        value = f(from, base);
      } else if constexpr (is_complex<Out>) {
        Complex<double> sum(0);
        for (std::int64_t term = 0; term < terms; ++term) {
          std::int64_t offsets[count], ignored = 0;
          for (int k = 0; k < count; ++k) offsets[k] = base[k];
          add_offsets(summed, term, offsets, ignored);
          const Out one = f(from, offsets);
          sum += Complex<double>(one.re, one.im);
        }
        using Real = decltype(value.re);
        value = Out(static_cast<Real>(sum.re), static_cast<Real>(sum.im));
      }
      Out& to = *reinterpret_cast<Out*>(target.data + out_offset);
      if constexpr (std::is_same_v<Out, bool>)
        to = write == Write::add ? to || value : value;
      else
        to = write == Write::add ? to + value : value;
    }
  });
}

template <class Class, class T,
          class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct ComplexKernel;

template <class Class, class T, std::size_t... I>
struct ComplexKernel<Class, T, std::index_sequence<I...>> {
  using Out = Result<Class, T>;

  static void forward(const Call& call, const Class& f, Write write) {
    const tenon_call& raw = call.raw();
    const tenon_tensor* const sources[] = {raw.inputs[I]...};
    complex_map<T>(call, *raw.outputs[0], write, raw.outputs[0]->dense, sources,
                   [&](const ComplexOperand* x, const std::int64_t* at) {
                     return f(x[I].template at<T>(at[I])...);
                   });
  }

  template <std::size_t input>
  static void gradient(const Call& call, const Class& f, Write write) {
    const tenon_call& raw = call.raw();
    constexpr Rule found = Signature<Class, T>::rule;
    if (write == Write::none) return;
    const auto read = [&](const tenon_tensor* tensor, bool is_read) {
      return is_read ? tensor : nullptr;
    };
    const tenon_tensor* const sources[] = {
        raw.output_grads[0], read(raw.outputs[0], found == Rule::output),
        read(raw.inputs[I], found == Rule::inputs || found == Rule::dual)...};
    complex_map<T>(
        call, *raw.input_grads[input], write, raw.output_grads[0]->dense, sources,
        [&](const ComplexOperand* x, const std::int64_t* at) -> T {
          const auto dy = x[0].template at<Out>(at[0]);
          if constexpr (found == Rule::nothing) {
            return component<input>(f.gradient(dy));
          } else if constexpr (found == Rule::output) {
            return component<input>(f.gradient(dy, OutputOf<Out>{x[1].template at<Out>(at[1])}));
          } else if constexpr (found == Rule::inputs) {
            return component<input>(
                f.gradient(dy, InputOf<T>{x[2 + I].template at<T>(at[2 + I])}...));
          } else {
            return dy *
                   conj(f(Dual<T>(x[2 + I].template at<T>(at[2 + I]), T(I == input ? 1 : 0))...)
                            .slope);
          }
        });
  }

 private:
  template <std::size_t input, class Gradients>
  static T component(const Gradients& gradients) {
    if constexpr (sizeof...(I) == 1)
      return gradients;
    else
      return input == 0 ? gradients.left : gradients.right;
  }
};

/// Returns false if the inputs are real.
template <class Class>
bool complex_forward(const Call& call, const Class& f) {
  if constexpr (complex_types<Class>() != Types{}) {
    const auto dtype = static_cast<DType>(
        call.raw().inputs[detail::first_shared(detail::description_of<Class>)]->dtype);
    const auto write = static_cast<Write>(call.raw().writes[0]);
    if (!any_complex.has(dtype)) return false;
    visit<complex_types<Class>()>(dtype, [&]<class T>() {
      if (write != Write::none) ComplexKernel<Class, T>::forward(call, f, write);
    });
    return true;
  }
  return false;
}

/// Computes the gradients of all inputs; one that uses the memory of the output's gradient comes
/// last. Returns false if the inputs are real.
template <class Class>
bool complex_backward(const Call& call, const Class& f) {
  if constexpr (complex_types<Class>() != Types{}) {
    const tenon_call& raw = call.raw();
    const auto dtype =
        static_cast<DType>(raw.inputs[detail::first_shared(detail::description_of<Class>)]->dtype);
    if (!any_complex.has(dtype)) return false;
    visit<complex_types<Class>()>(dtype, [&]<class T>() {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        for (const bool in_place : {false, true})
          ((raw.input_grads[I] && (static_cast<Write>(raw.writes[I]) == Write::in_place) == in_place
                ? ComplexKernel<Class, T>::template gradient<I>(call, f,
                                                                static_cast<Write>(raw.writes[I]))
                : void()),
           ...);
      }
      (std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>{});
    });
    return true;
  }
  return false;
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
