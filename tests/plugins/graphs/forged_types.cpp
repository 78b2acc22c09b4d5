// Files whose types of node outputs contradict the operators: kernels rely on the operators' types,
// so such files must be rejected.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tenon/host/graph.hpp>

#include "check/test_input.hpp"
#include "check_says.hpp"
#include "failure_of.hpp"
#include "file/forged_file.hpp"
#include "file/tenon/numbering.hpp"
#include "graph/model.hpp"
#include "plugins/strict_host.hpp"
#include "run/graph_impl.hpp"

namespace {

using tenon::Graph;
using tenon::format::ModelT;

/// A single operator, its gradient if it has one, and every value as an output.
Graph graph_of(tenon::Host& host, const tenon::LoadedOperator& op,
               const tenon::checks::TestInput& sample) {
  Graph graph(host);
  std::vector<tenon::Value> inputs, floating;
  for (std::size_t i = 0; i < sample.types.inputs.size(); ++i) {
    const auto& type = sample.types.inputs[i];
    const auto dtype = static_cast<tenon::DType>(type.dtype);
    inputs.push_back(type.present
                         ? graph.input("input_" + std::to_string(i), dtype, tenon::shape_of(type))
                         : tenon::Value());
    if (type.present && (dtype == tenon::f32 || dtype == tenon::f64))
      floating.push_back(inputs.back());
  }
  const auto node = graph.add(op.info->name, inputs, sample.attributes, "node");
  try {
    graph.gradient(node, floating);
  } catch (const tenon::Failure&) {
    // it has no gradient
  }
  return graph;
}

tenon::format::TensorTypeT& type_of_output(ModelT& model, std::size_t output) {
  return *model.types[model.graphs[0]->nodes->output_types[output]];
}

/// A file with a forged type of one output.
template <class Lie>
std::string forged(const FileSections& sound, std::size_t output, Lie&& lie) {
  auto sections = sound;
  sections.change([&](ModelT& model) {
    auto type = std::make_unique<tenon::format::TensorTypeT>(type_of_output(model, output));
    lie(*type);
    model.graphs[0]->nodes->output_types[output] = static_cast<std::uint32_t>(model.types.size());
    model.types.push_back(std::move(type));
  });
  return sections.bytes();
}

/// A file with a forged type of a value that no node produces.
template <class Lie>
std::string forged_value(const FileSections& sound, std::size_t value, Lie&& lie) {
  auto sections = sound;
  sections.change([&](ModelT& model) {
    auto& values = *model.graphs[0]->values;
    values.types.resize(values.names.size());  // files omit a column of zeros
    auto& number = values.types[value];
    model.types.push_back(std::make_unique<tenon::format::TensorTypeT>(*model.types[number]));
    lie(*model.types.back());
    number = static_cast<std::uint32_t>(model.types.size()) - 1;
  });
  return sections.bytes();
}

std::vector<tenon_type> output_types(const Graph& graph) {
  std::vector<tenon_type> types;
  for (const auto& value : model_of(graph).values)
    if (value.producer != tenon::none) types.push_back(value.type);
  return types;
}

Graph bound(tenon::Host& host, const std::string& bytes) {
  Graph graph(host);
  impl_of(graph).edit().model = read_forged(bytes);
  graph.bind();
  return graph;
}

FailureText opened(tenon::Host& host, const std::string& bytes) {
  return failure_of([&] { bound(host, bytes); });
}

void check_refused(tenon::Host& host, const std::string& bytes) {
  const auto failure = opened(host, bytes);
  CHECK(failure.kind == static_cast<int>(tenon::FailureKind::file));
  CHECK(failure.message.find("the file declares output") != std::string::npos);
}

bool same(const std::vector<tenon_type>& left, const std::vector<tenon_type>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const tenon_type& l, const tenon_type& r) {
                      return tenon::to_string(l) == tenon::to_string(r);
                    });
}

/// Returns the number of forged outputs.
std::size_t check_all(tenon::Host& host, const Graph& graph, const FileSections& sound) {
  const auto own = output_types(graph);
  CHECK(same(output_types(bound(host, sound.bytes())), own));
  for (std::size_t output = 0; output < own.size(); ++output) {
    CAPTURE(output);
    // chosen at run time, regardless of the file
    for (const auto storage : {tenon::format::Storage::csr, tenon::format::Storage::row_sparse})
      CHECK(same(output_types(bound(
                     host, forged(sound, output, [&](auto& type) { type.storage = storage; }))),
                 own));
    CHECK(
        same(output_types(bound(
                 host, forged(sound, output, [](auto& type) { type = {}, type.unranked = true; }))),
             own));
    // Gradients of inputs that are not connected have no type; outputs whose shape depends on
    // elements have only a dtype.
    const bool has_dtype = own[output].dtype != TENON_DTYPE_UNKNOWN;
    for (const unsigned more : {1u, 5u}) {  // a sample of the others: each opens the graph again
      const auto dtype = ((has_dtype ? own[output].dtype : 0u) + more + output) % TENON_DTYPE_COUNT;
      if (dtype == own[output].dtype) continue;
      CAPTURE(dtype);
      const auto bytes = forged(sound, output, [&](auto& type) {
        type.dtype = static_cast<tenon::format::DType>(dtype);
      });
      if (has_dtype)
        check_refused(host, bytes);
      else
        CHECK(same(output_types(bound(host, bytes)), own));
    }
    if (own[output].rank < 0) continue;
    for (int axis = 0; axis < own[output].rank; ++axis)
      for (const int more : {-1, 1})
        if (own[output].dims[axis] >= 0 && own[output].dims[axis] + more >= 0)  // -1 makes no claim
          check_refused(host, forged(sound, output, [&](auto& type) {
                          type.dims[static_cast<std::size_t>(axis)] += more;
                        }));
    check_refused(host, forged(sound, output, [](auto& type) {
                    type.dims.assign(type.dims.size() == 3 ? 2 : 3, 1);
                  }));
  }
  return own.size();
}

/// Forges the types of states, which have no elements yet; returns their number.
std::size_t check_states(tenon::Host& host, const Graph& graph, const FileSections& sound) {
  std::size_t states = 0;
  const auto& model = model_of(graph);
  const auto order = tenon::file_order(model);
  for (tenon::ValueId id = 0; id < model.values.size(); ++id) {
    if (model.values[id].role != tenon::Role::state) continue;
    ++states;
    const auto& own = model.values[id].type;
    REQUIRE(tenon::is_known(own));
    const auto refused = [&](auto&& lie) {
      CHECK(opened(host, forged_value(sound, order.values.at(id), lie)).kind != 0);
    };
    CHECK(opened(host, forged_value(sound, order.values.at(id),
                                    [](auto& type) { type = {}, type.unranked = true; }))
              .message == "");
    for (unsigned dtype = 0; dtype < TENON_DTYPE_COUNT; ++dtype)
      if (dtype != own.dtype)
        refused([&](auto& type) { type.dtype = static_cast<tenon::format::DType>(dtype); });
    for (int axis = 0; axis < own.rank; ++axis)
      refused([&](auto& type) { ++type.dims[static_cast<std::size_t>(axis)]; });
    refused([](auto& type) { type.dims.assign(type.dims.size() == 3 ? 2 : 3, 1); });
    for (const auto storage : {tenon::format::Storage::csr, tenon::format::Storage::row_sparse})
      refused([&](auto& type) { type.storage = storage; });
  }
  return states;
}

}  // namespace

TEST_CASE("files with a forged type of any output or state of any bundled operator are rejected") {
  StrictHost host(1);
  std::size_t outputs = 0, states = 0;
  std::set<std::string> tried;
  for (const auto& file : host.host.catalog().files())
    for (const auto& name : file.operators) {
      CAPTURE(name);
      const auto& op = impl_of(host.host).plugins().load(name);
      const auto samples = tenon::checks::find_samples(op, tenon::checks::TestInputKind::ordinary);
      REQUIRE_MESSAGE(!samples.found.empty(), samples.refusals.nearest());
      const tenon::Attributes* last = nullptr;
      int left = 4;
      for (const auto& sample : samples.found) {
        if (last != nullptr && std::equal(last->begin(), last->end(), sample.attributes.begin(),
                                          sample.attributes.end()))
          continue;  // other parameters, not only other shapes
        if (left-- == 0) break;
        last = &sample.attributes;
        const auto graph = graph_of(host, op, sample);
        const auto sound = FileSections::of(model_of(graph));
        outputs += check_all(host, graph, sound);
        states += check_states(host, graph, sound);
        tried.insert(name);
      }
    }
  CHECK(tried.size() >= 44);
  CHECK(outputs > 2 * tried.size());  // gradients too
  CHECK(states >= 5);                 // of batch_norm and the optimizers
}

TEST_CASE("a rejected graph stays as in the file, and accepts no nodes") {
  StrictHost host(1);
  Graph graph(host);
  graph.output("y", graph.add("reshape", {graph.input("x", tenon::f32, {2, 3})},
                              {{"shape", std::vector<std::int64_t>{6}}}, "r"));
  Graph loaded(host);
  impl_of(loaded).edit().model =
      read_forged(forged(FileSections::of(model_of(graph)), 0,
                         [](auto& type) { type.dtype = tenon::format::DType::f64; }));
  for (int i = 0; i < 2; ++i) {
    CHECK(failure_of([&] { loaded.add("exp", {loaded.find("r")}); }).kind == 4);
    CHECK(failure_of([&] { loaded.bind(); }).kind == 4);
    CHECK(loaded.dtype(loaded.find("r")) == tenon::f64);
    CHECK(model_of(loaded).nodes.size() == 1);
  }
}

TEST_CASE("a value that updates a variable must have its type") {
  StrictHost host(1);
  Graph graph(host);
  const auto weight = graph.variable("weight", tenon::Tensor::from({1.0F, 2.0F, 3.0F, 4.0F}, {4}));
  const auto smaller = graph.add(
      "slice", {weight},
      {{"begin", std::vector<std::int64_t>{0}}, {"end", std::vector<std::int64_t>{1}}}, "s");
  graph.add("exp", {weight}, {}, "e");
  graph.update(weight, graph.find("e"));
  auto sections = FileSections::of(model_of(graph));
  CHECK(opened(host, sections.bytes()).message == "");
  const auto value = static_cast<std::uint32_t>(1);  // of "s", after the weight
  REQUIRE(graph.shape(smaller) == tenon::Shape{1});
  sections.change([&](ModelT& model) { model.graphs[0]->update_values = {value}; });
  check_says(opened(host, sections.bytes()).message,
             {"'weight' is float32 [4]", "updated with s, which is float32 [1]"});
}
