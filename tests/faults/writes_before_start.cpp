#include "doubling.hpp"

struct WritesBeforeStart : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    call.output<float>(0).data()[-1] = 0;
  }
};
TENON_OPERATOR(writes_before_start, WritesBeforeStart)
