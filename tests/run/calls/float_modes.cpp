// Plugins that leave floating-point modes changed: all other code computes as before, and one
// warning names them.
#include "device/float_modes.hpp"

#include <doctest/doctest.h>
#include <fenv.h>

#include <filesystem>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "application_host.hpp"
#include "built.hpp"
#include "probe_operators.hpp"
#include "temporary_folder.hpp"

namespace {

using tenon::Graph;
using tenon::Tensor;

/// Rounds upward from one of its functions on.
struct Careless : tenon::Operator {
  std::int64_t place = 0;
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.param("place", &Careless::place, "the function from which it rounds upward");
  }
  void leave(std::int64_t here) const {
    if (place == here) fesetround(FE_UPWARD);
  }
  void configure() { leave(1); }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    leave(2);
  }
  std::size_t workspace(const tenon::Infer&) const {
    leave(3);
    return 64;
  }
  void forward(const tenon::Call& call) const {
    twice(call, call.input<float>(0), call.output<float>(0));
    leave(4);
  }
  void backward(const tenon::Call& call) const {
    twice(call, call.output_grad<float>(0), call.input_grad<float>(0));
    leave(5);
  }

 private:
  template <class From, class To>
  void twice(const tenon::Call& call, const From& from, To to) const {
    call.parallel_for(to.size(), 64, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) to[i] = 2 * from[i];
      leave(6);
    });
  }
};

/// The rounding mode seen by each chunk of a loop.
struct Rounding : probes::Copy {
  void forward(const tenon::Call& call) const {
    auto mode = call.output<float>(0);
    call.parallel_for(mode.size(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) mode[i] = static_cast<float>(fegetround());
    });
  }
};

struct Warned {
  TemporaryFolder cache;
  std::vector<std::string> warnings;
  ApplicationHost host;

  explicit Warned(int threads) : host(options(threads)) {
    host.add<Careless>("careless");
    host.add<Rounding>("rounding");
  }
  void add_fault(const std::string& name) {
    host.add_plugins(built("faults") + "/" + name + ".so");
  }

  /// Exactly one warning, with this text.
  void check_one(const std::string& words) {
    REQUIRE(warnings.size() == 1);
    CAPTURE(warnings[0]);
    CHECK(warnings[0].find(words) != std::string::npos);
  }

 private:
  tenon::HostOptions options(int threads) {
    auto options = ApplicationHost::options(threads, warnings);
    options.trust_writable = true;
    options.cache = cache.path();
    return options;
  }
};

constexpr float tiny = 1e-40F;  // subnormal

Tensor filled(float value, std::int64_t count = 1000) {
  return Tensor::from(std::vector<float>(static_cast<std::size_t>(count), value), {count});
}

bool all_are(const Tensor& tensor, float value) {
  for (const auto element : tensor.values<float>())
    if (element != value) return false;
  return true;
}

/// Sums that differ if subnormals are flushed or rounding is changed, and that trap.
void check_sums(tenon::Host& host) {
  CHECK(all_are(host.call("test_add", {filled(tiny), filled(tiny)}), 2 * tiny));
  CHECK(all_are(host.call("test_add", {filled(1), filled(1e-9F)}), 1));
  CHECK(fegetround() == FE_TONEAREST);
  CHECK(fegetexcept() == 0);
  volatile long double one = 1;
  CHECK(one + one == 2);
}

/// Checks these sums after an operator in one graph.
void check_session(tenon::Host& host, const std::string& op,
                   const tenon::Attributes& attributes = {}) {
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {-1}), y = graph.input("y", tenon::f32, {-1});
  graph.output("faulty", graph.add(op, {x}, attributes));
  graph.output("sum", graph.add("test_add", {x, y}));
  tenon::Session session(graph);
  for (int i = 0; i < 2; ++i) {
    CHECK(all_are(session.run({{"x", filled(tiny)}, {"y", filled(tiny)}}).at("sum"), 2 * tiny));
    CHECK(all_are(session.run({{"x", filled(1)}, {"y", filled(1e-9F)}}).at("sum"), 1));
  }
  tenon::SessionOptions traced;
  const TemporaryFolder folder;
  traced.trace = folder / "trace.json";
  CHECK(all_are(
      tenon::Session(graph, traced).run({{"x", filled(1)}, {"y", filled(1e-9F)}}).at("sum"), 1));
  CHECK(session.first_non_finite({{"x", filled(1)}, {"y", filled(1e-9F)}}).empty());
  CHECK(fegetround() == FE_TONEAREST);
}

}  // namespace

TEST_CASE("float modes: modes left changed by a plugin are restored") {
  struct Case {
    const char *plugin, *op, *words;
  };
  const Case cases[] = {
      {"flushes_to_zero", "flushes_to_zero",
       "flushes_to_zero.so changes floating-point modes when it is loaded (flush-to-zero is on, "
       "denormals-are-zero is on)"},
      {"changes_float_modes", "rounds_upward",
       "[rounds_upward] forward() leaves floating-point modes changed (rounding is upward"},
      {"changes_float_modes", "rounds_in_loop",
       "[rounds_in_loop] forward() leaves floating-point modes changed (in a parallel loop)"},
      {"changes_float_modes", "leaves_traps",
       "[leaves_traps] forward() leaves floating-point modes changed (the exception mask is"},
      {"changes_float_modes", "fills_x87_stack",
       "[fills_x87_stack] forward() leaves floating-point modes changed (the x87 stack is not "
       "empty)"},
  };
  for (const auto& [plugin, name, words] : cases)
    for (const int threads : {1, 4}) {
      const std::string op = name;
      CAPTURE(op);
      CAPTURE(threads);
      Warned eager(threads);
      eager.add_fault(plugin);
      for (int i = 0; i < 2; ++i) {
        CHECK(all_are(eager.host.call(op, {filled(3)}), 6));
        check_sums(eager.host);
      }
      eager.check_one(words);
      Warned session(threads);  // a loaded plugin is named to this host, too
      session.add_fault(plugin);
      check_session(session.host, op);
      session.check_one(words);
    }
}

#if defined(__x86_64__)
TEST_CASE("float modes: values left on the x87 stack are detected once and removed") {
  for (int count = 0; count <= 8; ++count) {
    CAPTURE(count);
    const auto before = tenon::FloatModes::now();
    for (int i = 0; i < count; ++i) asm volatile("fldz");
    const auto after = tenon::FloatModes::after_call();
    CHECK((after == before) == (count == 0));
    CHECK(tenon::FloatModes::after_call() == before);
    for (int i = 0; i < count; ++i) asm volatile("fldz");
    CHECK(tenon::FloatModes::now() == before);  // the next caller is not blamed
    CHECK(tenon::FloatModes::after_call() == before);
  }
}
#endif

TEST_CASE("float modes: modes left changed by any function of an operator are restored") {
  const char* functions[] = {"create()",  "infer()",    "workspace()",
                             "forward()", "backward()", "forward()"};
  for (std::int64_t place = 1; place <= 6; ++place)
    for (const int threads : {1, 4}) {
      CAPTURE(place);
      Warned warned(threads);
      const tenon::Attributes attributes{{"place", place}};
      Graph graph(warned.host);
      const auto x = graph.input("x", tenon::f32, {-1});
      const auto y = graph.add("careless", {x}, attributes);
      CHECK(fegetround() == FE_TONEAREST);
      graph.output("y", y);
      graph.output("dx", graph.gradient(y, {x})[0]);
      tenon::Session session(graph);
      CHECK(all_are(session.run({{"x", filled(1)}}).at("dx"), 2));
      CHECK(fegetround() == FE_TONEAREST);
      warned.check_one("[careless] " + std::string(functions[place - 1]) +
                       " leaves floating-point modes changed");
      if (place == 5) continue;
      Warned eager(threads);
      eager.host.call("careless", {filled(1)}, attributes);
      check_sums(eager.host);
      eager.check_one("[careless] " + std::string(functions[place - 1]));
    }
}

TEST_CASE("float modes: the application's own modes hold for kernels, on every thread") {
  for (const int threads : {1, 4}) {
    Warned warned(threads);
    CHECK(all_are(warned.host.call("rounding", {filled(0)}), FE_TONEAREST));  // starts the workers
    fesetround(FE_DOWNWARD);
    const auto eager = warned.host.call("rounding", {filled(0)});
    Graph graph(warned.host);
    graph.output("mode", graph.add("rounding", {graph.input("x", tenon::f32, {-1})}));
    const auto planned = tenon::Session(graph).run({{"x", filled(0)}}).at("mode");
    const int kept = fegetround();
    fesetround(FE_TONEAREST);
    CHECK(kept == FE_DOWNWARD);
    CHECK(all_are(eager, FE_DOWNWARD));
    CHECK(all_are(planned, FE_DOWNWARD));
    CHECK(all_are(warned.host.call("rounding", {filled(0)}), FE_TONEAREST));
    CHECK(warned.warnings.empty());
  }
}
