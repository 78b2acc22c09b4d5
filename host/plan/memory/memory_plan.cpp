#include "plan/memory/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "device/current_device.hpp"
#include "device/devices.hpp"
#include "graph/inference.hpp"
#include "graph/operator_use.hpp"
#include "io/counted.hpp"
#include "plan/memory/writers.hpp"
#include "plan/running_order.hpp"

namespace tenon {
namespace {

bool same_dims(const tenon_type& left, const tenon_type& right) {
  return left.rank == right.rank && std::equal(left.dims, left.dims + left.rank, right.dims);
}

// Says which elements its inference would have used; empty: none.
std::string wanted_values(const GraphModel& model, const Binding& binding, NodeId id, std::vector<tenon_type> types) {
  const auto& bound = binding.nodes[id];
  if (bound.instance == nullptr) return {};
  OperatorTypes around;
  gather_types(model, model.nodes[id], TypeTable(types), around);
  infer_operator(*bound.op, bound.instance->get(), around);
  for (std::size_t i = 0; i < around.wanted.size(); ++i)
    if (around.wanted[i] != 0)
      return fmt::format("the shape follows from the elements of input '{}', which must be a constant",
                         bound.info->inputs[declared_input(*bound.info, i)].name);
  return {};
}

// Whether infer() knew all that it could know, and said nothing of the output's rank.
bool lacks_shape(const GraphModel& model, const NodeRecord& node, ValueId output, const std::vector<tenon_type>& types) {
  const auto* edges = model.edges.data() + node.first_edge;
  return types[output].rank < 0 &&
         std::all_of(edges, edges + node.input_count, [&](ValueId value) { return value == none || is_known(types[value]); });
}

void require_known(const GraphModel& model, const Binding& binding, NodeId id, const std::vector<tenon_type>& types,
                   const std::vector<std::uint32_t>& readers) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.output_count + node.input_count; ++i) {
    const bool output = i < node.output_count;
    const auto value = output ? node.first_output + i : model.edges[node.first_edge + i - node.output_count];
    if (value == none || (output && node.pass == Pass::backward && readers[value] == 0)) continue;
    if (is_known(types[value]) && byte_count(types[value]) >= 0) continue;
    if (output && types[value].storage == TENON_STORAGE_UNKNOWN) {  // its kernel allocates it
      if (types[value].dtype != TENON_DTYPE_UNKNOWN) continue;
      throw Failure(FailureKind::failed, fmt::format("{}: output {} is {}, but its kernel can allocate it only if infer() gives its dtype",
                                                     node_label(model, id), value_label(model, value), to_string(types[value])));
    }
    const auto& info = *binding.nodes[id].info;
    const bool overflow = is_known(types[value]);
    const auto what = overflow                                    ? ", more than memory can hold"
                      : types[value].dtype == TENON_DTYPE_UNKNOWN ? " but its dtype and its whole shape must be known"
                                                                  : " but its whole shape must be known";
    const auto wanted = overflow || !output ? std::string() : wanted_values(model, binding, id, types);
    throw Failure(FailureKind::failed,
                  fmt::format("{}: {} {} is {}{}", node_label(model, id), output ? "output" : "input", value_label(model, value),
                              to_string(types[value]), what),
                  overflow          ? ""
                  : !wanted.empty() ? wanted
                  : output && lacks_shape(model, node, value, types)
                      ? "its infer() gives the output no shape; a scalar is tenon::Shape::scalar(), and tenon::Shape{} is a shape that is "
                        "not known"
                      : fmt::format("give the missing dimensions or dtypes at the graph's inputs and variables; {} takes {}", info.name,
                                    counted(info.inputs.size(), "input")));
  }
}

// Shapes and kernels may ask for anything.
void require_sum(const std::vector<Buffer>& buffers) {
  std::int64_t sum = 0;
  for (const auto& buffer : buffers)
    if (buffer.bytes < 0 || __builtin_add_overflow(sum, buffer.bytes, &sum) || sum > INT64_MAX / 2)
      throw Failure(FailureKind::failed, "the values and workspaces of the graph need more than memory can hold");
}

class MemoryPlanner {
 public:
  explicit MemoryPlanner(std::vector<tenon_type> types) { plan_.types = std::move(types); }

  MemoryPlan run(const Lowered& graph, const Kernels& kernels, bool training) {
    const auto& model = graph.model();
    const auto& binding = graph.binding();
    plan_.order = running_order(graph, training);
    auto readers = count_readers(model, plan_.order, training);
    plan_.readers = std::move(readers.all);
    output_names_ = std::move(readers.output_names);
    for (const auto id : plan_.order) {
      require_known(model, binding, id, plan_.types, plan_.readers);
      if (model.nodes[id].pass == Pass::backward) require_known(model, binding, model.nodes[id].origin, plan_.types, plan_.readers);
    }
    plan_.arenas.push_back({&cpu_device(), nullptr, {}});
    fuse(graph);
    find_last_uses(model);
    if (training) find_updates(model, binding);
    plan_.isolates = std::any_of(plan_.order.begin(), plan_.order.end(), [&](NodeId id) { return graph.worker_of(id) != nullptr; });
    writers_ = find_writers(graph, plan_);
    find_buffers(graph);
    add_workspaces(graph, kernels);
    require_sum(plan_.buffers);
    place_by_device();
    return std::move(plan_);
  }

 private:
  void fuse(const Lowered& graph);
  void find_last_uses(const GraphModel& model);
  void find_updates(const GraphModel& model, const Binding& binding);
  void find_buffers(const Lowered& graph);
  std::uint8_t place_output(const Lowered& graph, std::uint32_t step, std::uint32_t output);
  bool is_sparse(ValueId value) const { return plan_.types[value].storage != TENON_DENSE; }
  std::uint32_t inside_readers(ValueId value) const { return plan_.readers[value] - output_names_[value]; }
  bool reuse_input(const Lowered& graph, std::uint32_t step, std::uint32_t output);
  void add_workspaces(const Lowered& graph, const Kernels& kernels);
  std::uint32_t add_buffer(Device& device, const IsolatedPlugin* writer, const Buffer& buffer);
  void place_by_device();

  MemoryPlan plan_;
  std::vector<std::uint32_t> output_names_;     // of each value: how many outputs of the graph it is
  std::vector<bool> adds_;                      // written by adding to what lies there
  std::vector<const IsolatedPlugin*> writers_;  // as find_writers() finds them
  std::vector<std::uint32_t> last_use_;         // of a piece of memory's owner: the last step that reads any of the values in it
};

// A fused sum and its two sides are one piece of memory; the sum stands for all three.
void MemoryPlanner::fuse(const Lowered& graph) {
  const auto& model = graph.model();
  plan_.root.resize(model.values.size());
  for (ValueId value = 0; value < plan_.root.size(); ++value) plan_.root[value] = value;
  adds_.assign(model.values.size(), false);
  std::vector<bool> skipped(model.nodes.size());
  auto sums = fuse_sums(graph, plan_.types, plan_.order, plan_.readers);
  std::reverse(sums.begin(), sums.end());  // later sums first: theirs is the memory of earlier ones
  for (const auto& [node, left, right, sum] : sums) {
    skipped[node] = true;
    plan_.root[left] = plan_.root[right] = plan_.root[sum];
    adds_[right] = true;
    if (output_names_[plan_.root[sum]] > 0)
      for (const auto member : {left, right, sum}) plan_.members[plan_.root[sum]].push_back(member);
  }
  plan_.fused_sums = std::move(sums);
  std::erase_if(plan_.order, [&](NodeId id) { return skipped[id]; });
}

void MemoryPlanner::find_last_uses(const GraphModel& model) {
  last_use_.assign(model.values.size(), none);
  for (std::uint32_t step = 0; step < plan_.order.size(); ++step) {
    const auto& node = model.nodes[plan_.order[step]];
    for (std::uint32_t i = 0; i < node.output_count; ++i) last_use_[plan_.root[node.first_output + i]] = step;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none) last_use_[plan_.root[value]] = step;
  }
}

// A variable's new value goes straight into its memory where the operator says it may and nobody reads the old one later.
void MemoryPlanner::find_updates(const GraphModel& model, const Binding& binding) {
  const auto in_place = [&](ValueId variable, ValueId value) {
    const auto producer = model.values[value].producer;
    if (producer == none || plan_.readers[value] != 1 || plan_.root[value] != value) return false;
    const auto& node = model.nodes[producer];
    if (node.pass != Pass::forward) return false;
    const auto* edges = model.edges.data() + node.first_edge;
    if (std::count(edges, edges + node.input_count, variable) != 1 || plan_.order[last_use_[variable]] != producer) return false;
    const auto& pairs = binding.nodes[producer].info->inplace;
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const auto& pair) {
                         const auto input = static_cast<std::uint32_t>(pair.first);
                         return input < node.input_count && edges[input] == variable &&
                                static_cast<std::uint32_t>(pair.second) == model.values[value].index;
                       }) &&
           plan_.types[variable].dtype == plan_.types[value].dtype && same_dims(plan_.types[variable], plan_.types[value]);
  };
  for (const auto& [variable, value] : model.updates) {
    if (in_place(variable, value)) {
      plan_.updated.emplace(value, variable);
    } else {
      plan_.copies.emplace_back(variable, value);
      if (model.values[value].producer != none) last_use_[plan_.root[value]] = static_cast<std::uint32_t>(plan_.order.size() - 1);
    }
  }
}

void MemoryPlanner::find_buffers(const Lowered& graph) {
  plan_.buffer_of.assign(graph.model().values.size(), none);
  for (std::uint32_t step = 0; step < plan_.order.size(); ++step) {
    const auto& node = graph.model().nodes[plan_.order[step]];
    plan_.first_write.push_back(static_cast<std::uint32_t>(plan_.writes.size()));
    for (std::uint32_t i = 0; i < node.output_count; ++i) plan_.writes.push_back(place_output(graph, step, i));
  }
}

// Whether a parameter hides the output. Other hidden outputs are always written: kernels may use them as memory of their own.
bool is_left_out(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info, std::uint32_t output) {
  std::uint32_t end = 0;
  for (const auto& declared : info.outputs)
    if (output < (end += count_of(model, node, declared))) return declared.left_out;
  return false;
}

// Finds memory for an output; how it is written.
std::uint8_t MemoryPlanner::place_output(const Lowered& graph, std::uint32_t step, std::uint32_t output) {
  const auto& model = graph.model();
  const auto& node = model.nodes[plan_.order[step]];
  const auto value = node.first_output + output;
  const auto root = plan_.root[value];
  const auto& info = *graph.binding().nodes[plan_.order[step]].info;
  if (plan_.readers[value] == 0 && (node.pass == Pass::backward || is_left_out(model, node, info, output))) return TENON_WRITE_NONE;
  if (is_sparse(value)) return TENON_WRITE_TO;
  if (plan_.updated.contains(value)) return TENON_WRITE_IN_PLACE;
  if (adds_[value]) {
    plan_.buffer_of[value] = plan_.buffer_of[root];
    return TENON_WRITE_ADD;
  }
  if (output_names_[root] > 0) {
    const bool adds = graph.accumulates(plan_.order[step], output) && inside_readers(root) == 0;
    plan_.output_writes.emplace(root, MemoryPlan::OutputWrite{plan_.writes.size(), adds});
    return TENON_WRITE_TO;
  }
  if (reuse_input(graph, step, output)) return TENON_WRITE_IN_PLACE;
  // what is given to a run is copied while kernels run, so its copy's memory must not be theirs
  const auto first = graph.copies_given(plan_.order[step]) ? 0 : step;
  plan_.buffer_of[value] = plan_.buffer_of[root] =
      add_buffer(*graph.places[value], writers_[root], {byte_count(plan_.types[value]), first, last_use_[root]});
  return TENON_WRITE_TO;
}

// An output may take over the memory of an input that it was declared in place with, that nobody reads later, and that is the plan's own.
// Of a backward node these are the gradients: its first inputs are those of its origin's outputs. A worker process does so only where it
// wrote itself; elsewhere it would need a copy.
bool MemoryPlanner::reuse_input(const Lowered& graph, std::uint32_t step, std::uint32_t output) {
  const auto& model = graph.model();
  const auto& node = model.nodes[plan_.order[step]];
  const auto* worker = graph.worker_of(plan_.order[step]);
  const auto& info = *graph.binding().nodes[plan_.order[step]].info;
  const auto* edges = model.edges.data() + node.first_edge;
  const auto value = node.first_output + output;
  for (const auto& [input, wanted] : node.pass == Pass::backward ? info.backward_inplace : info.inplace) {
    const auto i = static_cast<std::uint32_t>(input);
    if (static_cast<std::uint32_t>(wanted) != output || i >= node.input_count || edges[i] == none) continue;
    const auto source = plan_.root[edges[i]];
    if (plan_.buffer_of[source] == none || last_use_[source] != step || std::count(edges, edges + node.input_count, edges[i]) != 1)
      continue;
    const bool here = worker == nullptr && graph.worker_of(model.values[source].producer) == nullptr;
    if (!here && (writers_[source] == nullptr || writers_[source] != writers_[plan_.root[value]])) continue;
    const auto &from = plan_.types[source], &to = plan_.types[value];
    if (from.dtype != to.dtype || from.layout != to.layout || byte_count(from) != byte_count(to)) continue;
    if (info.elementwise && !same_dims(from, to)) continue;
    auto& buffer = plan_.buffers[plan_.buffer_of[source]];
    const auto* earlier = plan_.buffer_of.data() + node.first_output;
    if (std::count(earlier, earlier + output, plan_.buffer_of[source]) != 0) continue;  // another output has taken it
    plan_.buffer_of[value] = plan_.buffer_of[plan_.root[value]] = plan_.buffer_of[source];
    buffer.last = last_use_[plan_.root[value]];
    return true;
  }
  return false;
}

void MemoryPlanner::add_workspaces(const Lowered& graph, const Kernels& kernels) {
  const auto& model = graph.model();
  OperatorTypes types;
  plan_.workspace_buffer.assign(plan_.order.size(), none);
  plan_.workspace_bytes.assign(plan_.order.size(), 0);
  for (std::uint32_t step = 0; step < plan_.order.size(); ++step) {
    const auto id = plan_.order[step];
    const auto& node = model.nodes[id];
    const bool backward = node.pass == Pass::backward;
    if (const auto* chain = graph.chain_at(id); chain != nullptr) {
      plan_.workspace_bytes[step] = chain->scratch_bytes();
    } else {
      const auto& kernel = graph.kernel_of(id, kernels);
      if (graph.copies_at(id) || kernel.table()->workspace == nullptr) continue;
      gather_types(model, forward_of(model, node), TypeTable(plan_.types), types);
      const auto dispatch = dispatch_of(backward, graph.sparse[id]);
      const CurrentDevice current(*graph.devices[id]);  // how much scratch a library wants follows the device
      plan_.workspace_bytes[step] =
          at_node(model, id, [&] { return workspace_bytes(*graph.binding().nodes[id].info, kernel, dispatch, types); });
    }
    if (plan_.workspace_bytes[step] == 0) continue;
    plan_.workspace_buffer[step] =
        add_buffer(*graph.devices[id], nullptr, {static_cast<std::int64_t>(plan_.workspace_bytes[step]), step, step});
  }
}

std::uint32_t MemoryPlanner::add_buffer(Device& device, const IsolatedPlugin* writer, const Buffer& buffer) {
  auto& arenas = plan_.arenas;
  auto arena =
      std::find_if(arenas.begin(), arenas.end(), [&](const auto& each) { return each.device == &device && each.writer == writer; });
  if (arena == arenas.end()) arena = arenas.insert(arena, {&device, writer, {}});
  plan_.arena_of.push_back(static_cast<std::uint32_t>(arena - arenas.begin()));
  plan_.buffers.push_back(buffer);
  return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
}

void MemoryPlanner::place_by_device() {
  plan_.offsets.resize(plan_.buffers.size());
  for (std::uint32_t arena = 0; arena < plan_.arenas.size(); ++arena) {
    std::vector<Buffer> buffers;
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id = 0; id < plan_.buffers.size(); ++id) {
      if (plan_.arena_of[id] != arena) continue;
      buffers.push_back(plan_.buffers[id]);
      ids.push_back(id);
    }
    auto& placement = plan_.arenas[arena].placement = place(buffers);
    for (std::size_t i = 0; i < ids.size(); ++i) plan_.offsets[ids[i]] = placement.offsets[i];
  }
}

}  // namespace

std::int64_t MemoryPlan::offset_of(ValueId value) const {
  const auto buffer = buffer_of[root[value]];
  return buffer == none ? -1 : offsets[buffer];
}

std::int64_t MemoryPlan::bytes() const {
  return std::accumulate(arenas.begin(), arenas.end(), std::int64_t{0},
                         [](std::int64_t sum, const DeviceArena& arena) { return sum + arena.placement.bytes; });
}

std::int64_t MemoryPlan::lower_bound() const {
  return std::accumulate(arenas.begin(), arenas.end(), std::int64_t{0},
                         [](std::int64_t sum, const DeviceArena& arena) { return sum + arena.placement.lower_bound; });
}

MemoryPlan plan_memory(const Lowered& graph, const Kernels& kernels, bool training, std::vector<tenon_type> types) {
  return MemoryPlanner(std::move(types)).run(graph, kernels, training);
}

}  // namespace tenon
