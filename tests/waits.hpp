// An operator whose call a test can hold.
#pragma once
#include <atomic>
#include <tenon/operator.hpp>
#include <thread>

/// Its call returns after `released` is set. Only one test at a time may use it.
struct Waits : tenon::Operator {
  static inline std::atomic<bool> begun = false, released = false;

  static constexpr void describe(auto& op) {
    op.doc("the input, after the test releases the call");
    op.types({tenon::f32});
    op.input("data", "any shape");
    op.output("same", "same shape as data");
  }
  void forward(const tenon::Call& call) const {
    begun = true;
    while (!released) std::this_thread::yield();
    call.output<float>(0)[0] = call.input<float>(0)[0];
  }

  /// Runs `held` in a thread of its own, and `meanwhile` while its call waits.
  template <class Held, class Meanwhile>
  static void hold(const Held& held, const Meanwhile& meanwhile) {
    begun = released = false;
    std::thread other(held);
    while (!begun) std::this_thread::yield();
    meanwhile();
    released = true;
    other.join();
  }
};
