#include "plan/lanes/step_order.hpp"

#include <algorithm>
#include <unordered_map>

namespace tenon {
namespace {

/// Who used each place last: a piece of memory, or an object that has one user at a time. Places are numbered, values first.
class LastUses {
 public:
  LastUses(const Plan& plan, const Kernels& kernels)
      : plan_(plan),
        kernels_(kernels),
        writers_(plan.types().size(), none),
        changes_(plan.types().size()),
        first_users_(plan.model().nodes.size(), none) {
    const auto& model = plan.model();
    for (ValueId value = 0; value < changes_.size(); ++value) changes_[value] = model.values[value].role == Role::state;
    for (const auto& [value, variable] : plan.memory.updated) changes_[variable] = true;
    for (const auto& sum : plan.memory.fused_sums) changes_[plan.memory.root[sum.sum]] = true;
  }

  /// The steps that this one follows, until the next one is asked for; later ones follow it.
  std::span<std::uint32_t> use(std::uint32_t step) {
    before_.clear();
    for_each_access(plan_, step, [&](ValueId value, bool written) { use_place(place_of(value), step, written); });
    const auto id = plan_.node_of(step);
    for (const auto node : plan_.graph.nodes_at(id))
      if (!plan_.graph.copies_at(node) && kernels_.keep_state(plan_.model(), node)) use_kernel(node, step);
    if (const auto* worker = plan_.graph.worker_of(id)) use_object(worker, step);
    if (plan_.graph.binding().nodes[id].info->communicates) use_object(&users_, step);  // stands for the other processes
    return before_;
  }

 private:
  ValueId place_of(ValueId value) const {
    const auto root = plan_.memory.root[value];
    const auto updated = plan_.memory.updated.find(root);
    return updated == plan_.memory.updated.end() ? root : updated->second;
  }

  // Readers count only where somebody writes after them.
  void use_place(std::uint32_t place, std::uint32_t step, bool written) {
    if (writers_[place] != none) add(writers_[place], step);
    if (!changes_[place]) {
      if (written) writers_[place] = step;
      return;
    }
    auto& readers = readers_[place];
    if (!written) return readers.push_back(step);
    for (const auto reader : readers) add(reader, step);
    readers.clear();
    writers_[place] = step;
  }

  // A node's backward and forward share their objects. Mostly they use the first of them.
  void use_kernel(NodeId id, std::uint32_t step) {
    const auto& node = plan_.model().nodes[id];
    if (plan_.graph.kernels[id] != 0) return use_object(plan_.graph.kernel_of(id, kernels_).get(), step);
    auto& last = first_users_[node.pass == Pass::backward ? node.origin : id];
    if (last != none) add(last, step);
    last = step;
  }

  void use_object(const void* object, std::uint32_t step) {
    const auto [found, first] = users_.try_emplace(object, step);
    if (first) return;
    add(found->second, step);
    found->second = step;
  }

  void add(std::uint32_t earlier, std::uint32_t step) {
    if (earlier != step) before_.push_back(earlier);
  }

  const Plan& plan_;
  const Kernels& kernels_;
  std::vector<std::uint32_t> writers_;                                     // of each place; none: nobody
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> readers_;  // since then
  std::vector<bool> changes_;                                              // written more than once, or after it was read
  std::vector<std::uint32_t> first_users_;                                 // of the first object of each node
  std::unordered_map<const void*, std::uint32_t> users_;                   // of others, and of workers
  std::vector<std::uint32_t> before_;
};

}  // namespace

void StepOrder::add(std::span<std::uint32_t> before_next) {
  std::sort(before_next.begin(), before_next.end());
  before_.insert(before_.end(), before_next.begin(), std::unique(before_next.begin(), before_next.end()));
  first_.push_back(static_cast<std::uint32_t>(before_.size()));
}

// Where each one follows the step before it, there is one order.
bool StepOrder::has_width() const {
  for (std::uint32_t step = 1; step < count(); ++step)
    if (before(step).empty() || before(step).back() != step - 1) return true;
  return false;
}

StepOrder order_of_steps(const Plan& plan, const Kernels& kernels) {
  StepOrder order;
  LastUses uses(plan, kernels);
  for (std::uint32_t step = 0; step < plan.step_count(); ++step) order.add(uses.use(step));
  return order;
}

}  // namespace tenon
