// Parameters of operators as they are written on the command line.
#pragma once
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>

namespace tenon::cli {

/// name -> text: numbers, true and false, names of choices, lists with commas. Throws Failure (usage) for unknown names (near ones in the
/// hint) and for texts that are no value of the declared kind; ranges are checked where the operator is made.
Attributes parse_parameters(const OperatorInfo& info, const std::map<std::string, std::string>& texts);

/// A whole text as a number of this type, if it is a finite one.
template <class T>
std::optional<T> parse_number(const std::string& text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<double>(number))) return std::nullopt;
  return number;
}

}  // namespace tenon::cli
