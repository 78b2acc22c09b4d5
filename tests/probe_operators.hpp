// Operators that tests of several folders observe, hold or derive their own from. They need only
// the SDK; a test registers those that it uses, under any name: host.add<probes::Copy>("held").
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <tenon/elementwise.hpp>
#include <tenon/operator.hpp>
#include <thread>
#include <utility>

namespace probes {

/// y = x, with a gradient. A test may observe, fail or hold its calls; only one test at a time.
struct Copy : tenon::Operator {
  /// Each call of forward ends with it, from the thread that runs the kernel. May throw.
  static inline std::function<void(const tenon::Call&)> during;
  static inline std::atomic<bool> begun = false, released = false;

  /// Sets `during` until the end of the scope.
  struct [[nodiscard]] During {
    explicit During(std::function<void(const tenon::Call&)> callback) {
      during = std::move(callback);
    }
    ~During() { during = nullptr; }
    During(const During&) = delete;
    During& operator=(const During&) = delete;
  };

  static constexpr void describe(auto& op) {
    op.doc("x");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(const tenon::Call& call) const {
    std::ranges::copy(call.input<float>(0), call.output<float>(0).begin());
    if (during) during(call);
  }
  void backward(const tenon::Call& call) const {
    std::ranges::copy(call.output_grad<float>(0), call.input_grad<float>(0).begin());
  }

  /// Reports that a call has begun and returns after the test releases it.
  static void wait() {
    begun = true;
    while (!released) std::this_thread::yield();
  }
  /// Runs `work` in a thread of its own, and `meanwhile` while its call of forward waits.
  template <class Work, class Meanwhile>
  static void hold(const Work& work, const Meanwhile& meanwhile) {
    const During waiting([](const tenon::Call&) { wait(); });
    begun = released = false;
    std::thread other(work);
    while (!begun) std::this_thread::yield();
    meanwhile();
    released = true;
    other.join();
  }
};

/// y = factor * x + offset, with a gradient.
struct Line : Copy {
  double factor = 1, offset = 0;

  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.param("factor", &Line::factor, "slope");
    op.param("offset", &Line::offset, "constant");
  }
  void forward(const tenon::Call& call) const {
    std::ranges::transform(call.input<float>(0), call.output<float>(0).begin(),
                           [this](float x) { return static_cast<float>(factor * x + offset); });
    if (during) during(call);
  }
  void backward(const tenon::Call& call) const {
    std::ranges::transform(call.output_grad<float>(0), call.input_grad<float>(0).begin(),
                           [this](float dy) { return static_cast<float>(factor) * dy; });
  }
};

/// x + y, broadcast.
struct Plus : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x + y");
    op.input("x", "any shape");
    op.input("y", "any shape that broadcasts with x");
    op.output("sum", "both broadcast");
  }
  template <class T>
  TENON_FN T operator()(T x, T y) const {
    return x + y;
  }
};

/// 7, without inputs.
struct Seven : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("7");
    op.types({tenon::f32});
    op.output("seven", "[1]");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, {1}); }
  void forward(const tenon::Call& call) const { call.output<float>(0)[0] = 7; }
};

/// The elements above 0: the kernel determines the size of its output.
struct AboveZero : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("the elements above 0");
    op.types({tenon::f32});
    op.input("x", "[n]");
    op.output("values", "[count]").allocated();
  }
  void infer(tenon::Infer& io) const { io.set_output(0, {tenon::unknown}); }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto is_above = [](float each) { return each > 0; };
    std::ranges::copy_if(x, call.allocate<float>(0, {std::ranges::count_if(x, is_above)}).begin(),
                         is_above);
  }
};

/// x in another shape: the values of an input determine the size of the output.
struct ReshapeTo : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x in another shape");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.input("shape", "[rank]").types({tenon::i64});
    op.output("y", "of this shape");
    op.backward_reads();
  }
  void infer(tenon::Infer& io) const {
    io.set_input("shape", {tenon::unknown});
    const auto sizes = io.values<std::int64_t>("shape");
    if (sizes) io.set_output(0, tenon::Shape(sizes.begin(), static_cast<int>(sizes.size())));
  }
  void forward(const tenon::Call& call) const {
    std::ranges::copy(call.input<float>(0), call.output<float>(0).begin());
  }
  void backward(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none)
      std::ranges::copy(call.output_grad<float>(0), call.input_grad<float>(0).begin());
  }
};

/// x, several times: each size follows from an input and a constant.
struct Repeated : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x, several times");
    op.types({tenon::f32});
    op.input("x", "[n]");
    op.input("times", "[1]").types({tenon::i64});
    op.output("y", "[n * times]");
    op.backward_reads();
  }
  void infer(tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    const auto times = io.values<std::int64_t>("times");
    io.set_output(0, {times && x.known() ? x[0] * times[0] : tenon::unknown});
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i % x.size()];
  }
};

}  // namespace probes
