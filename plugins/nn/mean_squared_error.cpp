// The usual loss of a regression.
#include <tenon/operator.hpp>

#include "fits.hpp"
#include "reduction.hpp"
#include "store.hpp"
#include "sum.hpp"

struct MeanSquaredError : tenon::Operator {
  Reduction reduction = Reduction::mean;

  static constexpr void describe(auto& op) {
    op.doc("(prediction - target)^2, averaged over all elements");
    op.input("prediction", "any shape");
    op.input("target", "same shape as prediction");
    op.output("loss", "0-d; same shape as prediction where reduction is none");
    op.param("reduction", &MeanSquaredError::reduction, "mean or sum over all elements (0 where there are none), or none: each by itself")
        .one_of({{"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}});
    op.backward_reads("prediction", "target");
    op.accumulates();
  }

  void infer(tenon::Infer& io) const {
    if (reduction != Reduction::none) io.set_output(0, tenon::Shape::scalar());
    const auto prediction = io.input("prediction").shape, target = io.input("target").shape;
    const auto& known = prediction.has_rank() ? prediction : target;
    if (!known.has_rank()) return;
    io.require(fits(prediction, target), "prediction is ", prediction, " but target is ", target, ": the shapes need to be equal");
    io.set_input("prediction", known);
    io.set_input("target", io.input("prediction").shape);
    io.set_input("prediction", io.input("target").shape);
    if (reduction == Reduction::none) io.set_output(0, io.input("prediction").shape);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto prediction = call.input<T>(0), target = call.input<T>(1);
      const auto loss = call.output<T>(0);
      const auto square = [&](std::int64_t i) {
        const auto difference = Wide<T>(prediction[i]) - Wide<T>(target[i]);
        return difference * difference;
      };
      if (reduction == Reduction::none)
        for_each_element(call, prediction.size(), [&](std::int64_t i) { store(call.write(0), loss[i], square(i)); });
      else
        store(call.write(0), loss[0], static_cast<Wide<T>>(parallel_sum(call, prediction.size(), square) * weight(prediction.size())));
    });
  }

  /// dprediction = 2 (prediction - target) dloss, and dtarget is its negative.
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto prediction = call.input<T>(0), target = call.input<T>(1), dy = call.output_grad<T>(0);
      for (const int input : {0, 1}) {
        if (call.write(input) == tenon::Write::none) continue;
        const auto dx = call.input_grad<T>(input);
        const auto scale = static_cast<Wide<T>>((input == 0 ? 2 : -2) * weight(prediction.size()));
        for_each_element(call, dx.size(), [&](std::int64_t i) {
          const auto upstream = Wide<T>(dy[reduction == Reduction::none ? i : 0]);
          store(call.write(input), dx[i], scale * (Wide<T>(prediction[i]) - Wide<T>(target[i])) * upstream);
        });
      }
    });
  }

 private:
  double weight(std::int64_t elements) const {
    return reduction == Reduction::mean && elements > 0 ? 1.0 / static_cast<double>(elements) : 1;
  }

  template <class Body>
  static void for_each_element(const tenon::Call& call, std::int64_t n, Body&& body) {
    call.parallel_for(n, 16384, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) body(i);
    });
  }
};
TENON_OPERATOR(mean_squared_error, MeanSquaredError)
