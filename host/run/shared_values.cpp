#include "run/shared_values.hpp"

#include <map>

#include "run/session/session_impl.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {

const Graph& SharedValues::graph() const {
  return session_.graph;
}

const Tensor& SharedValues::tensor(std::string_view name) const {
  return session_.tensor(name);
}

void SharedValues::share_with(Graph& graph, const std::vector<std::string>& names) const {
  std::map<ValueId, Tensor> shared;
  for (const auto& name : names) shared.emplace(find_value(model_of(graph), name), tensor(name));
  impl_of(graph).set_tensors([&](ValueId id) {
    const auto found = shared.find(id);
    return found == shared.end() ? Tensor() : found->second;
  });
}

std::vector<SharedValues::State> SharedValues::states() const {
  std::vector<State> states;
  const auto& model = session_.model();
  for (ValueId id = 0; id < model.values.size(); ++id) {
    if (model.values[id].role != Role::state) continue;
    if (const auto& state = session_.tensor(id))
      states.push_back({value_label(model, id), state, session_.streams.of(device_of(state))});
  }
  return states;
}

void SharedValues::skip_sum_restore() {
  session_.restores_sums = false;
}

}  // namespace tenon
