// The size of the output depends on the elements of an input, which infer() reads if they are
// known.
#include <algorithm>
#include <tenon/operator.hpp>

struct ReshapeTo : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data with the shape that another tensor contains");
    op.input("data", "any shape");
    op.input("shape", "[rank], the sizes of output, with the same number of elements as data")
        .types({tenon::i64});
    op.output("output", "shape as specified");
    op.backward_reads();
    op.example({{"data", {2, 6}}, {"shape", {2}, tenon::i64, {3, 4}}});
  }

  void infer(tenon::Infer& io) const {
    io.set_input("shape", {tenon::unknown});
    const auto sizes = io.values<std::int64_t>("shape");
    if (!sizes) return;  // for example a graph input: not known yet
    const tenon::Shape data = io.input("data").shape,
                       target(sizes.begin(), static_cast<int>(sizes.size()));
    io.require(!data.known() || data.size() == target.size(), "data is ", data,
               ", which cannot become ", target);
    io.set_output(0, target);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.output_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>("data");
      std::copy(data.begin(), data.end(), call.output<T>(0).begin());
    });
  }
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      std::copy(dy.begin(), dy.end(), call.input_grad<T>(0).begin());
    });
  }
};
TENON_OPERATOR(reshape_to, ReshapeTo)
