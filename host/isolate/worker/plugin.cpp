#include "isolate/worker/plugin.hpp"

#include <dlfcn.h>

namespace tenon::isolate {

const tenon_operator* Plugin::table(std::string_view symbol, std::uint32_t* missing) {
  const std::lock_guard lock(mutex_);
  if (const auto known = tables_.find(symbol); known != tables_.end()) return known->second;
  const std::string name(symbol);
  const auto get = reinterpret_cast<tenon_get_function>(dlsym(library_, name.c_str()));
  const auto* table = get == nullptr ? nullptr : get(&host_);
  if (table != nullptr) tables_.emplace(name, table);
  if (missing != nullptr) *missing = get == nullptr ? 1 : table == nullptr ? 2 : 0;
  return table;
}

std::uint64_t Plugin::add(const Object& object) {
  const std::lock_guard lock(mutex_);
  objects_.emplace(++last_, object);
  return last_;
}

Object Plugin::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(number);
  return found == objects_.end() ? Object{} : found->second;
}

Object Plugin::remove(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(number);
  if (found == objects_.end()) return {};
  const auto object = found->second;
  objects_.erase(found);
  return object;
}

}  // namespace tenon::isolate
