// Graphs of bundled operators, and how sessions optimize them.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "built.hpp"
#include "plugin_options.hpp"
#include "temporary_folder.hpp"

namespace rewriting {

using namespace tenon;

struct RewritingHost {
  TemporaryFolder cache;
  std::vector<std::string> warnings;
  Host host;
  explicit RewritingHost(const std::vector<std::string>& more = {}, int threads = 0)
      : host(options(cache, warnings, threads)) {
    host.add_plugins(built("plugins"));
    for (const auto& file : more) host.add_plugins(built(file));
  }

 private:
  static HostOptions options(const TemporaryFolder& cache, std::vector<std::string>& warnings,
                             int threads) {
    auto options = plugin_options(cache);
    options.threads = threads;
    options.warn = [&](const std::string& sentence) { warnings.push_back(sentence); };
    return options;
  }
};

/// Uniform in [from, to), deterministic for a seed.
inline Tensor numbers(const Shape& shape, double from, double to, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  std::uint64_t state = seed + 1;
  for (auto& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(from + (to - from) * static_cast<double>(state >> 40) * 0x1p-24);
  }
  return Tensor::from(values, shape);
}

inline NamedTensors run(const Graph& graph, const NamedTensors& inputs, Optimize optimize,
                        const std::string& output = {}) {
  RunOptions request;
  if (!output.empty()) request.outputs = {output};
  return Session(graph, {.optimize = optimize}).run(inputs, request);
}

inline std::vector<std::string> nodes_of(const Graph& graph, Optimize optimize = Optimize::full,
                                         bool training = false) {
  std::vector<std::string> names;
  for (const auto& node :
       Session(graph, {.training = training, .optimize = optimize}).optimized().nodes())
    names.push_back(node.name);
  return names;
}

/// The largest difference, relative to the largest element.
inline double relative_difference(const Tensor& left, const Tensor& right) {
  REQUIRE(left.shape() == right.shape());
  double most = 0, largest = 0;
  for (std::int64_t i = 0; i < left.size(); ++i) {
    const double one = left.values<float>()[static_cast<std::size_t>(i)],
                 other = right.values<float>()[static_cast<std::size_t>(i)];
    most = std::max(most, std::fabs(one - other)), largest = std::max(largest, std::fabs(other));
  }
  return most / largest;
}

}  // namespace rewriting
