#include "doubling.hpp"

struct ReadsPastEnd : Doubling {
  void forward(const tenon::Call& call) const {
    const volatile float* const x = call.input<float>(0).data();
    const float behind = x[call.input<float>(0).size()];
    write(call, call.input<float>(0).size());
    if (behind == 12345) call.output<float>(0).data()[0] += 0;
  }
};
TENON_OPERATOR(reads_past_end, ReadsPastEnd)
