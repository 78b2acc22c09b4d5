// Checks the number of owners of a shared object.
#pragma once
#include <cstddef>
#include <memory>

namespace tenon {

/// Returns whether at least `count` pointers own the object. If not, the writes of threads that
/// dropped theirs are visible to the caller: use_count() alone does not acquire them, copying the
/// pointer does.
template <class T>
bool has_owners(const std::shared_ptr<T>& pointer, std::size_t count) {
  if (static_cast<std::size_t>(pointer.use_count()) >= count) return true;
  [[maybe_unused]] const auto acquired = pointer;
  return false;
}

}  // namespace tenon
