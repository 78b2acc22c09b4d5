// The length of each row; replace it by your own operator.
#include <cmath>
#include <tenon/operator.hpp>

struct @CLASS@ : tenon::Operator {
  double eps = 0;

  static constexpr void describe(auto& op) {
    op.doc("Euclidean norm of each row");
    op.types({tenon::f32, tenon::f64});
    op.input("data", "[rows, columns]");
    op.output("length", "[rows]");
    op.param("eps", &@CLASS@::eps, "term added to the sum of squares").at_least(0);
    op.example({{"data", {2, 3}}}, {{"eps", 0.1}});
  }

  // Called with partly known types: ranks and dimensions may be unknown.
  void infer(tenon::Infer& io) const {
    const auto data = io.input(0).shape;
    if (!data.has_rank()) return;
    io.require(data.rank() == 2, "data is ", data, " but must have rows and columns");
    io.set_output(0, {data[0]});
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>("data");
      const auto length = call.output<T>("length");
      const auto columns = call.input_type(0).shape[1];
      call.parallel_for(length.size(), 1024, [&](std::int64_t begin, std::int64_t end) {
        for (auto row = begin; row < end; ++row) {
          T sum = static_cast<T>(eps);
          for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i)
            sum += data[i] * data[i];
          length[row] = std::sqrt(sum);
        }
      });
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;  // the gradient is not requested
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>("data"), length = call.output_value<T>("length");
      const auto dy = call.output_grad<T>("length");
      const auto dx = call.input_grad<T>("data");
      const auto columns = call.input_type(0).shape[1];
      for (std::int64_t i = 0; i < dx.size(); ++i) {
        const auto row = i / columns;
        dx[i] = length[row] > 0 ? dy[row] * data[i] / length[row] : T(0);
      }
    });
  }
};
TENON_OPERATOR(@NAME@, @CLASS@)
