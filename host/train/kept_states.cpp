#include "train/kept_states.hpp"

#include "tensor/tensor_device.hpp"

namespace tenon {

static void copy_on(const Stream& stream, const Tensor& from, const Tensor& to) {
  copy(place_of(to.abi().dense), place_of(from.abi().dense), static_cast<std::uint64_t>(to.bytes()), stream);
}

// Nodes that write a state run where it lies.
KeptStates::KeptStates(Session::Impl& session) {
  for (ValueId id = 0; id < session.tensors.size(); ++id)
    if (const auto& state = session.tensors[id]; state && session.model().values[id].role == Role::state)
      states_.push_back({state, state.clone(), session.streams.of(device_of(state))});
}

void KeptStates::keep() const {
  for (const auto& state : states_) copy_on(state.stream, state.now, state.kept);
}

void KeptStates::put_back() const noexcept {
  try {
    for (const auto& state : states_) copy_on(state.stream, state.kept, state.now);
  } catch (const Failure&) {
    return;  // the step's own failure is on its way
  }
  finish();
}

void KeptStates::finish() const noexcept {
  try {
    for (const auto& state : states_) state.stream.synchronize();
  } catch (const Failure&) {
    return;
  }
}

}  // namespace tenon
