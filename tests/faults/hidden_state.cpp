// Operators whose results depend on more than their inputs and parameters.
#include <atomic>
#include <thread>

#include "doubling.hpp"

struct DependsOnThreads : Doubling {
  void forward(const tenon::Call& call) const {
    write(call, call.input<float>(0).size());
    if (call.input<float>(0).size() > 0)
      call.output<float>(0).data()[0] += static_cast<float>(call.raw().threads);
  }
};
TENON_OPERATOR(depends_on_threads, DependsOnThreads)

static std::atomic<float> shared[512];

struct SharesState : Doubling {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    const std::int64_t count = x.size() < 512 ? x.size() : 512;
    write(call, x.size());
    for (std::int64_t i = 0; i < count; ++i) shared[i] = 2 * x.data()[i];
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    for (std::int64_t i = 0; i < count; ++i) y.data()[i] = shared[i];
  }
};
TENON_OPERATOR(shares_state, SharesState)

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
