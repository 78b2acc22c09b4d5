// Operators that access elements that they must not access.
#include "doubling.hpp"

struct WritesPastEnd : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    call.output<float>(0).data()[call.input<float>(0).size()] = 0;
  }
};
TENON_OPERATOR(writes_past_end, WritesPastEnd)

struct WritesBeforeStart : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    call.output<float>(0).data()[-1] = 0;
  }
};
TENON_OPERATOR(writes_before_start, WritesBeforeStart)

struct ReadsPastEnd : Doubling {
  void forward(const tenon::Call& call) const {
    const volatile float* const x = call.input<float>(0).data();
    const float behind = x[call.input<float>(0).size()];
    write(call, call.input<float>(0).size());
    if (behind == 12345) call.output<float>(0).data()[0] += 0;
  }
};
TENON_OPERATOR(reads_past_end, ReadsPastEnd)

struct LeavesHoles : Doubling {
  // The hole itself is reproducible if nothing else was in the memory.
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size() - 1); }
};
TENON_OPERATOR(leaves_holes, LeavesHoles)

struct ChangesInput : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    if (call.input<float>(0).size() > 0) const_cast<float*>(call.input<float>(0).data())[0] = 7;
  }
};
TENON_OPERATOR(changes_input, ChangesInput)
