// says: takes_channels_last and prefers_channels_last must name different inputs and outputs
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("data", "[N, C, H, W]");
    op.output("output", "the same");
    op.takes_channels_last("data", "otuput");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
