#include "sparse.hpp"

#include <map>
#include <memory>
#include <random>

#include "built.hpp"

namespace plugin_tests {

tenon::Host& strict_host(int threads) {
  static std::map<int, std::unique_ptr<tenon::Host>> hosts;
  auto& host = hosts[threads];
  if (!host) {
    tenon::HostOptions options;
    options.threads = threads;
    options.trust_writable = true;
    options.search_defaults = false;
    options.strict_storage = true;
    host = std::make_unique<tenon::Host>(options);
    host->add_plugins(built("plugins"));
  }
  return *host;
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all{{"nothing stored", {5, 7}, 0},
                                        {"one element", {1, 1}, 1},
                                        {"no rows", {0, 4}, 1},
                                        {"no columns", {4, 0}, 1},
                                        {"rows of zeros", {9, 6}, 0.5, true},
                                        {"sparse", {40, 33}, 0.1},
                                        {"wide", {3, 200}, 0.02},
                                        {"full", {6, 5}, 1}};
  return all;
}

Tensor dense_of(const Pattern& pattern, DType dtype, unsigned seed) {
  std::mt19937 generator(seed);
  Doubles values(static_cast<std::size_t>(pattern.shape.size()));
  const auto columns = static_cast<std::size_t>(pattern.shape[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool stored = generator() % 1000 < pattern.density * 1000;
    const double value = (static_cast<double>(generator() % 32) - 16 + 0.5) / 8;
    if (stored && !(pattern.every_other_row && i / columns % 2 == 1))
      values[i] = tenon::floating.has(dtype) ? value : std::round(value) + 3;
  }
  return tensor(dtype, pattern.shape, values);
}

Tensor gradient(tenon::Host& host, const std::string& op, const std::vector<Tensor>& inputs,
                const Attributes& attributes, std::size_t which, const Tensor& weights) {
  tenon::Graph graph(host);
  std::vector<tenon::Value> values;
  tenon::NamedTensors given{{"weights", weights}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto name = "x" + std::to_string(i);
    values.push_back(graph.input(name, inputs[i].dtype(), inputs[i].shape()));
    given[name] = inputs[i];
  }
  const auto y = graph.add(op, values, attributes, "tested");
  const auto loss = graph.add("mul", {y, graph.input("weights", weights.dtype(), weights.shape())},
                              {}, "weighted");
  graph.output("gradient", graph.gradient(loss, {values[which]}).at(0));
  return tenon::Session(graph).run(given).at("gradient");
}

}  // namespace plugin_tests
