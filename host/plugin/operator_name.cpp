#include "plugin/operator_name.hpp"

#include <algorithm>

#include "io/counted.hpp"
#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr std::size_t name_limit = 128;  // length of an identifier

bool fits(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string_view space_in(std::string_view name) {
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

std::string_view short_name(std::string_view name) {
  return name.substr(name.find('.') + 1);
}

bool is_operator_name(std::string_view text) {
  const bool full = text.find('.') != std::string_view::npos;
  return is_identifier(short_name(text)) && (!full || is_identifier(space_in(text)));
}

std::string quoted_name(std::string_view name) {
  if (name.size() > 2 * name_limit + 1) return "of " + counted(name.size(), "byte");
  return '\'' + printable(name) + '\'';
}

std::string space_of_plugin(std::string_view plugin) {
  std::string space(plugin.substr(0, name_limit - 1));
  std::replace_if(
      space.begin(), space.end(), [](char c) { return !fits(c); }, '_');
  if (space.empty() || (space[0] >= '0' && space[0] <= '9')) space.insert(space.begin(), '_');
  // a plugin's file name does not give it these reserved namespaces
  if (space == bundled_space || space == application_space) space += '_';
  return space;
}

}  // namespace tenon
