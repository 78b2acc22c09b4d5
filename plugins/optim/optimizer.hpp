// What the optimizers share: inputs and output, the shapes of their states, and the loop over the elements.
#pragma once
#include <initializer_list>
#include <tenon/elementwise/convert.hpp>
#include <tenon/operator.hpp>
#include <type_traits>

/// What a T is computed in, and what its moments are kept in: small updates would vanish in 16 bits.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Base of operators that do one step for one weight. Everything is element by element, so the bits do not depend on threads.
struct Optimizer : tenon::Operator {
 protected:
  static constexpr void describe_step(auto& op) {
    op.input("weight", "what is trained, of any shape");
    op.input("grad", "gradient of the loss by weight, same shape");
    op.input("learning_rate", "0-d").types({tenon::f32});
    op.output("updated", "the weight after the step");
    op.inplace("weight", "updated");
  }

  /// moments: the states that have the weight's shape.
  static void infer_step(tenon::Infer& io, std::initializer_list<const char*> moments = {}) {
    io.set_input("learning_rate", tenon::Shape::scalar());
    io.set_input("grad", io.input("weight").shape);
    io.set_input("weight", io.input("grad").shape);
    const auto weight = io.input("weight");
    io.set_output(0, weight.shape);
    const auto wide = weight.dtype == tenon::f64 || weight.dtype == tenon::unknown_dtype ? weight.dtype : tenon::f32;
    for (const char* name : moments) io.set_state(name, weight.shape, wide);
  }

  static double learning_rate(const tenon::Call& call) { return static_cast<double>(call.input<float>("learning_rate")[0]); }

  /// Calls f.operator()<T>() with the weight's type.
  template <class F>
  static void visit(const tenon::Call& call, F&& f) {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, std::forward<F>(f));
  }

  template <class T>
  static Wide<T>* moment(const tenon::Call& call, const char* name) {
    return call.state<Wide<T>>(name).data();
  }

  /// rule(i, weight, grad) gives element i of the updated weight, and may change element i of the moments.
  template <class T, class Rule>
  static void for_each_weight(const tenon::Call& call, Rule rule) {
    const auto weight = call.input<T>("weight");
    const T *const from = weight.data(), *const grad = call.input<T>("grad").data();
    T* const to = call.output<T>(0).data();
    call.parallel_for(weight.size(), 16384, [=](std::int64_t begin, std::int64_t end) {
      tenon::elementwise::for_each(end - begin, [=](std::int64_t offset) {
        const auto i = begin + offset;
        to[i] = static_cast<T>(rule(i, Wide<T>(from[i]), Wide<T>(grad[i])));
      });
    });
  }
};
