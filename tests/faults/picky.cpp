// Valid, but its accepted inputs cannot be guessed.
#include <tenon/operator.hpp>

struct Picky : tenon::Operator {
  int level = 1;
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32});
    op.input("x", "[rows, a prime number of columns]");
    op.input("which", "[2], the numbers 5 and 2").types({tenon::i32});
    op.output("y", "same shape as x");
    op.param("level", &Picky::level, "41 for some primes").at_least(1);
  }
  void infer(tenon::Infer& io) const {
    const auto x = io.input("x").shape;
    io.require(!x.known() || (x.rank() == 2 && x[1] == 97), "x is ", x,
               ", which has too few columns");
    io.set_input("which", {2});
    io.require(level == 41, "the level is too low");
    io.set_output(0, x);
  }
  void forward(const tenon::Call& call) const {
    const auto which = call.input<std::int32_t>("which");
    if (which[0] != 5 || which[1] != 2)
      tenon::fail(tenon::ErrorKind::failed, {"which is not 5 and 2"});
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0).data()[i] = 2 * call.input<float>(0).data()[i];
  }
};
TENON_OPERATOR(picky, Picky)
