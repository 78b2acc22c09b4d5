// Gradient clipping by the norm of all gradients together (Pascanu, Mikolov and Bengio, 2013).
#include <cmath>
#include <tenon/operator.hpp>

#include "block_sum.hpp"

struct GlobalNormScale : tenon::Operator {
  double max_norm = 1;

  static constexpr void describe(auto& op) {
    op.doc("what all gradients must be multiplied by so that their common norm is at most max_norm");
    op.input("grads", "gradients of any shapes and dtypes").variadic().types(tenon::floating);
    op.output("scale", "0-d float32: min(1, max_norm / (norm + 1e-6)), with the root of the sum of all squares as norm");
    op.param("max_norm", &GlobalNormScale::max_norm, "largest norm that stays as it is").required().greater_than(0);
  }

  void infer(tenon::Infer& io) const { io.set_output(0, tenon::Shape::scalar(), tenon::f32); }

  void forward(const tenon::Call& call) const {
    double squares = 0;
    for (int i = 0; i < call.inputs(); ++i)
      tenon::visit<tenon::floating>(call.input_type(i).dtype, [&]<class T>() {
        const auto grad = call.input<T>(i);
        squares += block_sum(call, grad.size(), [data = grad.data()](std::int64_t at) {
          const auto value = static_cast<double>(data[at]);
          return value * value;
        });
      });
    const double scale = max_norm / (std::sqrt(squares) + 1e-6);
    call.output<float>(0)[0] = static_cast<float>(scale > 1 ? 1 : scale);  // nan stays nan
  }
};
TENON_OPERATOR(global_norm_scale, GlobalNormScale)
