#include <doctest/doctest.h>

#include "../isolate/isolated_host.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"

using tenon::Tensor;

TEST_CASE("memory: a worker without a thread for a call reports it" * doctest::skip(sanitized)) {
  tenon::Isolation limits;
  limits.memory = 4 << 20;  // smaller than a thread's stack
  IsolatedHost isolated("plugins/tenon_elementwise.so", true, limits);
  const auto failure = failure_of([&] {
    isolated.host.call("gelu", {Tensor::from({1.0f, 2.0f}, {2})});
  });
  check_says(failure.message,
             {"worker process could not start more threads", "tenon_elementwise.so"});
}
