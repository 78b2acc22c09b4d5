// An operator with a parameter of each kind, and a host that has it.
#pragma once
#include <tenon/host/udf.hpp>

#include "../application_host.hpp"

enum class Mode { soft, hard };

/// A parameter of each kind, any number of inputs.
struct Odd : tenon::Operator {
  bool flag = false;
  std::int32_t small = 0;
  std::int64_t whole = 0;
  float single = 0.5F;
  double real = 0;
  tenon::Text words = "none";
  tenon::Ints wholes = {1, 2};
  tenon::Floats reals = {0.5};
  Mode mode = Mode::soft;

  static constexpr void describe(auto& op) {
    op.doc("has a parameter of each kind");
    op.types(tenon::floating);
    op.input("data", "anything").variadic();
    op.output("output", "like the first input");
    op.output("extra", "like the first input");
    op.param("flag", &Odd::flag, "a flag");
    op.param("small", &Odd::small, "32 bits");
    op.param("whole", &Odd::whole, "64 bits");
    op.param("single", &Odd::single, "a float");
    op.param("real", &Odd::real, "a double");
    op.param("words", &Odd::words, "a text");
    op.param("wholes", &Odd::wholes, "integers");
    op.param("reals", &Odd::reals, "numbers");
    op.param("mode", &Odd::mode, "a choice").one_of({{"soft", Mode::soft}, {"hard", Mode::hard}});
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_output(1, io.input(0).shape);
  }
  void forward(const tenon::Call&) const {}
};

struct JsonHost : ApplicationHost {
  JsonHost() { add<Odd>(); }
};
