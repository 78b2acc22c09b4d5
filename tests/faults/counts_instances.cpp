#include <atomic>

#include "doubling.hpp"

static std::atomic<int> instances = 0;

struct CountsInstances : Doubling {
  int number = 0;
  constexpr void configure() {
    if (!std::is_constant_evaluated()) number = instances++;
  }
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    if (call.input<float>(0).size() > 0)
      call.output<float>(0).data()[0] = static_cast<float>(number);
  }
};
TENON_OPERATOR(counts_instances, CountsInstances)
