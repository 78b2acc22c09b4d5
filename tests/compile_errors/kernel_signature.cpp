// says: forward must be public
#include <string>
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
struct WrongKernel : Wrong {
  std::string cache;
  void forward(tenon::Infer&) {}
};
TENON_KERNEL(wrong, cpu, WrongKernel)
