#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <tenon/cast_storage.hpp>
#include <tenon/session.hpp>
#include <tenon/visit.hpp>

#include "device/add_elements.hpp"
#include "device/finite.hpp"
#include "graph/inference.hpp"
#include "graph/initialize.hpp"
#include "plan/describe.hpp"
#include "plan/plan.hpp"
#include "run/graph_impl.hpp"
#include "run/trace.hpp"

namespace tenon {
namespace {

// 4 MiB of names would not help anybody either
std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

Tensor with_wide_indices(const Tensor& tensor) {
  return tensor.storage() == Storage::dense ? tensor : cast_storage(tensor, tensor.storage());
}

std::int64_t stored_elements(const tenon_tensor& tensor) {
  std::int64_t count = tensor.storage == TENON_DENSE ? 1 : tensor.stored;
  for (int axis = tensor.storage == TENON_DENSE ? 0 : 1; tensor.storage != TENON_CSR && axis < tensor.dense.ndim; ++axis)
    count *= tensor.dense.shape[axis];
  return count;
}

}  // namespace

struct Session::Impl {
  Impl(Graph given, SessionOptions given_options) : graph(std::move(given)), options(std::move(given_options)) {
    graph.initialize(options.seed);
    own_changing();
    auto& host = graph.host().impl();
    kernels.emplace(graph.model(), graph.impl_->binding, host.plugins().load("cast_storage"), options.device);
    context = {&host_table(), &host.threads, &error.error, options.training, options.seed};
  }

  // Runs change states and updated variables where they are, so these cannot stay in a file's memory or in somebody else's tensor.
  // Kernels read int64 indices.
  void own_changing() {
    auto& model = graph.model();
    for (auto& tensor : model.tensors) tensor = with_wide_indices(tensor);
    const auto own = [&](ValueId id) {
      if (auto& value = model.values[id]; value.tensor != none) model.tensors[value.tensor] = model.tensors[value.tensor].clone();
    };
    for (ValueId id = 0; id < model.values.size(); ++id)
      if (model.values[id].role == Role::state) own(id);
    if (options.training)
      for (const auto& [variable, value] : model.updates) own(variable);
  }

  std::map<ValueId, tenon_type> check_inputs(const NamedTensors& inputs) const {
    const auto& model = graph.model();
    std::map<ValueId, tenon_type> types;
    std::vector<std::string> names, missing;
    for (const auto id : model.inputs) {
      names.emplace_back(model.strings[model.values[id].name]);
      const auto given = inputs.find(names.back());
      if (given == inputs.end() || !given->second)
        missing.push_back(names.back());
      else
        types.emplace(id, type_of(given->second));
    }
    for (const auto& [name, tensor] : inputs)
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name),
                      fmt::format("its inputs are {}", list_of(names)));
    if (!missing.empty()) throw Failure(FailureKind::usage, fmt::format("no value is given for input {}", list_of(missing)));
    return types;
  }

  Plan& plan_for(const std::map<ValueId, tenon_type>& inputs) {
    std::vector<std::int64_t> key;
    for (const auto& [value, type] : inputs) {
      key.push_back(type.dtype << 16 | type.storage << 8 | type.rank);
      key.insert(key.end(), type.dims, type.dims + type.rank);
    }
    if (const auto found = plans.find(key); found != plans.end()) return *found->second;
    auto types = infer_with(graph.model(), graph.impl_->binding, inputs);
    initialize_late(types);
    auto plan = std::make_unique<Plan>(graph.model(), graph.impl_->binding, *kernels, context, std::move(types));
    tell_conversions(*plan);  // a plan that is refused is not kept
    return *plans.emplace(key, std::move(plan)).first->second;
  }

  // Only what the plan does: of the nodes that asked for a conversion, the first that runs is named.
  void tell_conversions(const Plan& plan) {
    const auto& model = plan.model();
    for (const auto& conversion : plan.conversions()) {
      if (plan.memory().readers[conversion.dense] == 0) continue;
      const auto storage = name_of(static_cast<Storage>(conversion.storage));
      const auto what =
          fmt::format("'{}' is {} and is made dense, {} bytes, because", value_label(model, conversion.value), storage, conversion.bytes);
      auto& notes = graph.host().impl().storage_notes;
      if (const auto reader = first_reader(plan, conversion.dense); reader != none) {
        const auto work = work_label(model, model.nodes[reader]);
        notes.made_dense(fmt::format("{} {}", work, storage),
                         fmt::format("{}: {} {} has no kernel for these storages", node_label(model, reader), what, work));
      } else {
        notes.made_dense(fmt::format("update {}", storage), fmt::format("{} a variable is updated with it, and variables are dense", what));
      }
    }
  }

  static NodeId first_reader(const Plan& plan, ValueId value) {
    const auto& model = plan.model();
    for (const auto id : plan.memory().order) {
      const auto* edges = model.edges.data() + model.nodes[id].first_edge;
      if (std::find(edges, edges + model.nodes[id].input_count, value) != edges + model.nodes[id].input_count) return id;
    }
    return none;
  }

  // Variables and states whose shape only the inputs' shapes decide.
  void initialize_late(const std::vector<tenon_type>& types) {
    auto& model = graph.model();
    bool found = false;
    for (ValueId id = 0; id < model.values.size(); ++id) {
      auto& value = model.values[id];
      if (value.tensor != none || (value.role != Role::variable && value.role != Role::state) || !is_known(types[id])) continue;
      value.type = types[id];
      found = true;
    }
    if (found) initialize(model, options.seed);
  }

  // Outputs are made anew for each run, and belong to the caller, unless he says where they go.
  NamedTensors bind_outputs(Plan& plan, const NamedTensors& inputs, const Destinations& destinations) {
    const auto& model = graph.model();
    check_destinations(plan, destinations);
    NamedTensors outputs;
    std::map<ValueId, Tensor> made;
    std::map<ValueId, int> names;
    for (const auto& [name, value] : model.outputs) ++names[value];
    for (const auto& [name, value] : model.outputs) {
      auto& tensor = made[value];
      const auto& record = model.values[value];
      const auto wanted = destinations.find(std::string(model.strings[name]));
      if (record.role == Role::output && plan.types()[value].storage != TENON_DENSE) continue;  // made by the run
      if (!tensor && record.role == Role::output) {
        // what a kernel added to something else is not the value that a second name gives out
        const bool adds = plan.can_add(value) && names[value] == 1;
        const bool direct = wanted != destinations.end() && (wanted->second.write == Write::to || adds);
        tensor =
            direct ? wanted->second.tensor : Tensor::empty(static_cast<DType>(plan.types()[value].dtype), shape_of(plan.types()[value]));
        plan.set_data(value, tensor.data());
        if (plan.can_add(value)) plan.set_add(value, direct && wanted->second.write == Write::add);
      } else if (!tensor) {
        tensor = record.role == Role::input ? inputs.at(std::string(model.strings[record.name])) : model.tensors.at(record.tensor).clone();
      }
      outputs.emplace(model.strings[name], tensor);
    }
    return outputs;
  }

  void take_sparse_outputs(Plan& plan, NamedTensors& outputs) {
    const auto& model = graph.model();
    std::map<ValueId, Tensor> taken;
    for (const auto& [name, value] : model.outputs) {
      if (model.values[value].role != Role::output || plan.types()[value].storage == TENON_DENSE) continue;
      auto& tensor = taken[value];
      if (!tensor) tensor = plan.take_sparse(value);
      outputs.emplace(model.strings[name], tensor);
    }
  }

  void check_destinations(const Plan& plan, const Destinations& destinations) const {
    const auto& model = graph.model();
    for (const auto& [name, destination] : destinations) {
      const auto found = std::find_if(model.outputs.begin(), model.outputs.end(),
                                      [&, &wanted = name](const auto& output) { return model.strings[output.first] == wanted; });
      const auto refuse = [&, &wanted = name](const std::string& what) {
        throw Failure(FailureKind::usage, fmt::format("the destination of output '{}' {}", wanted, what));
      };
      if (found == model.outputs.end()) refuse("is of no use: the graph has no such output");
      if (destination.write != Write::to && destination.write != Write::add) refuse("can be written by `to` and `add` only");
      const auto& type = plan.types()[found->second];
      if (type.storage != TENON_DENSE)
        refuse(
            fmt::format("is of no use: the output is {}, and is taken from what run() gives", name_of(static_cast<Storage>(type.storage))));
      const auto& tensor = destination.tensor;
      if (tensor && tensor.storage() != Storage::dense) refuse("must be dense");
      if (!tensor || !tensor.contiguous()) refuse("must be a contiguous tensor");
      if (tensor.dtype() != static_cast<DType>(type.dtype) || tensor.shape() != shape_of(type))
        refuse(fmt::format("is {} but the output is {}", to_string(type_of(tensor.dtype(), tensor.shape())), to_string(type)));
    }
  }

  // What no kernel could write where it is wanted: a second name of one value, an input given out, a sum that kernels cannot make.
  static void deliver(const Destinations& destinations, NamedTensors& outputs) {
    for (const auto& [name, destination] : destinations) {
      auto& made = outputs.at(name);
      if (made.data() == destination.tensor.data()) continue;
      destination.write == Write::add ? add_elements(made, destination.tensor) : copy_elements(made, destination.tensor);
      made = destination.tensor;
    }
  }

  void update_variables(const Plan& plan) {
    auto& model = graph.model();
    for (const auto& [variable, value] : plan.memory().copies) {
      const auto& to = model.tensors[model.values[variable].tensor];
      if (to.bytes() > 0) std::memcpy(to.data(), plan.tensor(value).dense.data, static_cast<std::size_t>(to.bytes()));
    }
  }

  // kept: contiguous copies, which live until the run is over
  Plan& prepare(const NamedTensors& inputs, std::vector<Tensor>& kept) {
    const auto types = check_inputs(inputs);
    auto& plan = plan_for(types);
    const auto& model = graph.model();
    for (const auto& [value, type] : types) {
      kept.push_back(with_wide_indices(inputs.at(std::string(model.strings[model.values[value].name])).make_contiguous()));
      plan.set_tensor(value, kept.back().abi());
    }
    return plan;
  }

  std::string watch(Plan& plan) {
    const auto& model = graph.model();
    for (ValueId id = 0; id < model.values.size(); ++id)
      if (model.values[id].role != Role::output)
        if (const auto found = non_finite(plan, id); !found.empty()) return fmt::format("'{}': {}", value_label(model, id), found);
    for (std::size_t i = 0; i < plan.steps().size(); ++i) {
      if (plan.steps()[i].function(plan.steps()[i].instance, plan.steps()[i].call) != 0) fail(plan, i);
      const auto& node = plan.model().nodes[plan.node_of(i)];
      for (ValueId id = node.first_output; id < node.first_output + node.output_count; ++id)
        if (const auto found = non_finite(plan, id); !found.empty())
          return fmt::format("{}: {}", node_label(plan.model(), plan.node_of(i)), found);
    }
    return {};
  }

  // Values that the plan does not compute have no memory.
  static std::string non_finite(const Plan& plan, ValueId id) {
    const auto& tensor = plan.tensor(id);
    const auto& type = plan.types()[id];
    if (tensor.dense.data == nullptr || !is_known(type)) return {};
    const auto dtype = static_cast<DType>(type.dtype);
    const auto* elements = static_cast<const std::byte*>(tensor.dense.data) + tensor.dense.byte_offset;
    const auto place = tenon::first_non_finite(dtype, elements, stored_elements(tensor));
    if (place < 0) return {};
    const auto value = visit<floating>(dtype, [&]<class T>() { return static_cast<double>(reinterpret_cast<const T*>(elements)[place]); });
    return fmt::format("element {} is {}", place, value);
  }

  void execute(Plan& plan) {
    for (const auto& step : plan.steps())
      if (step.function(step.instance, step.call) != 0) fail(plan, static_cast<std::size_t>(&step - plan.steps().data()));
  }

  void execute_traced(Plan& plan) {
    const auto& model = plan.model();
    for (std::size_t i = 0; i < plan.steps().size(); ++i) {
      const auto& step = plan.steps()[i];
      const auto begin = Trace::Clock::now();
      if (step.function(step.instance, step.call) != 0) fail(plan, i);
      const auto& node = model.nodes[plan.node_of(i)];
      trace.add(std::string(model.strings[node.name]), work_label(model, node), begin, Trace::Clock::now());
    }
    trace.write(options.trace);
  }

  [[noreturn]] void fail(Plan& plan, std::size_t step) {
    const auto& model = plan.model();
    const auto id = plan.node_of(step);
    OperatorTypes types;
    auto known = plan.types();
    gather_types(model, forward_of(model, model.nodes[id]), TypeTable(known), types);
    const auto& info = *model.operators[model.nodes[id].op].info;
    throw Failure(FailureKind::failed,
                  fmt::format("{}: {} {}", node_label(model, id), error.reason(), describe_inputs(info, types.inputs)));
  }

  Graph graph;
  SessionOptions options;
  ErrorBuffer error;
  std::optional<Kernels> kernels;
  PlanContext context;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Plan>> plans;
  Trace trace;
  std::uint64_t step = 0;
};

Session::Session(Graph graph, SessionOptions options) : impl_(std::make_unique<Impl>(std::move(graph), std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

NamedTensors Session::run(const NamedTensors& inputs, const Destinations& destinations) {
  std::vector<Tensor> kept;
  auto& plan = impl_->prepare(inputs, kept);
  auto outputs = impl_->bind_outputs(plan, inputs, destinations);
  plan.set_step(impl_->step++);
  if (impl_->options.trace.empty())
    impl_->execute(plan);
  else
    impl_->execute_traced(plan);
  impl_->take_sparse_outputs(plan, outputs);
  impl_->update_variables(plan);
  Impl::deliver(destinations, outputs);
  return outputs;
}

std::string Session::first_non_finite(const NamedTensors& inputs) {
  std::vector<Tensor> kept;
  auto& plan = impl_->prepare(inputs, kept);
  const auto outputs = impl_->bind_outputs(plan, inputs, {});
  plan.set_step(impl_->step > 0 ? impl_->step - 1 : 0);
  return impl_->watch(plan);
}

std::string Session::describe_plan(const std::map<std::string, Shape>& shapes) {
  return describe(plan(shapes));
}

const Plan& Session::plan(const std::map<std::string, Shape>& shapes) {
  return impl_->plan_for(input_types(impl_->graph.model(), shapes));
}

std::int64_t Session::plan_bytes(const std::map<std::string, Shape>& shapes) {
  return plan(shapes).placement().bytes;
}

std::uint64_t Session::step() const {
  return impl_->step;
}

void Session::set_step(std::uint64_t step) {
  impl_->step = step;
}

const Graph& Session::graph() const {
  return impl_->graph;
}

}  // namespace tenon
