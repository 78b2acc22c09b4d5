// An operator's forward on channels-last tensors against plain ones.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plugins/check.hpp"

/// Input 0 and output 0 are channels-last. The results differ by at most `tolerance` * (1 +
/// |plain|), and have the same bits on 1 to 3 threads.
inline void check_channels_last(const Case& test, double tolerance) {
  INFO(test.op, " of ", test.name);
  PluginOperator op(test.plugin, test.op, test.attributes);
  const auto run = [&](int threads, bool last) {
    auto states = op.make_states(test.inputs);
    for (auto& state : states) {
      auto values = random_doubles(state.type().shape, 9);
      for (auto& value : values.values) value = value * value + 0.1;
      state = Array(state.type().dtype, values);
    }
    PluginOperator::Mode mode{false, threads};
    if (last) mode.channels_last_inputs = {0}, mode.channels_last_output = true;
    return op.forward(test.inputs, states, mode)[0];
  };
  const auto found = run(1, true);
  const auto doubles = found.doubles(), plain = run(1, false).doubles();
  double worst = 0;
  for (std::int64_t i = 0; i < plain.size(); ++i) {
    const auto difference = std::abs(doubles[i] - plain[i]) / (1 + std::abs(plain[i]));
    worst = difference <= worst ? worst : difference;  // also true for nan
  }
  CHECK(worst <= tolerance);
  for (const int threads : {2, 3}) CHECK(run(threads, true).same_bits(found));
}
