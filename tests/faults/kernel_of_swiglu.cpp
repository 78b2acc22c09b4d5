// No fault: a kernel for a composed operator of another plugin; it returns 42 to show that it runs.
#include <tenon/operator.hpp>

#undef TENON_OPERATOR
#define TENON_OPERATOR(name, Class)
#include "../examples/swiglu.cpp"

struct FortyTwo : SwiGlu {
  void forward(const tenon::Call& call) const {
    for (auto& element : call.output<float>(0)) element = 42;
  }
};
TENON_KERNEL(swiglu, cpu, FortyTwo)
