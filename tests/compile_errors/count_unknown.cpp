// says: the count of an output names a member that is not a parameter
// about: parts
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::int64_t n = 1;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.output("parts", "any shape").count(&Wrong::n);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
