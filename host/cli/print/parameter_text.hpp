// Parsing of operator parameters from the command line.
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

/// Parses parameter values by name: numbers, true and false, names of choices, comma-separated
/// lists. Throws Failure (usage) for unknown names, with similar names in the hint, and for texts
/// that are not values of the declared kind; ranges are checked when the operator is created.
Attributes parse_parameters(const OperatorInfo& info,
                            const std::map<std::string, std::string>& texts);

/// Returns the number if the whole text is a finite number of this type.
template <class T>
std::optional<T> parse_number(const std::string& text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(static_cast<double>(number)))
    return std::nullopt;
  return number;
}

}  // namespace tenon::cli
