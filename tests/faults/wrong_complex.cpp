// Gradients that are right only for real numbers.
#include <tenon/elementwise.hpp>
#include <tenon/operator.hpp>

struct Square : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("z squared");
    op.input("z", "any shape");
    op.output("y", "same shape as z");
    op.types(tenon::floating + tenon::any_complex);
  }
  template <class T>
  TENON_FN T operator()(T z) const {
    return z * z;
  }
  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> z) const {
    return dy * T(2) * z.value;  // not conj(z)
  }
};
TENON_OPERATOR(forgets_conj, Square)

struct Turn : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("i times z");
    op.input("z", "any shape");
    op.output("y", "same shape as z");
    op.types(tenon::any_complex);
    op.backward_reads();
  }
  template <class View, class Out>
  static void turn(const View& from, const Out& to) {
    for (std::int64_t i = 0; i < to.size(); ++i) to[i] = {-from[i].im, from[i].re};
  }
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::any_complex>(call.input_type(0).dtype,
                                     [&]<class T>() { turn(call.input<T>(0), call.output<T>(0)); });
  }
  void backward(const tenon::Call& call) const {  // should rotate back
    tenon::visit<tenon::any_complex>(call.output_type(0).dtype, [&]<class T>() {
      turn(call.output_grad<T>(0), call.input_grad<T>(0));
    });
  }
};
TENON_OPERATOR(turns_on, Turn)
