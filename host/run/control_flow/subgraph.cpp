#include "run/control_flow/subgraph.hpp"

#include <fmt/format.h>

#include "device/devices.hpp"
#include "graph/composed/expansion.hpp"
#include "graph/parameters.hpp"
#include "plan/plan.hpp"
#include "plugin/operator_name.hpp"
#include "run/graph_impl.hpp"
#include "tensor/add_elements.hpp"

namespace tenon {
void Subgraph::refuse(const std::string& what) const {
  throw Failure(FailureKind::usage, fmt::format("the graph '{}' {}", param_, what));
}

template <class Work>
decltype(auto) Subgraph::with_context(Work&& work) const {
  try {
    return work();
  } catch (const Failure& failure) {
    throw Failure(failure.kind(), fmt::format("in the graph '{}': {}", param_, failure.what()),
                  failure.hint());
  }
}

Subgraph::Subgraph(Host::Impl& host, std::string_view text, const char* param)
    : param_(param), graph_([&] {
        Host handle = ImplAccess::handle(host.shared_from_this());
        return with_context([&] { return impl_of(Graph::from_json(handle, text)).completed(); });
      }()) {
  const auto& model = model_of(graph_);
  for (const auto& value : model.values) {
    if (value.role == Role::variable)
      refuse(fmt::format(
          "has the variable '{}', but variables of subgraphs are not trained: make it an input",
          model.strings[value.name]));
    if (value.role == Role::state)
      refuse(
          fmt::format("has the state '{}', but subgraphs keep no states between runs: make it an "
                      "input and an output",
                      model.strings[value.name]));
  }
  const auto inside =
      expanded(impl_of(graph_).current, cpu_device());  // includes the nodes of composed operators
  for (const auto& node : inside->binding.nodes) {
    if (node.info->random)
      refuse(fmt::format("uses the random operator '{}', which subgraphs do not support",
                         node.info->name));
    if (node.info->communicates)  // the number of executions depends on elements, which may differ
                                  // between processes
      refuse(
          fmt::format("uses '{}', which waits for other processes: subgraphs do not support that",
                      node.info->name));
  }
  failure_ = fail_message(graph_);
  for (const auto id : model.inputs)
    input_names_.emplace_back(model.strings[model.values[id].name]);
  for (const auto& [name, value] : model.outputs) {
    output_names_.emplace_back(model.strings[name]);
    const auto producer = model.values[value].producer;
    if (producer != none &&
        impl_of(graph_).binding().nodes[producer].info->allocates(model.values[value].index))
      allocates_ = true;
  }
}

std::size_t Subgraph::inputs() const {
  return input_names_.size();
}
std::size_t Subgraph::outputs() const {
  return output_names_.size();
}

void Subgraph::require_runs() const {
  if (failure_) throw Failure(FailureKind::failed, *failure_);
}

std::vector<tenon_type> Subgraph::infer(std::span<const tenon_type> inputs) const {
  const auto& model = model_of(graph_);
  std::map<ValueId, tenon_type> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arguments.emplace(model.inputs[i], inputs[i]);
    arguments[model.inputs[i]].present = model.values[model.inputs[i]].type.present;
  }
  const auto types = with_context([&] {
    require_runs();
    return infer_with(model, impl_of(graph_).binding(), tensors_of(model), arguments).types;
  });
  std::vector<tenon_type> outputs;
  for (const auto& [name, value] : model.outputs) outputs.push_back(types[value]);
  return outputs;
}

Session& Subgraph::session(bool training) {
  auto& session = sessions_[training ? 1 : 0];
  if (!session)
    session.emplace(graph_, SessionOptions{.training = training, .optimize = Optimize::exact});
  return *session;
}

std::vector<Tensor> Subgraph::run_all(bool training, const std::vector<Tensor>& inputs) {
  return with_context([&] {
    require_runs();
    std::vector<Tensor> outputs(this->outputs());
    session(training).run_in_order(inputs, outputs);
    return outputs;
  });
}

Tensor Subgraph::run(bool training, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs) {
  return with_context([&] {
    require_runs();
    if (allocates_) {
      const auto made = run_all(training, inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (made[i].shape() != outputs[i].shape())
          refuse(fmt::format("returns {} for its output {}, which was inferred as {}",
                             to_string(made[i].shape()), i, to_string(outputs[i].shape())));
        copy_elements(made[i], outputs[i]);
      }
      return made.front();
    }
    NamedTensors arguments;
    RunOptions options;
    for (std::size_t i = 0; i < inputs.size(); ++i) arguments.emplace(input_names_[i], inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      options.destinations[output_names_[i]] = {outputs[i], Write::to};
    return session(training).run(arguments, options).at(output_names_.front());
  });
}

std::optional<std::string> fail_message(const Graph& graph) {
  const auto& model = model_of(graph);
  for (const auto& node : model.nodes) {
    const auto& info = *model.operators[node.op].info;
    if (info.space != bundled_space || info.name != "fail") continue;
    for (const auto& [name, value] : all_parameters(model, node))
      if (name == "message") return std::get<std::string>(value.variant());
  }
  return {};
}

Graph gradient_of(const Subgraph& body, const std::vector<std::size_t>& outputs,
                  const std::vector<std::size_t>& wrt) {
  auto graph = body.graph();
  const auto value_of = [&](ValueId id) { return impl_of(graph).value(id); };
  const auto results = model_of(graph).outputs;
  Value loss;
  for (const auto k : outputs) {
    const auto value = value_of(results[k].second);
    const auto grad =
        graph.input(free_name(model_of(graph), "grad"), graph.dtype(value), graph.shape(value));
    auto term = graph.add("tenon.sum", {graph.add("tenon.mul", {value, grad})});
    if (!loss.empty() && graph.dtype(term) != graph.dtype(loss))
      term = graph.add("tenon.cast", {term}, {{"dtype", std::string(name_of(graph.dtype(loss)))}});
    loss = !loss.empty() ? graph.add("tenon.add", {loss, term}) : term;
  }
  std::vector<Value> values;
  values.reserve(wrt.size());
  for (const auto i : wrt) values.push_back(value_of(model_of(graph).inputs[i]));
  auto grads = !loss.empty() ? graph.gradient(loss, values) : std::vector<Value>(values.size());
  for (std::size_t i = 0; i < grads.size(); ++i)
    if (grads[i].empty()) grads[i] = graph.add("tenon.fill_like", {values[i]}, {{"value", 0.0}});
  set_outputs(graph, grads);
  return graph;
}

void set_outputs(Graph& graph, const std::vector<Value>& values) {
  impl_of(graph).edit().model.clear_outputs();
  for (std::size_t i = 0; i < values.size(); ++i)
    graph.output(fmt::format("output_{}", i), values[i]);
}

void reorder_inputs(Graph& graph, const std::vector<std::size_t>& order) {
  auto& inputs = impl_of(graph).edit().model.inputs;
  std::vector<ValueId> reordered;
  reordered.reserve(order.size());
  for (const auto i : order) reordered.push_back(inputs[i]);
  inputs = std::move(reordered);
}

}  // namespace tenon
