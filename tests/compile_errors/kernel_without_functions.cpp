// says: needs at least one of forward, forward_sparse, backward and backward_sparse
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.kernels_elsewhere();
  }
};
struct WrongKernel : Wrong {};
TENON_KERNEL(wrong, cpu, WrongKernel)
