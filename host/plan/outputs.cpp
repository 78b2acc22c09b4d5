#include "plan/passes.hpp"
#include "plan/stages.hpp"

namespace tenon {
namespace {

// Values computed during planning are passed to the run like inputs.
void make_input(GraphModel& model, ValueId value) {
  const auto label = value_label(model, value);
  auto& record = model.values[value];
  record.role = Role::input;
  record.name = model.strings.intern(label);
  record.producer = none;
}

bool same_updates(const PlanDraft& draft) {
  return !draft.request.training ||
         draft.model().updates == draft.request.requested_outputs->updates;
}

}  // namespace

void select_outputs(PlanDraft& draft) {
  const auto* requested = draft.request.requested_outputs;
  if (requested == nullptr) return;
  draft.graph().partial = requested->partial;
  const bool same = requested->device_output_count == 0 &&
                    draft.model().outputs == requested->outputs && same_updates(draft);
  if (same && requested->evaluated.empty()) return;
  auto& model = draft.edit().model;
  for (const auto value : requested->evaluated) make_input(model, value);
  model.outputs = requested->outputs;
  model.updates = requested->updates;
  for (auto i = model.outputs.size() - requested->device_output_count; i < model.outputs.size();
       ++i)
    model.outputs[i].first =
        model.strings.intern(for_later + value_label(model, model.outputs[i].second));
}

}  // namespace tenon
