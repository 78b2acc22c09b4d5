#include "run/session/planning_constants.hpp"

#include <algorithm>
#include <cstring>

#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

bool may_be_written(const Tensor& constant) {
  switch (TrackedTensor::constancy(constant)) {
    case Constancy::always:
      return false;
    case Constancy::unless_exposed:
      return TrackedTensor::has_application_handle(constant);
    case Constancy::changes:
      break;
  }
  return true;
}

bool same_elements(const Tensor& left, const Tensor& right) {
  return std::memcmp(left.data(), right.data(), static_cast<std::size_t>(left.bytes())) == 0;
}

}  // namespace

void PlanningConstants::add(const Tensor& constant) {
  if (constant.bytes() == 0 || TrackedTensor::constancy(constant) == Constancy::always ||
      std::ranges::any_of(
          read_, [&](const Read& read) { return read.constant.data() == constant.data(); }))
    return;
  read_.push_back({constant, constant.clone()});
  writable_ = true;
}

// Versions are read ahead of handles and elements: a handle that is taken meanwhile is noticed by
// the next look.
bool PlanningConstants::look() {
  const auto versions = TrackedTensor::all_versions();
  if (!writable_ && versions == versions_) [[likely]]
    return false;
  versions_ = versions;
  writable_ =
      std::ranges::any_of(read_, [](const Read& read) { return may_be_written(read.constant); });
  return !std::ranges::all_of(
      read_, [](const Read& read) { return same_elements(read.constant, read.elements); });
}

}  // namespace tenon
