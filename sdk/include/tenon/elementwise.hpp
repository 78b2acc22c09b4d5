// Elementwise operators, each defined by one scalar function.
//
//     struct Square : tenon::Elementwise {
//       static constexpr void describe(auto& op) {
//         op.doc("x * x");
//         op.input("x", "any shape");
//         op.output("y", "same shape as x");
//       }
//       template <class T>
//       TENON_FN T operator()(T x) const {
//         return x * x;
//       }
//     };
//     TENON_OPERATOR(square, Square)
//
// Tenon derives from operator(): kernels for every dtype that op.types() allows, vectorised and
// multi-threaded; numpy broadcasting; strided inputs, in-place operation and all write modes; the
// derivative, by calling the function with dual numbers; and sparse kernels, if the function of 0
// is 0, or of two zeros, as for csr + csr, or if op.zero_where declares that one 0 is enough, as
// for csr * dense. A class may define its derivative itself; the arguments determine which tensors
// are saved for backward:
//     template <class T> TENON_FN T gradient(T dy) const;
//     template <class T> TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const;
//     template <class T> TENON_FN T gradient(T dy, tenon::InputOf<T> x) const;  // one per input
// With two inputs it returns tenon::Pair<T>.
#pragma once
// Clang warns about independent loops that it cannot vectorise, such as those that call sin or pow.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include "elementwise/completed.hpp"
#include "elementwise/math/functions.hpp"
#include "operator.hpp"
#if defined(TENON_CUDA_SOURCE)
#include "elementwise/device/cuda.hpp"
#endif

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
