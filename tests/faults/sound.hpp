// Twice x, optionally with a gradient: what the operators of wrong_for_some.cpp compute apart from
// their fault.
#pragma once
#include <tenon/operator.hpp>

using tenon::Call;
using tenon::Infer;
using tenon::Write;

struct Sound : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class Body>
  static void typed(const Call& call, Body&& body) {
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(call.input_type(0).dtype, body);
  }
  template <class T>
  static void twice(const T* from, T* to, std::int64_t count, bool add = false) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = (add ? to[i] : T(0)) + T(2) * from[i];
  }
  void forward(const Call& call) const {
    typed(call, [&]<class T>() {
      twice(call.input<T>(0).data(), call.output<T>(0).data(), call.input<T>(0).size());
    });
  }
  /// Has the gradient 2 dy where `right` is true for x and i, and 0 elsewhere.
  template <class Right>
  static void back(const Call& call, Right&& right) {
    typed(call, [&]<class T>() {
      const auto x = call.input<T>(0);
      for (std::int64_t i = 0; i < x.size(); ++i)
        call.input_grad<T>(0).data()[i] =
            right(x.data()[i]) ? 2 * call.output_grad<T>(0).data()[i] : 0;
    });
  }
};
