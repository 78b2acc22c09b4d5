#include "file/tenon/file_types.hpp"

#include <cstring>

namespace tenon {

std::uint32_t FileTypes::operator()(const tenon_type& type) {
  if (!order_.empty() && std::memcmp(&order_[last_], &type, sizeof type) == 0) return last_;
  std::string key(reinterpret_cast<const char*>(&type), sizeof type);
  const auto [found, added] = numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(order_.size()));
  if (added) order_.push_back(type);
  return last_ = found->second;
}

}  // namespace tenon
