// Operators and a host for tests of runs that fail.
#pragma once
#include <algorithm>
#include <tenon/host/udf.hpp>

#include "../../application_host.hpp"
#include "../../probe_operators.hpp"

namespace failing_runs {

using namespace tenon;

/// x plus the number of runs, which it counts.
struct TallyRuns : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.state("runs", "[2]");
  }
  void infer(Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("runs", {2});
  }
  void forward(const Call& call) const {
    const auto runs = call.state<float>("runs");
    for (auto& each : runs) each += 1;
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = call.input<float>(0)[i] + runs[0];
  }
};

/// w + x, in place of w if nothing reads it later.
struct Drifts : Operator {
  static constexpr void describe(auto& op) {
    op.doc("w + x");
    op.types({f32});
    op.input("w", "[n]");
    op.input("x", "[n]");
    op.output("moved", "[n]");
    op.inplace("w", "moved");
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.output<float>(0).size(); ++i)
      call.output<float>(0)[i] = call.input<float>(0)[i] + call.input<float>(1)[i];
  }
};

/// A copy of x; accumulates into its output on request.
struct CopiesOrAdds : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.accumulates();
  }
  void infer(Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.output<float>(0).size(); ++i) {
      auto& y = call.output<float>(0)[i];
      y = call.input<float>(0)[i] + (call.write(0) == Write::add ? y : 0.0F);
    }
  }
};

/// A copy of x. Fails, or requests that the run stops, if x contains a given number.
struct RefusesOrStops : probes::Copy {
  static constexpr float fails = -1, stops = -2;
  static inline std::stop_source source;
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.state("seen", "[1]");
  }
  void infer(Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("seen", {1});
  }
  void forward(const Call& call) const {
    call.state<float>("seen")[0] = call.input<float>(0)[0];
    for (const float x : call.input<float>(0)) {
      if (x == fails) throw Error("it met ", x);
      if (x == stops) source.request_stop();
    }
    Copy::forward(call);
  }
};

/// A copy of x, which has an even number of elements.
struct EvenSized : probes::Copy {
  void infer(Infer& io) const {
    const auto x = io.input(0).shape;
    io.require(!x.known() || x[0] % 2 == 0, "x is ", x, " but needs an even number of elements");
    io.set_output(0, x);
  }
};

/// w * x with a weight of x's shape.
struct Weighted : Operator {
  static constexpr void describe(auto& op) {
    op.doc("w * x");
    op.types({f32});
    op.input("x", "[n]");
    op.input("w", "[n]").weight();
    op.output("y", "[n]");
  }
  void infer(Infer& io) const {
    io.set_input("w", io.input(0).shape);
    io.set_output(0, io.input(0).shape);
  }
  void forward(const Call& call) const {
    for (std::int64_t i = 0; i < call.output<float>(0).size(); ++i)
      call.output<float>(0)[i] = call.input<float>(0)[i] * call.input<float>(1)[i];
  }
};

struct FailingHost : ApplicationHost {
  explicit FailingHost(int threads = 1) : ApplicationHost(threads) {
    add<TallyRuns>("tally");
    add<Drifts>("drift");
    add<CopiesOrAdds>("copied");
    add<RefusesOrStops>("picky");
    add<probes::AboveZero>("positive");
    add<EvenSized>("even");
  }
};

}  // namespace failing_runs
