// Operators of the same name from two vendors, and from an application and the host, in calls,
// graphs and files.
#include <doctest/doctest.h>

#include <tenon/host/graph_info.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/udf.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "run/vectors.hpp"

using namespace tenon;

namespace {

/// x + N: each vendor's rope adds its own number.
template <int N>
struct NamedShift : Elementwise {
  template <class T>
  T operator()(T x) const {
    return x + N;
  }
};
struct AcmeRope : NamedShift<1> {
  static constexpr void describe(auto& op) {
    op.doc("x + 1"), op.space("acme"), op.input("x", "any shape"), op.output("y", "the shape of x");
  }
};
struct BetaRope : NamedShift<2> {
  static constexpr void describe(auto& op) {
    op.doc("x + 2"), op.space("beta"), op.input("x", "any shape"), op.output("y", "the shape of x");
  }
};
/// Has the name of a host operator, but computes something else.
struct StopGradient : NamedShift<100> {
  static constexpr void describe(auto& op) {
    op.doc("x + 100"), op.input("x", "any shape"), op.output("y", "the shape of x");
  }
};
struct ClaimsTenon : NamedShift<3> {
  static constexpr void describe(auto& op) {
    op.doc("x + 3"), op.space("tenon"), op.input("x", "any shape"),
        op.output("y", "the shape of x");
  }
};
/// Its gradient calls rope by the short name, which means the one of its own namespace.
struct Twist : NamedShift<0> {
  static constexpr void describe(auto& op) {
    op.doc("x"), op.space("acme"), op.input("x", "any shape"), op.output("y", "the shape of x");
  }
  void gradient(Gradient& g) const { g.set_input_grad(0, g.add("rope", {g.output_grad(0)})); }
};

HostOptions quiet(std::vector<std::string>* warnings = nullptr) {
  HostOptions options;
  options.threads = 1;
  options.search_defaults = false;
  if (warnings != nullptr)
    options.warn = [warnings](const std::string& what) { warnings->push_back(what); };
  return options;
}

const Tensor ten = Tensor::from({10.F}, {1});

}  // namespace

TEST_CASE("two vendors' operators of one name: the full name decides, or a preference") {
  Host host(quiet());
  CHECK(host.add<AcmeRope>("rope") == "acme.rope");
  CHECK(first_of(host.call("rope", {ten})) == 11);
  CHECK(host.add<BetaRope>("rope") == "beta.rope");
  CHECK(first_of(host.call("acme.rope", {ten})) == 11);
  CHECK(first_of(host.call("beta.rope", {ten})) == 12);
  CHECK(first_of(host.call_all("beta.rope", {ten})[0]) == 12);
  CHECK(first_of(host.prepare("beta.rope", {Argument::like(ten)})(std::vector{ten})) == 12);
  Graph graph(host);
  for (const auto& failure : {failure_of([&] { host.call("rope", {ten}); }),
                              failure_of([&] { graph.add("rope", {graph.constant("c", ten)}); })}) {
    CHECK(failure.kind == 3);
    check_says(failure.message, {"operator 'rope' cannot be used", "acme.rope of the application",
                                 "beta.rope of the application"});
    check_says(failure.hint, {"use the full name", "'acme'"});
  }
  const auto catalog = host.catalog();
  CHECK(catalog.find("rope") == nullptr);
  CHECK(catalog.find("beta.rope")->full_name() == "beta.rope");
  CHECK(catalog.shortest_name(*catalog.find("acme.rope")) == "acme.rope");
  CHECK(catalog.near("acne.rope") == std::vector<std::string>{"acme.rope"});
  CHECK(catalog.near("gama.rope").empty());  // another vendor's
  CHECK(catalog.near("acm.rop").empty());
  CHECK(catalog.near("acme.rop") == std::vector<std::string>{"acme.rope"});
  CHECK(failure_of([&] { host.call("gama.rope", {ten}); }).hint == "add the folder of its plugin");

  auto options = quiet();
  options.prefer = {"nobody", "beta"};
  Host prefers(options);
  prefers.add<AcmeRope>("rope");
  prefers.add<BetaRope>("rope");
  CHECK(first_of(prefers.call("rope", {ten})) == 12);
  CHECK(first_of(prefers.call("acme.rope", {ten})) == 11);
}

TEST_CASE("a graph stores its operators' full names, in files and texts") {
  Host host(quiet());
  host.add<AcmeRope>("rope");
  Graph graph(host);
  const auto x = graph.input("x", f32, {1});
  const auto one = graph.add("rope", {x});  // the name is unambiguous here
  host.add<BetaRope>("rope");
  graph.output("one", one);
  graph.output("two", graph.add("beta.rope", {x}));
  CHECK(graph.nodes()[0].name == "rope");
  CHECK(graph.nodes()[0].op == "acme.rope");
  CHECK(graph.nodes()[1].name == "rope_1");
  CHECK(graph.operators()[1].full_name() == "beta.rope");
  const auto bytes = graph.to_bytes();
  const auto text = graph.to_json();
  CHECK(text.find(R"("op": "acme.rope")") != std::string::npos);
  CHECK(text.find(R"("op": "beta.rope")") != std::string::npos);

  auto options = quiet();
  options.prefer = {"beta"};  // does not affect the graph
  Host other(options);
  other.add<BetaRope>("rope");
  other.add<AcmeRope>("rope");
  for (auto& loaded : {Graph::from_bytes(other, bytes), Graph::from_json(other, text)}) {
    auto made = Session(loaded).run({{"x", ten}});
    CHECK(first_of(made.at("one")) == 11);
    CHECK(first_of(made.at("two")) == 12);
    CHECK(loaded.to_json() == text);
  }

  // Both authors declared their namespaces: neither operator replaces the other.
  Host beta_only(quiet());
  beta_only.add<BetaRope>("rope");
  auto failure = failure_of([&] { Session(Graph::from_bytes(beta_only, bytes)); });
  CHECK(failure.kind == 3);
  check_says(failure.message, {"no plugin has the operator 'acme.rope'",
                               "version 1 of the application that built the graph", "node 'rope'"});
  CHECK(failure.hint ==
        "add the folder of its plugin");  // another author's operator is not a misspelling of it
  failure = failure_of([&] { Graph::from_json(beta_only, text); });
  CHECK(failure.kind == 3);
  CHECK(failure.hint ==
        "add the folder of its plugin");  // another author's operator is not a misspelling of it
}

TEST_CASE("an application's operator and the host's own of the same name") {
  Host host(quiet());
  CHECK(host.add<StopGradient>() == "app.stop_gradient");
  CHECK(first_of(host.call("stop_gradient", {ten})) == 10);
  CHECK(first_of(host.call("tenon.stop_gradient", {ten})) == 10);
  CHECK(first_of(host.call("app.stop_gradient", {ten})) == 110);
  Graph graph(host);
  const auto x = graph.input("x", f32, {1});
  graph.output("mine", graph.udf(StopGradient(), {x}));
  graph.output("short", graph.add("stop_gradient", {x}));
  graph.output("host's", graph.stop_gradient(x));
  const auto made = Session(graph).run({{"x", ten}});
  CHECK(first_of(made.at("mine")) == 110);
  CHECK(first_of(made.at("short")) == 10);
  CHECK(first_of(made.at("host's")) == 10);
  // Without the class, Tenon's operator does not replace it.
  Host bare(quiet());
  CHECK(failure_of([&] {
          Session(Graph::from_bytes(bare, graph.to_bytes()));
        }).message.find("no plugin has the operator 'app.stop_gradient'") == 0);
  const auto failure = failure_of([&] { host.add<ClaimsTenon>("fill_like"); });
  CHECK(failure.kind == 2);
  check_says(failure.message,
             {"operator 'tenon.fill_like' cannot be added", "namespace 'tenon' is reserved"});
}

TEST_CASE("an author's short names refer to their own namespace") {
  auto options = quiet();
  options.prefer = {"beta"};
  Host host(options);
  host.add<BetaRope>("rope");
  host.add<AcmeRope>("rope");
  host.add<Twist>();
  Graph graph(host);
  const auto x = graph.input("x", f32, {1});
  graph.output("dx", graph.gradient(graph.add("twist", {x}), {x})[0]);
  CHECK(first_of(Session(graph).run({{"x", ten}}).at("dx")) == 2);  // 1 + acme's 1
}

TEST_CASE("invalid operator names") {
  Host host(quiet());
  host.add<AcmeRope>("rope");
  for (const std::string name : {".rope", "rope.", "acme..rope", "acme.rope.", "a.acme.rope", "",
                                 ".", "acme.ro\npe", "acme.\x1b[31mrope"}) {
    CAPTURE(name);
    const auto failure = failure_of([&] { host.call(name, {ten}); });
    CHECK(failure.kind == 3);
    CHECK(failure.message.find("cannot exist: a name is NAME or SPACE.NAME") != std::string::npos);
    for (const char c : failure.message) CHECK(c >= ' ');
  }
  for (const auto& name : {std::string(1 << 20, 'a'), "acme." + std::string(1 << 20, 'a'),
                           std::string(1 << 20, '.')}) {
    const auto failure = failure_of([&] { host.call(name, {ten}); });
    CHECK(failure.kind == 3);
    CHECK(failure.message.size() < 200);
  }
}
