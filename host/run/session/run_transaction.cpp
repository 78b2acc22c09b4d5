#include "run/session/run_transaction.hpp"

namespace tenon {

void RunTransaction::save(ValueId value, const Tensor& changed) {
  if (!changed) return;
  backup_.save(value, changed);
  if (parent_ != nullptr) parent_->save(value, changed);
}

void RunTransaction::save_changes(const Planned& planned, bool fails_late) {
  const auto& execution = *planned.execution;
  if (fails_late || parent_ != nullptr || !execution.changes_last())
    for (const auto value : execution.changes()) save(value, planned.graph->tensors[value]);
}

// A parent's runs have no such destinations.
void RunTransaction::save_sums(const Plan& plan, const Destinations& destinations) {
  const auto& model = plan.model();
  for (const auto& [name, value] : model.outputs)
    if (const auto requested = destinations.find(std::string(model.strings[name]));
        requested != destinations.end() && requested->second.write == Write::add)
      backup_.save_destination(requested->second.tensor);
}

void RunTransaction::roll_back() {
  backup_.restore(planner_.tensors());
  if (initialized.empty()) return;
  planner_.drop_values(initialized);
  initialized.clear();
}

void RunTransaction::add_to_parent() {
  parent_->initialized.insert(parent_->initialized.end(), initialized.begin(), initialized.end());
}

}  // namespace tenon
