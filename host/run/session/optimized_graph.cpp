#include "run/session/optimized_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/devices.hpp"
#include "graph/rewrite/rewriting.hpp"
#include "graph/rewrite/subgraph.hpp"
#include "run/graph_impl.hpp"

namespace tenon {
namespace {

// Evaluates the constant subgraph once, in a session of its own, so that it uses the same kernels
// and has the same bits as every run. A subgraph that fails stays in the graph, whose runs report
// the error.
std::vector<Tensor> computed(Host::Impl& host, const Rewriting& rewriting,
                             const Rewriting::ConstantSubgraph& subgraph,
                             const SessionOptions& options, const TensorTable& tensors) {
  std::vector<Tensor> results(subgraph.results.size());
  if (results.empty()) return results;
  std::vector<std::pair<std::string, ValueId>> outputs;
  for (std::size_t i = 0; i < results.size(); ++i)
    outputs.emplace_back(fmt::format("{}", i), subgraph.results[i]);
  try {
    const auto graph = graph_of(host, extract_subgraph(rewriting.model(), rewriting.binding(),
                                                       subgraph.nodes, outputs, tensors));
    Session session(graph,
                    {.seed = options.seed, .device = options.device, .optimize = Optimize::none});
    for (auto& [name, tensor] : session.run({}))
      if (tensor.storage() == Storage::dense) results[std::stoul(name)] = std::move(tensor);
  } catch (const Failure&) {
    std::fill(results.begin(), results.end(), Tensor());
  }
  return results;
}

// Tenon's own rules name operators of several bundled plugins, some of which may be missing.
void warn_of_faults(Host::Impl& host, const RuleSet& rules, const Binding& binding) {
  for (const auto& fault : rules.faults()) {
    if (fault.lacks_operator && fault.bundled) continue;
    if (std::any_of(binding.operators.begin(), binding.operators.end(),
                    [&](const auto* op) { return op->file == fault.file; }))
      host.warnings.once("rule " + fault.sentence, fault.sentence);
  }
}

}  // namespace

Graph graph_of(Host::Impl& host, GraphSnapshot snapshot) {
  auto impl = std::make_shared<Graph::Impl>(host.shared_from_this());
  impl->current = std::make_shared<GraphSnapshot>(std::move(snapshot));
  impl->complete = true;
  return ImplAccess::graph(std::move(impl));
}

std::shared_ptr<const RuleSet> RuleCache::of(Host::Impl& host) {
  auto& plugins = host.plugins();
  const std::lock_guard lock(mutex_);
  const auto version = host.version();
  if (!rules_ || version_ != version) {
    rules_ = std::make_shared<const RuleSet>(plugins.catalog());
    version_ = version;
  }
  return rules_;
}

std::shared_ptr<const GraphSnapshot> optimized_graph(Host::Impl& host,
                                                     std::shared_ptr<const GraphSnapshot> graph,
                                                     const SessionOptions& options,
                                                     const TensorTable& tensors,
                                                     const std::vector<bool>& unchanging) {
  if (options.optimize == Optimize::none || options.training || options.debug) return graph;
  const auto rules = host.rules->of(host);
  warn_of_faults(host, *rules, graph->binding);
  Rewriting rewriting(graph,
                      {.optimize = options.optimize,
                       .device = &find_device(options.device.empty() ? "cpu" : options.device),
                       .tensors = &tensors,
                       .unchanging = &unchanging,
                       .rules = rules.get(),
                       .plugins = &host.plugins()});
  if (!rewriting.begin()) return graph;
  rewriting.apply_rules();
  rewriting.eliminate_common_subexpressions();
  const auto subgraph = rewriting.constant_subgraph();
  rewriting.set_constants(subgraph, computed(host, rewriting, subgraph, options, tensors));
  return rewriting.finish();
}

}  // namespace tenon
