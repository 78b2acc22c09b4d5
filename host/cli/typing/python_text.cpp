#include "cli/typing/python_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tenon/visit.hpp>

#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

constexpr std::size_t width = 120;

constexpr std::array keywords = {
    "False", "None",  "True",     "__debug__", "and",    "as",   "assert", "async",  "await",
    "break", "class", "continue", "def",       "del",    "elif", "else",   "except", "finally",
    "for",   "from",  "global",   "if",        "import", "in",   "is",     "lambda", "nonlocal",
    "not",   "or",    "pass",     "raise",     "return", "try",  "while",  "with",   "yield"};
constexpr std::array taken_by_calls = {"self", "cls", "name", "device", "training", "out"};

bool is_keyword(const std::string& name) {
  return std::find(keywords.begin(), keywords.end(), name) != keywords.end();
}

// Whole floats need a trailing ".0", and Python has no literals for infinities and NaN.
std::string float_literal(double value, bool single) {
  if (!std::isfinite(value)) return fmt::format("float(\"{}\")", value);
  auto text = single ? fmt::to_string(static_cast<float>(value)) : fmt::to_string(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string tuple_of(const std::vector<std::string>& items) {
  return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

// Formats the elements from index `at` on as nested tuples along the axes from `axis` on.
template <class T>
std::string nested(const Tensor& table, int axis, std::size_t& at) {
  if (axis == table.shape().rank()) {
    const T value = table.values<T>()[at++];
    if constexpr (std::is_integral_v<T>)
      return fmt::to_string(value);
    else
      return float_literal(static_cast<double>(value), std::is_same_v<T, float>);
  }
  std::vector<std::string> items;
  for (std::int64_t i = 0; i < table.shape()[axis]; ++i)
    items.push_back(nested<T>(table, axis + 1, at));
  return tuple_of(items);
}

std::string one_line(const PythonExpression& expression) {
  std::vector<std::string> items;
  for (const auto& item : expression.items) items.push_back(one_line(item));
  return fmt::format("{}{}{}", expression.head, fmt::join(items, ", "), expression.tail);
}

}  // namespace

std::string python_name(const std::string& name) {
  return is_keyword(name) ? name + '_' : name;
}

PythonNames::PythonNames(const OperatorInfo& info) {
  std::vector<std::string> all;
  for (const auto& input : info.inputs) all.push_back(input.name);
  for (const auto& param : info.params) all.push_back(param.name);
  const auto add = [&](std::vector<std::string>& to, std::string name) {
    const auto& reserved = taken_by_calls;
    const bool taken =
        is_keyword(name) || std::find(reserved.begin(), reserved.end(), name) != reserved.end();
    if (taken) do {
        name += '_';
      } while (std::find(all.begin(), all.end(), name) != all.end());
    to.push_back(std::move(name));
  };
  for (const auto& input : info.inputs) add(inputs, input.name);
  for (const auto& param : info.params) add(params, param.name);
}

std::string python_string(std::string_view text) {
  const auto valid = well_formed(text);
  const auto count = [&](char c) { return std::count(valid.begin(), valid.end(), c); };
  const char quote = count('"') > count('\'') ? '\'' : '"';
  std::string out(1, quote);
  for (std::string_view rest = valid; !rest.empty();) {
    const char c = rest.front();
    if (const auto control = leading_control(rest); control != 0) {
      out += fmt::format("\\u{:04x}", control);
      rest.remove_prefix(control <= 0x7ff ? 2 : 3);
      continue;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c == quote || c == '\\' ? std::string{'\\', c} : std::string{c};
    rest.remove_prefix(1);
  }
  return out + quote;
}

std::string python_literal(const AttributeValue& value, ParamKind kind) {
  const bool real =
      kind == ParamKind::float32 || kind == ParamKind::float64 || kind == ParamKind::floats;
  const auto number = [&](auto element) {
    return real ? float_literal(static_cast<double>(element), kind == ParamKind::float32)
                : fmt::to_string(element);
  };
  const auto list = [](const auto& values, const auto& form) {
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const auto& each : values) items.push_back(form(each));
    return tuple_of(items);
  };
  return std::visit(
      [&]<class T>(const T& content) -> std::string {
        if constexpr (std::is_same_v<T, bool>)
          return content ? "True" : "False";
        else if constexpr (std::is_arithmetic_v<T>)
          return number(content);
        else if constexpr (std::is_same_v<T, std::string>)
          return python_string(content);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return list(content, [](const auto& text) { return python_string(text); });
        else if constexpr (std::is_same_v<T, Tensor>)
          return visit<table_types>(content.dtype(), [&]<class Element>() {
            std::size_t at = 0;
            return nested<Element>(content, 0, at);
          });
        else
          return list(content, number);
      },
      value.variant());
}

std::string python_lines(const PythonExpression& expression, std::size_t indent) {
  const std::string margin(indent, ' '), inner(indent + 4, ' ');
  if (auto line = margin + one_line(expression); line.size() <= width || expression.items.empty())
    return line;
  std::vector<std::string> items;
  for (const auto& item : expression.items) items.push_back(one_line(item));
  if (auto joined = inner + fmt::format("{}", fmt::join(items, ", ")); joined.size() <= width)
    return fmt::format("{}{}\n{}\n{}{}", margin, expression.head, joined, margin, expression.tail);
  auto text = margin + expression.head + '\n';
  for (auto item : expression.items) {
    (item.items.empty() ? item.head : item.tail) += ',';
    text += python_lines(item, indent + 4) + '\n';
  }
  return text + margin + expression.tail;
}

std::string python_docstring(const std::vector<std::string>& lines, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string text;
  for (const auto& line : lines) {
    // Long lines are broken at spaces; continuation lines keep the indentation, plus four for list
    // items.
    const auto begin = std::min(line.find_first_not_of(' '), line.size());
    const std::string hang(begin == 0 ? 0 : begin + 4, ' ');
    std::string rest = line;
    while (indent + rest.size() > width) {
      const auto space = rest.rfind(' ', width - indent);
      if (space == std::string::npos || space <= std::max(begin, hang.size())) break;
      text += margin + rest.substr(0, space) + '\n';
      rest.replace(0, space + 1, hang);
    }
    text += rest.empty() ? "\n" : margin + rest + '\n';
  }
  std::string escaped;  // escapes only quotes that could be part of the closing ones
  const auto last = text.find_last_not_of('\n');
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' || (text[i] == '"' && (i == last || escaped.ends_with('"'))))
      escaped += '\\';
    escaped += text[i];
  }
  const bool one = lines.size() == 1 && std::count(escaped.begin(), escaped.end(), '\n') == 1;
  if (one) escaped.pop_back();
  return margin + "\"\"\"" + escaped.substr(indent) + (one ? "" : margin) + "\"\"\"\n";
}

}  // namespace tenon::cli
