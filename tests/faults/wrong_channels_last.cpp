// Declares channels-last support but adds the channel number as if tensors had the plain layout.
#include <tenon/operator.hpp>

struct WrongChannelsLast : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("data plus the number of the channel");
    op.types({tenon::f32});
    op.input("data", "[N, C, H, W]");
    op.output("output", "the same shape");
    op.takes_channels_last("data", "output");
    op.example({{"data", {2, 3, 4, 5}}});
  }
  void infer(tenon::Infer& io) const {
    io.set_input(0, tenon::Shape::of_rank(4));
    io.set_output(0, io.input(0).shape);
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    const std::int64_t places = x.dim(2) * x.dim(3);
    for (std::int64_t i = 0; i < x.size(); ++i)
      y.data()[i] = x.data()[i] + static_cast<float>(i / places % x.dim(1));
  }
};
TENON_OPERATOR(wrong_channels_last, WrongChannelsLast)
