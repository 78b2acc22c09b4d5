#include "train/step_state_backup.hpp"

#include <fmt/format.h>

#include <cstring>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>
#include <type_traits>

#include "tensor/add_elements.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {

static void copy_on(const Stream& stream, const Tensor& from, const Tensor& to) {
  copy(address_of(to.abi().dense), address_of(from.abi().dense),
       static_cast<std::uint64_t>(to.bytes()), stream);
}

// Nodes that write a state run on its device.
StepStateBackup::StepStateBackup(const SharedValues& values) {
  for (auto& [name, tensor, stream] : values.states())
    states_.push_back({name, tensor, tensor.clone(), stream});
}

void StepStateBackup::save() const {
  for (const auto& state : states_) copy_on(state.stream, state.now, state.backup);
}

void StepStateBackup::put_back() const noexcept {
  try {
    restore();
  } catch (const Failure&) {
    return;  // the step's own failure is already being reported
  }
  finish();
}

void StepStateBackup::restore() const {
  for (const auto& state : states_) copy_on(state.stream, state.backup, state.now);
}

std::vector<Tensor> StepStateBackup::copies() const {
  std::vector<Tensor> copies;
  for (const auto& state : states_) {
    state.stream.synchronize();
    copies.push_back(state.now.clone().to("cpu"));
  }
  return copies;
}

void StepStateBackup::add(std::vector<Tensor>& left, const std::vector<Tensor>& right) const {
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (floating.has(left[i].dtype()))
      add_elements(right[i], left[i]);
    else
      require_equal(i, left[i], right[i]);
  }
}

void StepStateBackup::require_equal(std::size_t i, const Tensor& left, const Tensor& right) const {
  if (std::memcmp(left.data(), right.data(), static_cast<std::size_t>(left.bytes())) == 0) return;
  throw Failure(FailureKind::failed,
                fmt::format("the state '{}' is {} and differs between the step's micro-batches: "
                            "only floating-point states can be averaged",
                            states_[i].name, name_of(left.dtype())),
                "train with one micro-batch (micro_batches = 1)");
}

void StepStateBackup::set_to_means(const std::vector<Tensor>& sums,
                                   std::int64_t micro_batches) const {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (floating.has(sums[i].dtype()))
      visit<floating>(sums[i].dtype(), [&]<class T>() {
        using Number = std::conditional_t<sizeof(T) == 2, float, T>;
        for (auto& element : sums[i].values<T>())
          element =
              static_cast<T>(static_cast<Number>(element) / static_cast<Number>(micro_batches));
      });
    copy_elements(sums[i], states_[i].now);
  }
}

void StepStateBackup::finish() const noexcept {
  try {
    for (const auto& state : states_) state.stream.synchronize();
  } catch (const Failure&) {
    return;
  }
}

}  // namespace tenon
