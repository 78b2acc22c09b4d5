#include "run/session/state_backup.hpp"

#include <cstring>
#include <tenon/host/failure.hpp>

#include "tensor/tensor_device.hpp"

namespace tenon {

void StateBackup::copy(const Tensor& from, const Tensor& to, std::int64_t bytes) {
  auto& device = device_of(from);
  if (&device_of(to) != &device) {
    synchronize(to);
    copy_bytes(from.abi().dense, to.abi().dense, static_cast<std::uint64_t>(bytes));
  } else if (device.is_cpu())
    std::memcpy(to.data(), from.data(), static_cast<std::size_t>(bytes));
  else
    tenon::copy(address_of(to.abi().dense), address_of(from.abi().dense),
                static_cast<std::uint64_t>(bytes), streams_.of(device));
}

void StateBackup::synchronize(const Tensor& tensor) {
  if (auto& device = device_of(tensor); !device.is_cpu()) streams_.of(device).synchronize();
}

void StateBackup::save(ValueId value, const Tensor& state) {
  if (state.bytes() == 0) return;
  auto& copied = states_[state.data()];
  if (copied.saved) return;
  if (!copied.before || copied.before.bytes() < state.bytes() ||
      copied.before.device() != state.device())
    copied.before = Tensor::empty(state.dtype(), state.shape(), state.device());
  copied.now = state;
  copied.value = value;
  copy(state, copied.before, state.bytes());
  copied.saved = true;
  saved_.push_back(&copied);
}

void StateBackup::save_destination(const Tensor& destination) {
  if (destination.bytes() == 0) return;
  destinations_.push_back({destination, destination.clone()});
}

void StateBackup::restore(const TensorTable& tensors) noexcept {
  try {
    // A value that moved was saved in its old memory first: that copy is restored last.
    for (auto each = saved_.rbegin(); each != saved_.rend(); ++each) {
      const auto& [now, before, saved, value] = **each;
      copy(before, now, now.bytes());
      if (value < tensors.size() && tensors[value] && tensors[value].data() != now.data())
        copy(before, tensors[value], now.bytes());
    }
    for (auto* state : saved_) synchronize(state->now);
    // the latest copy first: stages may have saved the same memory one after another
    for (auto each = destinations_.rbegin(); each != destinations_.rend(); ++each)
      copy_bytes(each->before.abi().dense, each->now.abi().dense,
                 static_cast<std::uint64_t>(each->now.bytes()));
  } catch (const Failure&) {
    // the run's own failure is already being reported
  }
  discard();
}

// Memory for copies of other states is freed once it is more than this run needs.
void StateBackup::clear() {
  if (states_.size() > 2 * saved_.size())
    std::erase_if(states_, [](const auto& state) { return !state.second.saved; });
  for (auto* state : saved_) {
    state->saved = false;
    state->now = Tensor();
  }
  saved_.clear();
  destinations_.clear();
}

}  // namespace tenon
