#include <type_traits>

#include "doubling.hpp"

struct ForgetsBound : Doubling {
  float scale = 1;
  // The manifest, created at compile time, has a bound that the object, created at run time, lacks.
  static constexpr void describe(auto& op) {
    Doubling::describe(op);
    auto&& param = op.param("scale", &ForgetsBound::scale, "is not used");
    if (std::is_constant_evaluated()) param.at_least(0);
  }
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(forgets_bound, ForgetsBound)
