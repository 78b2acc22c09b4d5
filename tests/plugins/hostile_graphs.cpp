// What the reader accepts is bound and run: whatever a file says, kernels stay within their tensors. The sanitizers look on.
#include <doctest/doctest.h>

#include <random>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "file/forged_file.hpp"
#include "graph/model.hpp"
#include "numbers.hpp"
#include "plan/plan.hpp"
#include "run/graph_impl.hpp"
#include "strict_host.hpp"

namespace {

using plugin_tests::Ints;
using tenon::Graph;
using tenon::Tensor;
using tenon::format::ModelT;

Tensor eighths(const tenon::Shape& shape) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<float>(i % 7) / 8);
  return Tensor::from(values, shape);
}

/// Operators that move bytes, on a constant and on an input.
Graph shapes(tenon::Host& host) {
  Graph graph(host);
  const auto table = graph.constant("table", eighths({8, 6})), x = graph.input("x", tenon::f32, {-1, 6});
  const auto both = graph.add("concat", {table, x}, {{"axis", 0}}, "both");
  const auto flat = graph.add("reshape", {both}, {{"shape", Ints{-1, 2, 3}}}, "flat");
  const auto turned = graph.add("transpose", {flat}, {{"axes", Ints{2, 0, 1}}}, "turned");
  const auto parts = graph.add("split", {turned}, {{"sections", 3}, {"axis", 0}}, "parts");
  const auto squeezed = graph.add("squeeze", {parts.output(1)}, {{"axis", Ints{0}}}, "squeezed");
  const auto piece = graph.add("slice", {squeezed}, {{"begin", Ints{1}}, {"end", Ints{5}}}, "piece");
  const auto wider = graph.add("expand_dims", {piece}, {{"axis", Ints{0}}}, "wider");
  const auto many = graph.add("broadcast_to", {wider}, {{"shape", Ints{3, 4, 2}}}, "many");
  const auto padded = graph.add("pad", {many}, {{"before", Ints{1, 0, 0}}, {"after", Ints{0, 2, 0}}}, "padded");
  graph.output("sum", graph.add("sum", {padded}, {{"axis", Ints{1}}}, "total"));
  graph.output("whole", graph.add("cast", {padded}, {{"dtype", "int32"}}, "whole"));
  graph.output("last", parts.output(2));
  return graph;
}

/// A step of training: kernels' backward, updates of variables in place and by copy, states.
Graph training(tenon::Host& host) {
  Graph graph(host);
  const auto image = graph.input("image", tenon::f32, {-1, 1, 6, 6}), label = graph.input("label", tenon::i64, {-1});
  const auto conv = graph.add("convolution", {image}, {{"num_filter", 2}, {"kernel", Ints{3, 3}}}, "conv");
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

Graph sparse(tenon::Host& host) {
  Graph graph(host);
  const auto csr =
      Tensor::csr(Tensor::from({1.0F, 2.0F, 3.0F}, {3}), Tensor::from(Ints{0, 2, 1}, {3}), Tensor::from(Ints{0, 2, 2, 3}, {4}), {3, 4});
  const auto words = graph.constant("words", csr), x = graph.input("x", tenon::f32, {4, -1});
  const auto rows = graph.variable("rows", Tensor::row_sparse(eighths({2, 4}), Tensor::from(Ints{1, 3}, {2}), {5, 4}));
  graph.output("product", graph.add("csr_times_dense", {words, x}, {}, "product"));
  graph.output("root", graph.add("sqrt", {words}, {}, "root"));
  graph.output("dense", graph.add("cast_storage", {rows}, {{"storage", "dense"}}, "dense"));
  return graph;
}

class Forger {
 public:
  explicit Forger(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t count) { return random_() % count; }

  void change(ModelT& model) {
    auto& graph = *model.graphs[0];
    auto& nodes = *graph.nodes;
    switch (below(9)) {
      case 0:
        pick(model.types)->dtype = static_cast<tenon::format::DType>(below(TENON_DTYPE_COUNT));
        break;
      case 1:
        if (auto& dims = pick(model.types)->dims; !dims.empty()) pick(dims) = number();
        break;
      case 2:
        if (auto& dims = pick(model.types)->dims; below(2) == 0 || dims.empty())
          dims.push_back(number());
        else
          dims.pop_back();
        break;
      case 3:
        pick(nodes.output_types) = static_cast<std::uint32_t>(below(model.types.size()));
        break;
      case 4:
        pick(graph.values->types) = static_cast<std::uint32_t>(below(model.types.size()));
        break;
      case 5:
        pick(nodes.edges) = static_cast<std::uint32_t>(below(graph.values->names.size() + nodes.output_types.size()));
        break;
      case 6:
        if (auto& integers = graph.attributes->integers; !integers.empty()) pick(integers) = number();
        break;
      case 7:
        pick(nodes.operators) = static_cast<std::uint32_t>(below(model.operators.size()));
        break;
      default:
        if (!graph.update_values.empty())
          pick(graph.update_values) = static_cast<std::uint32_t>(below(graph.values->names.size() + nodes.output_types.size()));
    }
  }

 private:
  template <class T>
  T& pick(std::vector<T>& list) {
    return list[below(list.size())];
  }
  std::int64_t number() {
    static constexpr std::int64_t numbers[] = {-1, 0, 1, 2, 3, 4, 5, 6, 8, 24, 64, 1000, -2, INT64_MAX, INT64_MIN};
    return numbers[below(std::size(numbers))];
  }

  std::mt19937 random_;
};

struct Tally {
  int ran = 0, refused = 0, too_large = 0;
};

/// Runs what a file holds, as long as it is small.
void run(tenon::Host& host, const std::string& bytes, bool training, Tally& tally) {
  constexpr std::int64_t limit = 1 << 20;
  try {
    Graph graph(host);
    impl_of(graph).edit().model = read_forged(bytes, tenon::FileCheck::structure);
    graph.bind();
    std::map<tenon::ValueId, tenon_type> types;
    for (const auto id : model_of(graph).inputs) {
      auto type = model_of(graph).values[id].type;
      if (type.rank < 0) type.rank = 0;
      for (auto& dim : type.dims) dim = dim < 0 ? 2 : dim;
      types.emplace(id, type);
    }
    for (const auto& type : tenon::infer_with(model_of(graph), impl_of(graph).binding(), tenon::tensors_of(model_of(graph)), types))
      if (tenon::is_known(type) && tenon::byte_count(type) > limit) return void(++tally.too_large);
    tenon::NamedTensors inputs;
    for (const auto& [id, type] : types)
      inputs.emplace(model_of(graph).strings[model_of(graph).values[id].name],
                     Tensor::zeros(static_cast<tenon::DType>(type.dtype), tenon::shape_of(type)));
    tenon::SessionOptions options;
    options.training = training;
    tenon::Session session(graph, options);
    for (int i = 0; i < 2; ++i)
      for (const auto& [name, tensor] : session.run(inputs)) REQUIRE(tensor.to_string() != "");  // looks at the elements
    ++tally.ran;
  } catch (const tenon::Failure&) {
    ++tally.refused;
  }
}

void forge_many(Graph (*make)(tenon::Host&), bool training, int rounds) {
  StrictHost host(1);
  const auto sound = FileParts::of(model_of(make(host)));
  Tally tally;
  run(host, sound.bytes(), training, tally);
  REQUIRE(tally.ran == 1);
  Forger forger(1);
  for (int round = 0; round < rounds; ++round) {
    auto parts = sound;
    parts.change([&](ModelT& model) {
      for (auto changes = 1 + forger.below(3); changes > 0; --changes) forger.change(model);
    });
    run(host, parts.bytes(), training, tally);
  }
  MESSAGE("ran " << tally.ran << ", refused " << tally.refused << ", too large " << tally.too_large);
  CHECK(tally.ran > rounds / 50);
  CHECK(tally.refused > rounds / 4);
}

}  // namespace

TEST_CASE("forged files are refused or run: operators that move bytes") {
  forge_many(shapes, false, 3000);
}

TEST_CASE("forged files are refused or run: a step of training") {
  forge_many(training, true, 3000);
}

TEST_CASE("forged files are refused or run: sparse tensors") {
  forge_many(sparse, false, 2000);
}
