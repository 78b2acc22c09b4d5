#include "run/session/session_graph.hpp"

#include <algorithm>

#include "device/devices.hpp"
#include "graph/initialize.hpp"
#include "run/session/optimized_graph.hpp"
#include "run/session/tensor_placement.hpp"

namespace tenon {
namespace {

Device& device_for(const SessionOptions& options) {
  return find_device(options.device.empty() ? "cpu" : options.device);
}

// Wraps the tensors, so that handles of the application can be distinguished from the session's.
void hold_constants(const GraphModel& model, const SessionOptions& options, TensorTable& tensors) {
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (tensors[id] && !run_changes(model, options, id))
      tensors[id] = TrackedTensor::track(tensors[id]);
}

// Runs change these tensors, so they cannot share memory with a file or the application.
void copy_changing(const GraphModel& model, const SessionOptions& options, TensorTable& tensors) {
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (tensors[id] && run_changes(model, options, id)) tensors[id] = tensors[id].clone();
}

// Drops tensors of values that are node outputs in this graph; the optimized graph has them as
// constants.
TensorTable tensors_for(const GraphModel& model, TensorTable tensors) {
  tensors.resize(model.values.size());
  for (ValueId id = 0; id < tensors.size(); ++id) {
    const auto& value = model.values[id];
    if (value.role == Role::output) tensors[id] = Tensor();
    if (value.tensor != none && !tensors[id]) tensors[id] = model.tensors[value.tensor];
  }
  return tensors;
}

bool is_variable_or_state(const ValueRecord& value) {
  return value.role == Role::variable || value.role == Role::state;
}

}  // namespace

bool run_changes(const GraphModel& model, const SessionOptions& options, ValueId value) {
  const auto& record = model.values[value];
  return record.role == Role::state || (options.training && record.updated);
}

SessionGraph::SessionGraph(Host::Impl& host, std::shared_ptr<const GraphSnapshot> graph,
                           TensorTable graph_tensors, const SessionOptions& options)
    : snapshot(std::move(graph)),
      tensors(tensors_for(model(), std::move(graph_tensors))),
      kernels(model(), binding(), host.plugins().load("tenon.cast_storage"), device_for(options),
              options.precision),
      options_(options) {
  update_placement();
}

void SessionGraph::update_placement() {
  place_tensors(model(), kernels, options_.training, tensors);
  share_with_workers(model(), kernels, options_.training, tensors);
  hold_constants(model(), options_, tensors);
}

const std::shared_ptr<const Stage>& SessionGraph::stage_for(std::vector<std::string> outputs,
                                                            std::uint64_t& next_id) {
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  if (const auto found = stages_.find(outputs); found != stages_.end()) return found->second;
  auto stage = std::make_shared<Stage>();
  stage->graph = snapshot;
  if (!outputs.empty()) stage->subgraph.emplace(model(), outputs, options_.training);
  constexpr std::size_t max_stages = 256;
  if (stages_.size() == max_stages) stages_.clear();  // only for outputs that the graph has
  stage->id = next_id++;
  return stages_.emplace(std::move(outputs), std::move(stage)).first->second;
}

void SessionGraph::initialize_missing(const std::vector<tenon_type>& types,
                                      std::vector<ValueId>& initialized,
                                      std::vector<ValueId>& random) {
  if (!lacks_values(model(), types, tensors)) return;
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (is_variable_or_state(model().values[id]) && !tensors[id]) initialized.push_back(id);
  const auto drawn = initialize(model(), options_.seed, types, tensors);
  random.insert(random.end(), drawn.begin(), drawn.end());
  update_placement();
}

bool SessionGraph::takes_over(const SessionGraph& other, ValueId id) const {
  return id < std::min(tensors.size(), other.tensors.size()) &&
         is_variable_or_state(model().values[id]) && other.tensors[id] &&
         (!tensors[id] || run_changes(model(), options_, id));
}

bool SessionGraph::adopt(const SessionGraph& other) {
  bool any = false, moved = false;
  for (ValueId id = 0; id < tensors.size(); ++id) {
    if (!takes_over(other, id)) continue;
    const auto& other_tensor = other.tensors[id];
    auto& tensor = tensors[id];
    if (tensor && tensor.data() == other_tensor.data()) continue;
    any = true, moved = moved || tensor;
    tensor = other_tensor;
  }
  if (any) update_placement();
  return moved;
}

// A training session without updates computes gradients for another session, which updates the
// variables.
std::vector<bool> SessionGraph::constants() const {
  std::vector<bool> constant;
  if (options_.optimize == Optimize::none) return constant;
  constant.resize(tensors.size());
  const bool updated_elsewhere = options_.training && model().updates.empty();
  for (ValueId id = 0; id < tensors.size(); ++id) {
    const auto& tensor = tensors[id];
    if (!tensor || run_changes(model(), options_, id) ||
        (updated_elsewhere && model().values[id].role == Role::variable) ||
        tensor.storage() != Storage::dense || !tensor.contiguous() || tensor.device() != "cpu")
      continue;
    constant[id] =
        options_.constant_weights || TrackedTensor::constancy(tensor) != Constancy::changes;
  }
  return constant;
}

SessionGraphs::SessionGraphs(Host::Impl& host, std::shared_ptr<const GraphSnapshot> original,
                             const SessionOptions& options,
                             std::function<void(const SessionGraph&)> drop)
    : host_(host),
      options_(options),
      drop_(std::move(drop)),
      snapshot_(std::move(original)),
      first_tensors_(snapshot_->tensors.of(model())) {
  copy_changing(model(), options_, first_tensors_);
  if (lacks_values(model()))
    random_variables = initialize(model(), options_.seed, declared_types(model()), first_tensors_);
  hold_constants(model(), options_, first_tensors_);
  optimize();
}

SessionGraph& SessionGraphs::original() {
  if (original_ == nullptr)
    original_ = std::make_unique<SessionGraph>(
        host_, snapshot_, last_ != nullptr ? last_->tensors : std::move(first_tensors_), options_);
  if (last_ == nullptr) last_ = original_.get();
  return *original_;
}

std::vector<SessionGraph*> SessionGraphs::all() const {
  std::vector<SessionGraph*> made;
  for (auto* graph : {original_.get(), optimized_.get()})
    if (graph != nullptr) made.push_back(graph);
  return made;
}

const Tensor& SessionGraphs::tensor_of(const SessionGraph& graph, ValueId value) const {
  return (graph.takes_over(*last_, value) ? *last_ : graph).tensors[value];
}

void SessionGraphs::Change::adopt() {
  before_ = next_.tensors;
  try {
    moves_ = next_.adopt(*graphs_.last_);
  } catch (...) {
    undo();
    throw;
  }
  pending_ = true;
}

// Element by element, because executions refer to the table.
void SessionGraphs::Change::undo() noexcept {
  std::move(before_.begin(), before_.end(), next_.tensors.begin());
}

void SessionGraphs::Change::finish() {
  pending_ = false;
  if (moves_) graphs_.drop_(next_);
  graphs_.last_ = &next_;
}

void SessionGraphs::optimize() {
  const auto& now = last_ != nullptr ? last_->tensors : first_tensors_;
  std::vector<bool> is_constant(model().values.size());
  decltype(sources_) sources;
  // Versions are read ahead of handles: a handle that is taken meanwhile is noticed by the next
  // run.
  const auto versions = TrackedTensor::all_versions();
  for (ValueId id = 0; id < is_constant.size(); ++id) {
    const auto& tensor = now[id];
    if (!tensor || model().values[id].role == Role::output || run_changes(model(), options_, id) ||
        tensor.storage() != Storage::dense)
      continue;
    const auto constancy = TrackedTensor::constancy(tensor);
    const auto version = TrackedTensor::version(tensor);
    is_constant[id] = options_.constant_weights || !TrackedTensor::may_be_written(tensor);
    if (is_constant[id] && constancy == Constancy::unless_exposed && !options_.constant_weights)
      sources.emplace_back(id, version);
  }
  auto tensors = tensors_for(model(), now);
  auto snapshot = optimized_graph(host_, snapshot_, options_, tensors, is_constant);
  std::unique_ptr<SessionGraph> made;
  if (snapshot != snapshot_)
    made = std::make_unique<SessionGraph>(host_, std::move(snapshot), std::move(tensors), options_);
  auto& next = made != nullptr ? *made : original();
  if (made == nullptr) sources.clear();
  if (last_ == nullptr) last_ = &next;
  if (last_ == optimized_.get()) Change(*this, next).commit();
  if (optimized_ != nullptr) drop_(*optimized_);
  optimized_ = std::move(made);
  sources_ = std::move(sources);
  versions_ = versions;
  sources_exposed_ = false;
  first_tensors_.clear();  // a graph has them, where it reads them
}

// The optimized graph is rebuilt from elements that the application may have written, once the
// application no longer has a handle to write through. Until then the original graph runs. If that
// fails, the next run tries again.
void SessionGraphs::update() {
  const auto versions = TrackedTensor::all_versions();
  bool exposed = false, changed = false;
  for (const auto& [value, version] : sources_) {
    const auto& tensor = last_->tensors[value];
    exposed = exposed || TrackedTensor::has_application_handle(tensor);
    changed = changed || TrackedTensor::version(tensor) != version;
  }
  if (changed && !exposed) return optimize();
  versions_ = versions;
  sources_exposed_ = exposed;
}

}  // namespace tenon
