#include "doubling.hpp"

struct WrongAdd : Doubling {
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    op.accumulates();
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(wrong_add, WrongAdd)
