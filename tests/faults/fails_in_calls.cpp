// Operators whose calls crash, hang or fail.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "doubling.hpp"

struct DiesWhenEmpty : Doubling {
  void forward(const tenon::Call& call) const {
    if (call.input<float>(0).size() == 0) std::raise(SIGFPE);
    write(call, call.input<float>(0).size());
  }
};
TENON_OPERATOR(dies_when_empty, DiesWhenEmpty)

// Crashes when called in place after a call with float64: one check affects a later one in the same
// process.
struct RemembersDtype : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.inplace("x", "y");
  }
  void forward(const tenon::Call& call) const {
    static bool had_f64 = false;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      if constexpr (sizeof(T) == 8) had_f64 = true;
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      if (had_f64 && x.size() > 0 && x.data() == y.data()) std::raise(SIGABRT);
      for (std::int64_t i = 0; i < x.size(); ++i) y.data()[i] = x.data()[i] + x.data()[i];
    });
  }
};
TENON_OPERATOR(remembers_dtype, RemembersDtype)

// infer() crashes for a parameter value that it allows.

struct Divides : tenon::Operator {
  std::int32_t parts = 1;

  static constexpr void describe(auto& op) {
    op.doc("the first part of a vector");
    op.input("x", "[n]");
    op.output("y", "[n / parts]");
    op.param("parts", &Divides::parts, "number of parts").at_least(0);  // also allows 0
    op.types({tenon::f32});
  }
  void infer(tenon::Infer& io) const {
    const auto shape = io.input("x").shape;
    if (!shape.has_rank()) return;
    io.require(shape.rank() == 1, "x is ", shape, " but needs [n]");
    const volatile std::int32_t divisor = parts;
    io.set_output("y", {shape[0] == tenon::unknown ? tenon::unknown : shape[0] / divisor});
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i];
  }
};
TENON_OPERATOR(divides_by_parameter, Divides)

static void tell(int) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, "outlived\n", 9);
  ::_exit(1);
}

/// Nor does what it starts; both announce themselves after a while. If a signal is named, it goes
/// to the process that started this one.
struct NeverEnds : Doubling {
  void forward(const tenon::Call&) const {
    const auto starter = ::getppid();
    const auto copy = ::fork();
    std::signal(SIGALRM, tell);
    ::alarm(30);
    const char* number = std::getenv("TENON_FAULT_SIGNAL");
    if (copy != 0 && number != nullptr) {
      ::usleep(100'000);  // so that the starter can write its findings
      ::kill(starter, std::atoi(number));
    }
    for (volatile bool on = true; on;) continue;
  }
};
TENON_OPERATOR(never_ends, NeverEnds)

struct DrivesTerminal : Doubling {
  void forward(const tenon::Call&) const {
    throw tenon::Error("\x1b[2J\x1b]0;title\x07\r\nerror: forged\nhint: \xff\u202e\u009b");
  }
};
TENON_OPERATOR(drives_terminal, DrivesTerminal)
