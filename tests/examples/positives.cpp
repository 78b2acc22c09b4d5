// Outputs whose size only the kernel knows, because it depends on elements.
#include <algorithm>
#include <tenon/operator.hpp>

struct Positives : tenon::Operator {
  float above = 0;

  static constexpr void describe(auto& op) {
    op.doc("elements greater than a limit, and their indices");
    op.input("data", "any shape");
    op.output("values", "[count], in the order of data").allocated();
    op.output("places", "[count], their indices in row-major order").allocated();
    op.param("above", &Positives::above, "the limit");
    op.backward_reads("places");
  }

  void infer(tenon::Infer& io) const {
    io.set_output("values", {tenon::unknown});
    io.set_output("places", {tenon::unknown}, tenon::i64);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>("data");
      const auto counts = [&](T value) { return static_cast<float>(value) > above; };
      const auto count = std::count_if(data.begin(), data.end(), counts);
      const auto values = call.allocate<T>("values", {count});
      const auto places = call.allocate<std::int64_t>("places", {count});
      for (std::int64_t i = 0, next = 0; i < data.size(); ++i)
        if (counts(data[i])) values[next] = data[i], places[next++] = i;
    });
  }

  // The outputs' shapes are fully known here.
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dx = call.input_grad<T>("data");
      std::fill(dx.begin(), dx.end(), static_cast<T>(0));
      if (!call.has_output_grad(0)) return;
      const auto dy = call.output_grad<T>("values");
      const auto places = call.output_value<std::int64_t>("places");
      for (std::int64_t i = 0; i < dy.size(); ++i) dx[places[i]] = dy[i];
    });
  }
};
TENON_OPERATOR(positives, Positives)
