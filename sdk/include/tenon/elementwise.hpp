// Elementwise operators: one scalar function is the whole operator.
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
// From operator() come kernels for every dtype that op.types() allows, vectorised and split over threads; broadcasting as numpy does it;
// strided inputs, in-place use and all write modes; the derivative, by running the function on dual numbers; and sparse storage kept where
// the function of 0 is 0, or of two of them, as for csr + csr, and where op.zero_where says that one 0 is enough, as for csr * dense. A
// class may give its derivative itself, and its arguments say what backward has to keep in memory:
//     template <class T> TENON_FN T gradient(T dy) const;                          the output's gradient only
//     template <class T> TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const;    and the output
//     template <class T> TENON_FN T gradient(T dy, tenon::InputOf<T> x) const;     and the inputs, one argument for each
// With two inputs it returns tenon::Pair<T>.
#pragma once
// Clang warns of loops that it was told are independent and leaves scalar all the same, as those that call sin or pow.
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
