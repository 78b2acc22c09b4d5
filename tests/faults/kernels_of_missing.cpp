// No fault: a kernel and a variant for operators that no plugin has.
#include "doubling.hpp"

struct OfMissing : Doubling {
  static constexpr int priority = 1;
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_KERNEL_IN(bolt, missing, cpu, OfMissing)
TENON_KERNEL_VARIANT(missing_too, cpu, OfMissing)
