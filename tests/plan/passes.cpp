// Planning runs a list of passes over one draft: each can be run separately, and the graph is
// copied at most once.
#include "plan/passes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/session.hpp>

#include "plan/stages.hpp"
#include "plan_of.hpp"
#include "probe_operators.hpp"
#include "random_graph_host.hpp"

using tenon::Graph;
using tenon::Tensor;

namespace {

/// Prefers channels-last and doubles the data.
struct LayoutDouble : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice the data");
    op.types({tenon::f32});
    op.input("data", "[N, C, ...]");
    op.output("output", "the same shape as data");
    op.takes_strides();
    op.prefers_channels_last("data", "output");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
  }
};

/// The data; an optional input has a gradient, too.
struct Shifted : probes::Copy {
  static constexpr void describe(auto& op) {
    Copy::describe(op);
    op.input("offset", "same shape as x").optional();
  }
  void backward(const tenon::Call& call) const {
    for (const int i : {0, 1})
      if (call.write(i) != tenon::Write::none)
        std::ranges::copy(call.output_grad<float>(0), call.input_grad<float>(i).begin());
  }
};

struct PassHost : RandomGraphHost {
  PassHost() {
    add<LayoutDouble>("layout_double");
    add<probes::AboveZero>("positive");
    add<Shifted>();
  }
};

/// A row_sparse variable that is converted to dense, a node that prefers channels-last, and
/// elementwise nodes with enough elements to be fused.
Graph mixed_graph(tenon::Host& host) {
  Graph graph(host);
  const auto image = graph.input("image", tenon::f32, {1, 4, 3, 5});
  graph.output("layout", graph.add("layout_double", {image}, {}, "double"));
  const auto large = graph.input("large", tenon::f32, {1 << 18});
  graph.output("fused",
               graph.add("cosine", {graph.add("cosine", {large}, {}, "first")}, {}, "second"));
  const auto sparse = graph.variable(
      "sparse", cast_storage(Tensor::from({0.F, 2.F, 3.F, 0.F}, {4}), tenon::Storage::row_sparse));
  graph.output("dense", graph.add("mix", {sparse}, {{"size", 2}}, "mixed"));
  return graph;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const auto& pass : tenon::plan_passes) names.emplace_back(pass.name);
  return names;
}

std::int64_t count_of(const tenon::PlanInfo& plan, const std::string& pass,
                      const std::string& what) {
  for (const auto& each : plan.passes)
    if (each.name == pass)
      for (const auto& count : each.counts)
        if (count.what == what) return count.count;
  return -1;
}

}  // namespace

TEST_CASE("passes: README.md lists them in order") {
  std::ifstream file(TENON_TEST_SOURCE "/host/plan/README.md");
  std::vector<std::string> listed;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| pass |")) {
      inside = true;
    } else if (inside && !line.starts_with("| --- ")) {
      if (!line.starts_with("| ")) break;
      listed.push_back(line.substr(2, line.find(" |", 2) - 2));
    }
  }
  CHECK(listed == pass_names());
}

TEST_CASE("passes: each can be the last one, and leaves later results empty") {
  PassHost host;
  const Planned planned(mixed_graph(host));
  const auto at = [&](const char* last, auto check) { planned.up_to(last, check); };
  at("outputs", [](tenon::PlanDraft& draft) {
    CHECK(draft.model().outputs.size() == 3);
    CHECK(draft.graph().kernels.empty());
  });
  at("kernels", [](tenon::PlanDraft& draft) {
    CHECK(draft.graph().order.size() == draft.model().nodes.size());
    CHECK(draft.graph().devices.size() == draft.model().nodes.size());
    CHECK(draft.graph().conversions.empty());
  });
  at("lowering", [](tenon::PlanDraft& draft) {
    CHECK(draft.graph().conversions.size() == 1);
    CHECK(draft.graph().groups.empty());
  });
  at("layouts", [](tenon::PlanDraft& draft) {
    const auto is_last = [](const auto& type) { return type.layout == TENON_LAYOUT_CHANNELS_LAST; };
    CHECK(std::count_if(draft.types().begin(), draft.types().end(), is_last) == 2);
    CHECK(draft.graph().groups.empty());
  });
  at("elementwise fusion", [](tenon::PlanDraft& draft) {
    REQUIRE(draft.graph().groups.size() == 1);
    CHECK(draft.graph().groups[0].nodes.size() == 2);
    CHECK(draft.memory().order.empty());
  });
  at("order", [](tenon::PlanDraft& draft) {
    CHECK(draft.memory().order.size() ==
          6);  // two reorders, double, the fused nodes, a conversion, mix
    CHECK(draft.memory().root.empty());
  });
  at("lifetimes", [](tenon::PlanDraft& draft) {
    CHECK(draft.last_use.size() == draft.model().values.size());
    CHECK(draft.memory().buffers.empty());
  });
  at("buffers", [](tenon::PlanDraft& draft) {
    CHECK(draft.memory().writes.size() == 6);
    CHECK(!draft.memory().buffers.empty());
    CHECK(draft.memory().offsets.empty());
  });
  at("placement", [](tenon::PlanDraft& draft) {
    CHECK(draft.memory().offsets.size() == draft.memory().buffers.size());
    CHECK(draft.memory().bytes() >= draft.memory().lower_bound());
  });
}

TEST_CASE("passes: a plan copies its graph once, when a pass first changes it") {
  PassHost host;
  const Planned planned(mixed_graph(host));
  std::vector<std::string> copied;
  const tenon::GraphModel* last = nullptr;
  planned.each_pass([&](std::string_view pass, tenon::PlanDraft& draft) {
    if (last != nullptr && last != &draft.model()) copied.emplace_back(pass);
    last = &draft.model();
  });
  CHECK(copied == std::vector<std::string>{"lowering"});

  Graph plain(host);
  plain.output("y", plain.add("mix", {plain.input("x", tenon::f32, {4})}, {{"size", 2}}));
  const Planned unchanged(plain);
  unchanged.each_pass([&](std::string_view, tenon::PlanDraft& draft) {
    CHECK(&draft.model() == &model_of(plain));
  });
}

TEST_CASE(
    "passes: stages share the graph until a pass changes it; later ones have their own copy") {
  PassHost host;
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {4});
  const auto early = graph.add("mix", {x}, {{"size", 3}}, "early");
  graph.output("late", graph.add("mix", {graph.add("positive", {early}, {}, "positive"), early},
                                 {{"size", 2}}, "late"));
  graph.bind();
  const auto stage = std::make_shared<tenon::Stage>();
  stage->graph = impl_of(graph).current;
  const auto& model = model_of(graph);
  const auto tensors = tenon::tensors_of(model);
  auto inferred =
      tenon::infer_with(model, impl_of(graph).binding(), tensors, tenon::input_types(model, {}));
  const auto cut = tenon::cut(stage, inferred, false);
  REQUIRE(cut.later != nullptr);
  CHECK(cut.now->graph == stage->graph);
  CHECK(cut.later->graph != stage->graph);
  // early, and the output that the kernel of positive allocates
  CHECK(cut.now->subgraph->device_output_count == 2);
  const auto early_id = find_value(model, "early");
  const auto rest =
      tenon::without_evaluated(cut.now, {{early_id, Tensor::from({1.F, 2.F, 3.F}, {3})}});
  CHECK(rest->graph == stage->graph);

  const tenon::Kernels kernels(model, impl_of(graph).binding(),
                               impl_of(graph).plugins().load("cast_storage"), tenon::cpu_device());
  const tenon::PlanRequest request{.requested_outputs = rest->requested_outputs()};
  tenon::PlanDraft draft(rest->graph, kernels, tensors, inferred.types, request);
  tenon::run_passes(draft, "outputs");
  CHECK(model.values[early_id].role == tenon::Role::output);
  CHECK(draft.model().values[early_id].role == tenon::Role::input);
  std::vector<std::string> outputs;
  for (const auto& [name, value] : draft.model().outputs)
    outputs.emplace_back(draft.model().strings[name]);
  std::sort(outputs.begin(), outputs.end());
  CHECK(outputs == std::vector<std::string>{"\x1f"
                                            "early",
                                            "\x1f"
                                            "positive"});
}

TEST_CASE("passes: a plan describes what each did") {
  PassHost host;
  const auto plan = tenon::Session(mixed_graph(host)).plan({});
  std::vector<std::string> names;
  for (const auto& pass : plan.passes) names.push_back(pass.name);
  CHECK(names == pass_names());
  CHECK(count_of(plan, "outputs", "outputs") == 3);
  CHECK(count_of(plan, "kernels", "nodes") == 4);
  CHECK(count_of(plan, "lowering", "conversions") == 1);
  CHECK(count_of(plan, "layouts", "values") == 2);
  CHECK(count_of(plan, "layouts", "reorders") == 2);
  CHECK(count_of(plan, "layouts", "bytes") == plan.reordered_bytes());
  CHECK(count_of(plan, "elementwise fusion", "nodes") == 2);
  CHECK(count_of(plan, "elementwise fusion", "steps") == 1);
  CHECK(count_of(plan, "order", "steps") == static_cast<std::int64_t>(plan.steps.size()));
  CHECK(count_of(plan, "placement", "bytes") == plan.bytes());
  CHECK(count_of(plan, "packed constants", "bytes") == 0);
  const auto text = tenon::describe_passes(plan);
  CHECK(text.find("elementwise fusion: 2 nodes -> 1 step\n") != std::string::npos);
  CHECK(text.find("folded sums:        no change\n") != std::string::npos);
}

TEST_CASE("passes: workspaces are counted by the steps that need one") {
  PassHost host;
  Graph graph(host);
  const auto first =
      graph.add("mix", {graph.input("x", tenon::f32, {4})}, {{"size", 3}, {"scratch", 5}});
  const auto second = graph.add("mix", {first}, {{"size", 3}});
  graph.output("y", graph.add("mix", {second}, {{"size", 2}, {"scratch", 7}}));
  const auto plan = tenon::Session(graph).plan({});
  CHECK(count_of(plan, "workspaces", "workspaces") == 2);
  CHECK(count_of(plan, "workspaces", "bytes") == 48);
}

TEST_CASE("plans: a backward step lists the gradients of connected inputs") {
  PassHost host;
  for (const bool connected : {false, true}) {
    CAPTURE(connected);
    Graph graph(host);
    const auto x = graph.variable("x", Tensor::from({1.F, 2.F}, {2}));
    const auto offset = graph.variable("offset", Tensor::from({3.F, 4.F}, {2}));
    const auto y = connected ? graph.add("shifted", {x, offset}) : graph.add("shifted", {x});
    graph.output("dx", graph.gradient(graph.add("mix", {y}, {{"size", 1}}), {x})[0]);
    const auto plan = tenon::Session(graph).plan({});
    const auto step = std::find_if(plan.steps.begin(), plan.steps.end(),
                                   [](const auto& each) { return each.op == "shifted backward"; });
    REQUIRE(step != plan.steps.end());
    CHECK(step->outputs.size() == (connected ? 2 : 1));
  }
}

TEST_CASE(
    "passes: values of a fused group share the scratch slots of those that are not read again") {
  ApplicationHost host;
  host.add<probes::Plus>("plus");
  Graph graph(host);
  const auto x = graph.input("x", tenon::f32, {1 << 18});
  const auto first = graph.add("plus", {x, x}), second = graph.add("plus", {x, x});
  const auto both = graph.add("plus", {first, second});  // in place of one of them
  const auto third = graph.add("plus", {x, x});          // in the slot of the other one
  graph.output("y", graph.add("plus", {both, third}));
  Planned(graph).up_to("elementwise fusion", [](tenon::PlanDraft& draft) {
    REQUIRE(draft.graph().groups.size() == 1);
    CHECK(draft.graph().groups[0].nodes.size() == 5);
    CHECK(draft.graph().groups[0].scratch_slots == 2);
  });
}
