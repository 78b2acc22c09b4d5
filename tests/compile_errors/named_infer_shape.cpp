// says: infer_shape, infer_shapes, infer_type and infer_types are never called: write void infer
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
  template <class Io>
  void infer_shape(Io&) const {}
};
TENON_OPERATOR(wrong, Wrong)
