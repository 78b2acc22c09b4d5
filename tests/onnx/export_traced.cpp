// Export of elementwise operators as functions of ONNX operators, traced from the author's
// function: a host without the plugin computes the same.
#include <doctest/doctest.h>

#include <array>
#include <set>
#include <tenon/host/onnx.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/host/udf.hpp>

#include "../built.hpp"
#include "../temporary_folder.hpp"
#include "onnx/model.hpp"

namespace traced_tests {
namespace {

using tenon::Tensor;
using Texts = std::vector<std::string>;
using Inputs = std::map<std::string, Tensor>;

struct TracedHost {
  explicit TracedHost(const tenon::HostOptions& how = {}) : host(options(how)) {
    host.add_plugins(built("plugins"));
  }
  static tenon::HostOptions options(tenon::HostOptions options) {
    options.search_defaults = false;
    return options;
  }
  void save(const tenon::Graph& graph) {
    tenon::onnx::ExportOptions options;
    options.note = [this](const std::string& text) { notes.push_back(text); };
    tenon::onnx::save(graph, path, options);
  }
  /// From its nodes and functions, not from the embedded graph.
  tenon::Graph import(tenon::Host& by) const {
    tenon::onnx::ImportOptions options;
    options.prefer_functions = true;
    return tenon::onnx::load(by, path, options);
  }
  TemporaryFolder folder;
  std::filesystem::path path = folder / "net.onnx";
  Texts notes{};
  tenon::Host host;
};

struct OneInput : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("a function of x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
};
struct TwoInputs : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("a function of x and y");
    op.input("x", "any shape");
    op.input("y", "any shape");
    op.output("z", "both broadcast");
  }
};

/// Arithmetic, functions, literals of another type, an integer parameter, and a member computed by
/// configure().
struct Mixture : TwoInputs {
  float scale = 1.5F;
  std::int32_t terms = 3;
  double twice = 0;
  static constexpr void describe(auto& op) {
    TwoInputs::describe(op);
    op.param("scale", &Mixture::scale, "a factor");
    op.param("terms", &Mixture::terms, "how many");
  }
  void configure() { twice = 2.0 * scale; }
  template <class T>
  TENON_FN T operator()(T x, T y) const {
    T sum = 0;
    for (int i = 1; i <= terms; ++i) sum += pow(x, i) / T(i);
    sum *= 0.5;
    return scale * tanh(sum) * normal_cdf(y) - twice * expm1(x) + log1p(abs(y)) +
           min(max(x, -1), T(1)) - sqrt(exp(-x * x)) + rint(3 * x);
  }
};

/// Nested branches, a branch on a parameter, one with equal results, a conditional expression, and
/// common idioms for signs.
struct Bands : OneInput {
  bool mirrored = true;
  static constexpr void describe(auto& op) {
    OneInput::describe(op);
    op.param("mirrored", &Bands::mirrored, "whether it is so below 0");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    if (mirrored && x < 0) x = -x;
    T y = x > 0.5 ? 1 : x;
    if (x > T(0.1)) {
      if (!(x <= 1) || x == T(0.25)) y = 3 * y;
      y += 1;
    }
    y += T((x > T(0.3)) - (x < T(0.2)));
    return where((x > T(0.1)) & (x < T(0.7)), y, 2 * y);
  }
};

/// With float x, `x <= 0.1` compares in double, unlike `x <= 0.1F`.
struct Edge : OneInput {
  template <class T>
  TENON_FN T operator()(T x) const {
    return x <= 0.1 ? T(1) : T(2);
  }
};

/// Ignores y.
struct First : TwoInputs {
  template <class T>
  TENON_FN T operator()(T x, T) const {
    return x;
  }
};

struct Whole : OneInput {
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(static_cast<int>(x));
  }
};

struct Halved : OneInput {
  template <class T>
  TENON_FN T operator()(T x) const {
    while (x > 1) x = x / 2;
    return x;
  }
};

struct Crossroads : OneInput {
  template <class T>
  TENON_FN T operator()(T x) const {
    T y = 0;
    for (int i = 0; i < 7; ++i) y += x > T(i) ? exp(T(i)) : x;
    return y;
  }
};

struct Endless : OneInput {
  template <class T>
  TENON_FN T operator()(T x) const {
    for (int i = 0; i < 20000; ++i) x = sin(x);
    return x;
  }
};

struct OwnGradient : OneInput {
  template <class T>
  TENON_FN T operator()(T x) const {
    return x > 0 ? 1 : 0;
  }
  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return dy / (1 + x * x);
  }
};
struct OwnTraced : OwnGradient {
  static constexpr void describe(auto& op) {
    OneInput::describe(op);
    op.traced();
  }
};
struct Untraced : OneInput {
  static constexpr void describe(auto& op) {
    OneInput::describe(op);
    op.traced(false);
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x * x;
  }
};
struct Above : TwoInputs {
  static constexpr void describe(auto& op) {
    TwoInputs::describe(op);
    op.types(tenon::numeric);
    op.traced();
  }
  template <class T>
  TENON_FN bool operator()(T x, T y) const {
    return x > y;
  }
};
struct Silent : OneInput {
  template <class T>
  TENON_FN T operator()(T x) const noexcept {
    return x * x;
  }
};

/// Nonsense that a broken plugin may record.
struct Liar : tenon::Operator {
  std::int32_t lie = 0;
  mutable int calls = 0;
  static constexpr void describe(auto& op) {
    op.doc("x as it is");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("lie", &Liar::lie, "which");
    op.elementwise();
  }
  void forward(const tenon::Call& call) const {
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = call.input<float>(0)[i];
  }
  void trace(tenon_trace& io) const {
    const auto step = [&](std::int32_t failed) {
      if (failed != 0) throw tenon::Error(std::string(io.error->text));
    };
    const tenon_value known[] = {0, 0, 0}, unknown[] = {7};
    std::int32_t yes = 0;
    tenon_value value = 0, condition = 0;
    if (lie == 0) step(io.apply(&io, "magic", known, 1, &value));
    if (lie == 1) step(io.apply(&io, "add", known, 3, &value));
    if (lie == 2) step(io.apply(&io, nullptr, known, 1, &value));
    if (lie == 3) step(io.apply(&io, "exp", unknown, 1, &value));
    if (lie == 4) step(io.cast(&io, 300, 0, &value));
    if (lie == 5) step(io.decide(&io, 9, &yes));
    if (lie == 6) {
      step(io.apply(&io, calls++ == 0 ? "less" : "greater", known, 2, &condition));
      step(io.decide(&io, condition, &yes));
    }
    if (lie == 7) {
      step(io.decide(&io, 0, &yes));
      if (yes == 0) step(io.number(&io, TENON_F32, 1, &value));
    }
    if (lie == 8)
      step(io.number(&io, TENON_F64, 1, &value)),
          step(io.apply(&io, "add", std::array{tenon_value{0}, value}.data(), 2, &value));
    if (lie != 9) io.result = value;
  }
};

/// Elementwise, but none of its inputs has the dtype of the computation.
struct TypedLiar : Liar {
  static constexpr void describe(auto& op) {
    op.doc("x as it is");
    op.input("x", "any shape").types({tenon::f32});
    op.output("y", "same shape as x");
    op.elementwise();
  }
};

/// Numbers around all thresholds of the functions above.
Tensor interesting() {
  return Tensor::from({-2.0F, -0.75F, -0.3F, -0.0F, 0.0F, 1e-6F, 0.1F, 0.2F, 0.25F, 0.3F, 0.5F,
                       0.6F, 0.7F, 1.0F, 1.5F, 4.0F},
                      {16});
}

/// The operator's result, and that of its function on a host without the plugin.
struct Pair {
  Tensor kernel, function;
};
template <class Op>
Pair both(const Op& op, const Inputs& inputs, Texts* notes = nullptr) {
  TracedHost on, without;
  tenon::Graph graph(on.host);
  std::vector<tenon::Value> values;
  for (const auto& [name, tensor] : inputs)
    values.push_back(graph.input(name, tensor.dtype(), tensor.shape()));
  graph.output("result", graph.udf(op, values, "a"));
  on.save(graph);
  if (notes != nullptr)
    *notes = on.notes;
  else
    CHECK(on.notes == Texts{});
  const auto kernel = tenon::Session(graph).run(inputs).at("result");
  if (!on.notes.empty()) return {kernel, {}};
  return {kernel, tenon::Session(on.import(without.host)).run(inputs).at("result")};
}

template <class Op>
void check_function(const Op& op, const Inputs& inputs,
                    const tenon::CloseOptions& how = {
                        .rtol = 1e-5, .atol = 1e-6, .equal_nan = true}) {
  const auto [kernel, function] = both(op, inputs);
  CHECK(function.dtype() == kernel.dtype());
  CHECK(function.shape() == kernel.shape());
  CHECK(tenon::all_close(function, kernel, how));
}

template <class Op>
std::string note_of(const Op& op, tenon::DType dtype = tenon::f32) {
  Texts notes;
  both(op, {{"x", Tensor::zeros(dtype, {2})}}, &notes);
  REQUIRE(notes.size() == 1);
  return notes[0];
}

}  // namespace

TEST_CASE("traced functions: arithmetic and math functions, with parameters") {
  const auto x = interesting();
  const auto y = Tensor::from({-1.5F, 0.5F, 2.0F}, {3, 1});
  check_function(Mixture(), {{"x", x}, {"y", y}});
  Mixture other;
  other.scale = -0.5F, other.terms = 0;
  check_function(other, {{"x", x}, {"y", y}});
  const auto found = both(Mixture(), {{"x", Tensor::from({0.3F, -1.2F}, {2})},
                                      {"y", Tensor::from({0.7F, -0.4F}, {2})}})
                         .kernel;
  // computed by Python in float64
  CHECK(tenon::all_close(found, Tensor::from({0.024237213F, -3.3039522F}, {2}), {.rtol = 1e-6}));
}

TEST_CASE("traced functions: all ways through branches are traced and joined by Where") {
  const tenon::CloseOptions exactly{.rtol = 0, .atol = 0};
  Bands plain;
  plain.mirrored = false;
  check_function(Bands(), {{"x", interesting()}}, exactly);
  check_function(plain, {{"x", interesting()}}, exactly);
  check_function(Edge(), {{"x", interesting()}}, exactly);
}

TEST_CASE("traced functions: compute in the kernel's dtype and round once") {
  const tenon::CloseOptions exactly{.rtol = 0, .atol = 0};
  for (const auto dtype : {tenon::f16, tenon::bf16, tenon::f64}) {
    TracedHost on;
    const auto x =
        on.host.call("cast", {interesting()}, {{"dtype", std::string(tenon::name_of(dtype))}});
    check_function(Bands(), {{"x", x}}, exactly);
    check_function(
        Mixture(), {{"x", x}, {"y", x}},
        dtype == tenon::f64 ? tenon::CloseOptions{.rtol = 1e-13, .atol = 1e-15} : exactly);
  }
}

TEST_CASE("traced functions: the result has the broadcast shape of all inputs") {
  check_function(
      First(), {{"x", Tensor::from({1.0F, 2.0F}, {2, 1})}, {"y", Tensor::zeros(tenon::f32, {3})}});
  check_function(OwnTraced(), {{"x", interesting()}});
  check_function(Above(), {{"x", interesting()}, {"y", Tensor::from({0.25F}, {1})}});
}

TEST_CASE("traced functions: nodes with equal parameters and types share a function") {
  TracedHost on;
  tenon::Graph graph(on.host);
  const auto x = graph.input("x", tenon::f32, {3});
  on.host.add<Bands>();
  auto y = graph.add("bands", {graph.add("bands", {x})});
  graph.output("y", graph.add("bands", {y}, {{"mirrored", false}}));
  on.save(graph);
  const auto model = tenon::onnx::read_model(on.path);
  REQUIRE(model.functions.size() == 2);
  CHECK(model.functions[0].domain == "tenon.app");
  CHECK(model.functions[0].name == "bands");
  CHECK(model.functions[1].name == "bands_1");
  std::set<std::string_view> types;
  for (const auto& node : model.functions[0].nodes)
    types.insert(node.domain.empty() ? node.type : "custom");
  CHECK(types == std::set<std::string_view>{"Add", "And", "Cast", "Constant", "Equal", "Greater",
                                            "Less", "LessOrEqual", "Mul", "Neg", "Not", "Or",
                                            "Where"});
}

TEST_CASE("traced functions: without a trace there is no body, and a note with the reason") {
  const auto because = [](const std::string& name, const std::string& reason) {
    return "node 'a' is written as tenon.app::" + name +
           ", which other programs do not have; it has no function body, because " + reason;
  };
  CHECK(note_of(Whole()) == because("whole", "it converts a computed value to a plain C++ number"));
  CHECK(note_of(Halved()) == because("halved",
                                     "it has more than 256 branches in a row, such as a loop whose "
                                     "end depends on computed values"));
  CHECK(note_of(Crossroads()) ==
        because("crossroads", "it has more than 64 paths through its branches"));
  CHECK(note_of(Endless()) == because("endless", "it computes more than 10000 steps"));
  const std::string opt_in =
      "its class defines its own gradient, types or kernels, or its function is noexcept: see "
      "op.traced()";
  CHECK(note_of(OwnGradient()) == because("own_gradient", opt_in));
  CHECK(note_of(Untraced()) == because("untraced", opt_in));
  CHECK(note_of(Silent()) == because("silent", opt_in));
}

#if defined(__x86_64__)
TEST_CASE("traced functions: plugins of 0.1.0 and isolated plugins have no body") {
  for (const bool isolated : {false, true}) {
    tenon::HostOptions how;
    how.trust_writable = true;
    how.isolate.all = isolated;
    TracedHost on(how);
    on.host.add_plugins(std::filesystem::path(TENON_TEST_DATA) / "v0.1.0");
    tenon::Graph graph(on.host);
    graph.output("y",
                 graph.add("quadratic.quadratic", {graph.input("x", tenon::f32, {2})}, {}, "a"));
    on.save(graph);
    const std::string reason = isolated ? "runs in a worker process"
                                        : "was built with an SDK that does not support tracing";
    CHECK(on.notes == Texts{"node 'a' is written as tenon.quadratic::quadratic, which other "
                            "programs do not have; it has no function body, because "
                            "its plugin " +
                            reason});
  }
}
#endif

TEST_CASE("traced functions: a plugin that records nonsense has no body") {
  const char* const reasons[] = {"it calls 'magic' with 1 operands",
                                 "it calls 'add' with 3 operands",
                                 "it calls '' with 1 operands",
                                 "it uses a value that was not passed to it",
                                 "it computes in a type that tensors do not have",
                                 "it branches on a value that was not passed to it",
                                 "it is not deterministic",
                                 "",
                                 "",
                                 "it returns a value that was not passed to it"};
  for (std::int32_t lie = 0; lie < 10; ++lie) {
    CAPTURE(lie);
    Liar liar;
    liar.lie = lie;
    const auto note = note_of(liar);
    CHECK(note.find("other programs do not have; it has no function body, because ") !=
          std::string::npos);
    CHECK(note.ends_with(reasons[lie]));
  }
  CHECK(
      note_of(TypedLiar()).ends_with("because it is not a function of one element of each input"));
}

}  // namespace traced_tests
