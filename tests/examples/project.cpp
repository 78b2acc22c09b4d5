// A packed constant of a weight that does not change: its transpose, so that the innermost loop
// runs along rows.
#include <tenon/operator.hpp>

// y[row, i] = sum over k of x[row, k] weight[i, k].
struct Project : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x * weight^T");
    op.types({tenon::f32});
    op.input("x", "[rows, k]");
    op.input("weight", "[n, k]").weight();
    op.output("y", "[rows, n]");
    op.backward_reads("x", "weight");
    op.example({{"x", {3, 4}}, {"weight", {2, 4}}});
  }

  void infer(tenon::Infer& io) const {
    io.set_input("x", tenon::Shape::of_rank(2));
    io.set_input("weight", {tenon::unknown, io.input("x").shape[1]});
    io.set_input("x", {tenon::unknown, io.input("weight").shape[1]});
    io.set_output("y", {io.input("x").shape[0], io.input("weight").shape[0]});
  }

  void prepare(tenon::Prepare& io) const {
    if (io.backward() || !io.is_constant("weight")) return;
    const tenon::Shape shape = io.input("weight").shape;
    const std::int64_t n = shape[0], k = shape[1];
    if (n * k == 0) return;
    io.prepack(0, "weight", tenon::join("transposed ", n, " x ", k),
               static_cast<std::size_t>(n * k) * sizeof(float), [&](void* memory) {
                 const auto weight = io.constant<float>("weight");
                 auto* const transposed = static_cast<float*>(memory);
                 for (std::int64_t i = 0; i < n; ++i)
                   for (std::int64_t j = 0; j < k; ++j) transposed[j * n + i] = weight[i * k + j];
               });
  }

  // With and without the transpose, sums are in the order of k, so the bits are the same.
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>("x"), weight = call.input<float>("weight");
    const auto y = call.output<float>("y");
    const std::int64_t rows = x.dim(0), k = x.dim(1), n = y.dim(1);
    const auto* const transposed = static_cast<const float*>(call.prepacked(0));
    for (float& sum : y) sum = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          y[row * n + i] +=
              x[row * k + j] * (transposed ? transposed[j * n + i] : weight[i * k + j]);
  }

  void backward(const tenon::Call& call) const {
    const auto dy = call.output_grad<float>("y"), x = call.input<float>("x"),
               weight = call.input<float>("weight");
    const std::int64_t rows = x.dim(0), k = x.dim(1), n = dy.dim(1);
    const bool wants_x = call.write(0) != tenon::Write::none,
               wants_weight = call.write(1) != tenon::Write::none;
    const auto dx = wants_x ? call.input_grad<float>("x") : tenon::View<float>();
    const auto dweight = wants_weight ? call.input_grad<float>("weight") : tenon::View<float>();
    for (std::int64_t i = 0; i < dx.size(); ++i) dx[i] = 0;
    for (std::int64_t i = 0; i < dweight.size(); ++i) dweight[i] = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < k; ++j) {
          if (wants_x) dx[row * k + j] += dy[row * n + i] * weight[i * k + j];
          if (wants_weight) dweight[i * k + j] += dy[row * n + i] * x[row * k + j];
        }
  }
};
TENON_OPERATOR(project, Project)
