// A session's variables, states and constants: whose memory they have, and which of them stay as they are.
#include <fmt/format.h>

#include "graph/initialize.hpp"
#include "run/session_impl.hpp"
#include "tensor/held_tensor.hpp"

namespace tenon {

bool Session::Impl::changes(ValueId value) const {
  const auto& record = model().values[value];
  return record.role == Role::state || (options.training && record.updated);
}

// These cannot stay in a file's memory or in somebody else's tensor.
void Session::Impl::own_changing() {
  const auto own = [&](ValueId id) {
    if (tensors[id]) tensors[id] = tensors[id].clone();
  };
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (model().values[id].role == Role::state) own(id);
  if (options.training)
    for (const auto& [variable, value] : model().updates) own(variable);
}

// As graphs do, so that handles of an application can be told from these.
void Session::Impl::hold_constants() {
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (tensors[id] && !changes(id)) tensors[id] = HeldTensor::hold(tensors[id]);
}

// A session that trains and updates nothing computes gradients, by which another session updates the variables.
std::vector<bool> Session::Impl::constants() const {
  std::vector<bool> constant;
  if (options.optimize == Optimize::none) return constant;
  constant.resize(tensors.size());
  const bool updated_elsewhere = options.training && model().updates.empty();
  for (ValueId id = 0; id < tensors.size(); ++id) {
    const auto& tensor = tensors[id];
    if (!tensor || changes(id) || (updated_elsewhere && model().values[id].role == Role::variable) || tensor.storage() != Storage::dense ||
        !tensor.contiguous() || tensor.device() != "cpu")
      continue;
    const auto constancy = HeldTensor::constancy(tensor);
    constant[id] = options.constant_weights || constancy != Constancy::changes;
  }
  return constant;
}

// The shapes of some variables and states are known only when those of inputs are.
void Session::Impl::initialize_missing(const std::vector<tenon_type>& types) {
  if (!lacks_values(model(), types, tensors)) return;
  const auto random = initialize(model(), options.seed, types, tensors);
  random_variables.insert(random_variables.end(), random.begin(), random.end());
  kernels ? place() : hold_constants();
}

const Tensor& Session::Impl::tensor(ValueId value) const {
  static const Tensor empty;
  if (value == none) throw Failure(FailureKind::usage, "an empty value has no elements");
  const auto role = written->model.values[value].role;
  if (role == Role::output || role == Role::input)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is {}, and a session keeps variables, states and constants only", value_label(written->model, value),
                              role == Role::input ? "an input" : "made by a node"),
                  "a value that is an output of the graph is among the results of run()");
  return tensors[value];
}

Tensor Session::Impl::copy_of(ValueId value) const {
  const auto& own = tensor(value);
  if (!own) return own;
  const Tensor here = own.to("cpu");
  return here.stored_values().data() == own.stored_values().data() && changes(value) ? here.clone() : here;
}

}  // namespace tenon
