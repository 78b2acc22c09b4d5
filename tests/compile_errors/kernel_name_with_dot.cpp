// says: an operator's name has letters, digits and underscores, no digit first
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.kernels_elsewhere();
  }
};
struct WrongCpu : Wrong {
  void forward(const tenon::Call&) {}
};
TENON_KERNEL(acme.wrong, cpu, WrongCpu)
