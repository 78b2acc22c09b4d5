// Graph files whose metadata contradicts the original graph, and a function that runs them. Needs
// the bundled plugins.
#pragma once
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tenon/host/failure.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "check/calls/guarded_memory.hpp"
#include "file/forged_file.hpp"
#include "graph/model.hpp"
#include "plan/plan.hpp"
#include "run/session/session_impl.hpp"

namespace forged {

using Ints = std::vector<std::int64_t>;
using tenon::Graph;
using tenon::Tensor;
using tenon::format::ModelT;

inline Tensor eighths(const tenon::Shape& shape) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<float>(i % 7) / 8);
  return Tensor::from(values, shape);
}

/// Data movement operators, on a constant and on an input.
inline Graph shapes(tenon::Host& host) {
  Graph graph(host);
  const auto table = graph.constant("table", eighths({8, 6})),
             x = graph.input("x", tenon::f32, {-1, 6});
  const auto both = graph.add("concat", {table, x}, {{"axis", 0}}, "both");
  const auto flat = graph.add("reshape", {both}, {{"shape", Ints{-1, 2, 3}}}, "flat");
  const auto turned = graph.add("transpose", {flat}, {{"axes", Ints{2, 0, 1}}}, "turned");
  const auto sections = graph.add("split", {turned}, {{"sections", 3}, {"axis", 0}}, "parts");
  const auto squeezed = graph.add("squeeze", {sections.output(1)}, {{"axis", Ints{0}}}, "squeezed");
  const auto piece =
      graph.add("slice", {squeezed}, {{"begin", Ints{1}}, {"end", Ints{5}}}, "piece");
  const auto wider = graph.add("expand_dims", {piece}, {{"axis", Ints{0}}}, "wider");
  const auto many = graph.add("broadcast_to", {wider}, {{"shape", Ints{3, 4, 2}}}, "many");
  const auto padded =
      graph.add("pad", {many}, {{"before", Ints{1, 0, 0}}, {"after", Ints{0, 2, 0}}}, "padded");
  graph.output("sum", graph.add("sum", {padded}, {{"axis", Ints{1}}}, "total"));
  graph.output("whole", graph.add("cast", {padded}, {{"dtype", "int32"}}, "whole"));
  graph.output("last", sections.output(2));
  return graph;
}

/// A training step: backward kernels, updates of variables in place and by copy, states.
inline Graph training(tenon::Host& host) {
  Graph graph(host);
  const auto image = graph.input("image", tenon::f32, {-1, 1, 6, 6}),
             label = graph.input("label", tenon::i64, {-1});
  const auto conv =
      graph.add("convolution", {image}, {{"num_filter", 2}, {"kernel", Ints{3, 3}}}, "conv");
  const auto norm = graph.add("batch_norm", {conv}, {}, "norm");
  const auto pool = graph.add("max_pool", {norm}, {{"kernel", Ints{2, 2}}}, "pool");
  const auto scores = graph.add("fully_connected", {pool}, {{"num_hidden", 3}}, "scores");
  const auto loss = graph.add("softmax_cross_entropy", {scores, label}, {}, "loss");
  const auto weight = graph.find("scores_weight"), filters = graph.find("conv_weight");
  const auto gradients = graph.gradient(loss, {weight, filters});
  const auto rate = graph.constant("rate", Tensor::from({0.1F}, tenon::Shape::scalar()));
  graph.update(weight, graph.add("sgd", {weight, gradients[0], rate}, {}, "step"));
  graph.update(filters, graph.add("sub", {filters, gradients[1]}, {}, "other_step"));
  graph.output("loss", loss);
  graph.output("scores", scores);
  graph.initialize(1);
  return graph;
}

inline Graph sparse(tenon::Host& host) {
  Graph graph(host);
  const auto csr =
      Tensor::csr(Tensor::from({1.0F, 2.0F, 3.0F}, {3}), Tensor::from(Ints{0, 2, 1}, {3}),
                  Tensor::from(Ints{0, 2, 2, 3}, {4}), {3, 4});
  const auto words = graph.constant("words", csr), x = graph.input("x", tenon::f32, {4, -1});
  const auto rows = graph.variable(
      "rows", Tensor::row_sparse(eighths({2, 4}), Tensor::from(Ints{1, 3}, {2}), {5, 4}));
  graph.output("product", graph.add("csr_times_dense", {words, x}, {}, "product"));
  graph.output("root", graph.add("sqrt", {words}, {}, "root"));
  graph.output("dense", graph.add("cast_storage", {rows}, {{"storage", "dense"}}, "dense"));
  return graph;
}

struct Sample {
  const char* name;
  Graph (*make)(tenon::Host&);
  bool training;
};
inline constexpr Sample samples[] = {
    {"shapes", shapes, false}, {"training", training, true}, {"sparse", sparse, false}};

/// Mutates numbers of a file so that the result often remains meaningful.
class Forger {
 public:
  explicit Forger(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t count) { return random_() % count; }

  void change(ModelT& model) {
    auto& graph = *model.graphs[0];
    auto& nodes = *graph.nodes;
    const auto made = graph.values->names.size() + nodes.output_types.size();
    switch (below(9)) {
      case 0:
        return pick(model.types, [&](auto& type) {
          type->dtype = static_cast<tenon::format::DType>(below(TENON_DTYPE_COUNT));
        });
      case 1:
        return pick(model.types,
                    [&](auto& type) { pick(type->dims, [&](auto& dim) { dim = number(); }); });
      case 2:
        return pick(model.types, [&](auto& type) {
          if (below(2) == 0 || type->dims.empty())
            type->dims.push_back(number());
          else
            type->dims.pop_back();
        });
      case 3:
        return pick(nodes.output_types, [&](auto& type) { type = index(model.types.size()); });
      case 4:
        return pick(graph.values->types, [&](auto& type) { type = index(model.types.size()); });
      case 5:
        return pick(nodes.edges, [&](auto& edge) { edge = index(made); });
      case 6:
        return pick(graph.attributes->integers, [&](auto& integer) { integer = number(); });
      case 7:
        return pick(nodes.operators, [&](auto& op) { op = index(model.operators.size()); });
      default:
        return pick(graph.update_values, [&](auto& value) { value = index(made); });
    }
  }

  /// Applies one to three mutations.
  FileSections changed(const FileSections& from) {
    auto sections = from;
    sections.change([&](ModelT& model) {
      for (auto changes = 1 + below(3); changes > 0; --changes) change(model);
    });
    return sections;
  }

 private:
  template <class T, class Change>
  void pick(std::vector<T>& list, Change&& change) {
    if (!list.empty()) change(list[below(list.size())]);
  }
  // occasionally out of range
  std::uint32_t index(std::size_t count) {
    return static_cast<std::uint32_t>(below(16) == 0 ? count : below(count));
  }
  std::int64_t number() {
    static constexpr std::int64_t numbers[] = {-1, 0,  1,  2,    3,  4,         5,        6,
                                               8,  24, 64, 1000, -2, INT64_MAX, INT64_MIN};
    return numbers[below(std::size(numbers))];
  }

  std::mt19937 random_;
};

enum class Outcome : std::uint8_t { ran, refused, too_large };

/// Input types for a run, with 2 for unknown dimensions.
inline std::map<tenon::ValueId, tenon_type> input_types(const Graph& graph) {
  std::map<tenon::ValueId, tenon_type> types;
  for (const auto id : model_of(graph).inputs) {
    auto type = model_of(graph).values[id].type;
    if (type.rank < 0) type.rank = 0;
    for (auto& dim : type.dims) dim = dim < 0 ? 2 : dim;
    types.emplace(id, type);
  }
  return types;
}

/// Reads every byte.
inline void look_at(const tenon::NamedTensors& outputs) {
  for (const auto& [name, tensor] : outputs) {
    const Tensor values = tensor.stored_values();
    const auto* bytes = static_cast<const volatile std::byte*>(values.data());
    for (std::int64_t i = 0; i < values.bytes(); ++i) (void)bytes[i];
  }
}

/// Makes all node outputs graph outputs, in memory that ends or begins at a guard page, and places
/// the inputs likewise.
inline void run_guarded(Graph& graph, const std::vector<tenon_type>& types,
                        const std::map<tenon::ValueId, tenon_type>& given,
                        tenon::SessionOptions options, tenon::checks::Placement placement) {
  const auto guarded = [&](const tenon_type& type) {
    return tenon::checks::guarded_tensor(static_cast<tenon::DType>(type.dtype),
                                         tenon::shape_of(type), placement, 0);
  };
  auto& model = impl_of(graph).edit().model;
  model.clear_outputs();
  tenon::RunOptions request;
  tenon::NamedTensors inputs;
  for (const auto& [id, type] : given)
    inputs.emplace(model.strings[model.values[id].name], guarded(type));
  for (tenon::ValueId id = 0; id < model.values.size(); ++id) {
    if (model.values[id].role != tenon::Role::output || !tenon::is_known(types[id])) continue;
    const auto name = "value " + std::to_string(id);
    model.outputs.emplace_back(model.strings.intern(name), id);
    request.destinations[name] = {guarded(types[id]), tenon::Write::to};
  }
  tenon::Session session(graph, options);
  const auto plan = [&] {
    auto& planner = impl_of(session).planner;
    auto next = planner.first_stage({});
    std::vector<tenon::ValueId> initialized;
    const auto inputs_of = [&](const auto&) { return tenon::StageInputs{given}; };
    return planner.plan(next, inputs_of, initialized).plan;
  }();
  // the memory of sparse outputs belongs to the host
  for (const auto& [name, id] : plan->model().outputs)
    if (plan->types()[id].storage != TENON_DENSE)
      request.destinations.erase(std::string(plan->model().strings[name]));
  look_at(session.run(inputs, request));
}

/// Loads, binds, plans and runs a file that the reader accepts, if the graph is small: twice as it
/// is, then in memory between guard pages. Anything but a result or a Failure ends the process.
inline Outcome run(tenon::Host& host, const std::string& bytes, bool training) {
  constexpr std::int64_t limit = 1 << 20;
  try {
    Graph graph(host);
    impl_of(graph).edit().model = read_forged(bytes, tenon::FileCheck::structure);
    graph.bind();
    const auto given = input_types(graph);
    const auto types = tenon::infer_with(model_of(graph), impl_of(graph).binding(),
                                         tenon::tensors_of(model_of(graph)), given)
                           .types;
    for (const auto& type : types)
      if (tenon::is_known(type) && tenon::byte_count(type) > limit) return Outcome::too_large;
    tenon::NamedTensors inputs;
    for (const auto& [id, type] : given)
      inputs.emplace(model_of(graph).strings[model_of(graph).values[id].name],
                     Tensor::zeros(static_cast<tenon::DType>(type.dtype), tenon::shape_of(type)));
    tenon::SessionOptions options;
    options.training = training;
    {
      tenon::Session session(graph, options);
      for (int i = 0; i < 2; ++i) look_at(session.run(inputs));
    }
    for (const auto placement :
         {tenon::checks::Placement::before_guard, tenon::checks::Placement::after_guard})
      run_guarded(graph, types, given, options, placement);
    return Outcome::ran;
  } catch (const tenon::Failure&) {
    return Outcome::refused;
  }
}

}  // namespace forged
