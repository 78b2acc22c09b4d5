#include "cli/json_keys.hpp"

#include <nlohmann/json.hpp>

std::set<std::string> json_keys(const std::string& text) {
  auto json = nlohmann::json::parse(text);
  if (json.is_array() && !json.empty()) json = nlohmann::json(json.front());
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}
