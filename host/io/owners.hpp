// Counts the owners of a shared object.
#pragma once
#include <cstddef>
#include <memory>

namespace tenon {

/// Whether at least `count` pointers own the object. If not, what threads wrote before they dropped theirs is visible to the caller:
/// use_count() alone does not acquire it, a copy of the pointer does.
template <class T>
bool has_owners(const std::shared_ptr<T>& pointer, std::size_t count) {
  if (static_cast<std::size_t>(pointer.use_count()) >= count) return true;
  [[maybe_unused]] const auto acquired = pointer;
  return false;
}

}  // namespace tenon
