#include "tensor/read_constants.hpp"

#include <algorithm>
#include <cstring>

#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

bool same_elements(const Tensor& left, const Tensor& right) {
  return std::memcmp(left.data(), right.data(), static_cast<std::size_t>(left.bytes())) == 0;
}

}  // namespace

bool ReadConstants::has(const Tensor& constant) const {
  return std::ranges::any_of(read_, [&](const Read& read) {
    return read.constant.data() == constant.data() && read.constant.bytes() == constant.bytes();
  });
}

void ReadConstants::add(const Tensor& constant, std::string name) {
  if (constant.bytes() == 0 || TrackedTensor::constancy(constant) == Constancy::always ||
      has(constant))
    return;
  read_.push_back({constant, constant.clone(), std::move(name)});
  writable_ = true;
}

void ReadConstants::add(const ReadConstants& others) {
  for (const auto& read : others.read_)
    if (!has(read.constant)) read_.push_back(read);
  writable_ = true;
}

// Versions are read ahead of handles and elements: a handle that is taken meanwhile is noticed by
// the next look.
bool ReadConstants::look() {
  const auto versions = TrackedTensor::all_versions();
  if (!writable_ && versions == versions_) [[likely]]
    return false;
  versions_ = versions;
  const bool changed = !find_changed().empty();
  writable_ = changed || std::ranges::any_of(read_, [](const Read& read) {
                return TrackedTensor::may_be_written(read.constant);
              });
  return changed;
}

std::string ReadConstants::find_changed() const {
  const auto found = std::ranges::find_if(
      read_, [](const Read& read) { return !same_elements(read.constant, read.elements); });
  return found == read_.end() ? "" : found->name;
}

}  // namespace tenon
