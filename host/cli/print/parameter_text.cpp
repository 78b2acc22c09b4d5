#include "cli/print/parameter_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/host/arrays.hpp>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>

namespace tenon::cli {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& text, const char* needed) {
  throw Failure(FailureKind::usage, fmt::format("{} is '{}' but must be {}", what, text, needed));
}

template <class T>
T parse_as(const std::string& what, const std::string& text, const char* needed) {
  const auto number = parse_number<T>(text);
  if (!number) refuse(what, text, needed);
  return *number;
}

/// Strips the delimiters if both are present: messages print lists as [1, 2] and choices as "max".
std::string inside(const std::string& text, char first, char last) {
  const bool is_enclosed = text.size() >= 2 && text.front() == first && text.back() == last;
  return is_enclosed ? text.substr(1, text.size() - 2) : text;
}

/// Parses `1,2,3` or `[1, 2, 3]`; an empty text is an empty list.
template <class T, class Parse>
std::vector<T> parse_list(const std::string& written, Parse parse) {
  const auto text = inside(written, '[', ']');
  std::vector<T> list;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    at = std::min(text.find_first_not_of(' ', at), text.size());
    const auto comma = std::min(text.find(',', at), text.size());
    list.push_back(parse(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return list;
}

/// Parses `1,2,1`, or loads an array file if the text is a single word that is not a number.
AttributeValue parse_table(const ParamInfo& param, const std::string& what,
                           const std::string& text) {
  const auto bare = inside(text, '[', ']');
  if (!bare.empty() && bare.find(',') == std::string::npos && !parse_number<double>(bare))
    return load_array(text);
  if (any_integer.has(*param.dtype))
    return parse_list<std::int64_t>(
        text, [&](const auto& item) { return parse_as<std::int64_t>(what, item, "an integer"); });
  return parse_list<double>(
      text, [&](const auto& item) { return parse_as<double>(what, item, "a number"); });
}

AttributeValue parse(const ParamInfo& param, const std::string& what, const std::string& text) {
  const bool one = param.kind != ParamKind::ints && param.kind != ParamKind::floats;
  const auto whole = [&](const std::string& item) {
    return parse_as<std::int64_t>(what, item,
                                  one ? "an integer" : "integers separated by commas, such as 3,3");
  };
  const auto real = [&](const std::string& item) {
    return parse_as<double>(what, item,
                            one ? "a number" : "numbers separated by commas, such as 0.5,2");
  };
  switch (param.kind) {
    case ParamKind::boolean:
      if (text != "true" && text != "false") refuse(what, text, "true or false");
      return text == "true";
    case ParamKind::int32:
    case ParamKind::int64:
      return whole(text);
    case ParamKind::float32:
    case ParamKind::float64:
      return real(text);
    case ParamKind::ints:
      return parse_list<std::int64_t>(text, whole);
    case ParamKind::floats:
      return parse_list<double>(text, real);
    case ParamKind::texts:
      return parse_list<std::string>(text, [](std::string item) { return item; });
    case ParamKind::tensor:
      return parse_table(param, what, text);
    case ParamKind::choice:
      return inside(text, '"', '"');
    default:
      return text;
  }
}

// Maps parameter names of older versions to the current ones.
std::string todays_name(const OperatorInfo& info, std::string name) {
  auto renamed = info.renamed;
  std::stable_sort(renamed.begin(), renamed.end(), [](const auto& left, const auto& right) {
    return left.version < right.version;
  });
  for (const auto& entry : renamed)
    if (info.find_param(name) < 0 && entry.from == name) name = entry.to;
  return name;
}

}  // namespace

Attributes parse_parameters(const OperatorInfo& info,
                            const std::map<std::string, std::string>& texts) {
  std::vector<std::string> names;
  for (const auto& param : info.params) names.push_back(param.name);
  Attributes parameters;
  for (const auto& [name, text] : texts) {
    const auto found = std::find(names.begin(), names.end(), todays_name(info, name));
    if (found == names.end())
      throw Failure(FailureKind::usage, fmt::format("'{}' has no parameter '{}'", info.name, name),
                    did_you_mean(similar_names(name, names),
                                 names.empty() ? "it has no parameters"
                                               : fmt::format("available parameters: {}",
                                                             fmt::join(names, ", "))));
    const auto& param = info.params[static_cast<std::size_t>(found - names.begin())];
    parameters.set(name, parse(param, fmt::format("parameter '{}'", name), text));
  }
  return parameters;
}

}  // namespace tenon::cli
