// Names, values and lines of Python source.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

/// What is a keyword in Python gets an underscore behind: `lambda_`.
std::string python_name(const std::string& name);

/// How calls in Python name an operator's inputs and parameters, in the manifest's order. Keywords, `self`, `cls` and what every call takes
/// (name, device, training, out) get an underscore behind, or as many as make the name another one than all others.
struct PythonNames {
  std::vector<std::string> inputs, params;
  explicit PythonNames(const OperatorInfo& info);
};

/// In those quotes that need fewer escapes. Control characters, and what would turn text around, are escapes.
std::string python_string(std::string_view text);
/// Lists are tuples, as defaults should be.
std::string python_literal(const AttributeValue& value, ParamKind kind);

/// A part of a line that may be broken at its items: `relu(` x, slope `)`.
struct PythonPart {
  std::string head;
  std::vector<PythonPart> items{};
  std::string tail{};
};
/// The part in lines of at most 120 characters, broken where black breaks them; without a newline at the end.
std::string python_lines(const PythonPart& part, std::size_t indent);

/// The text as a docstring, its first line in the line of the quotes.
std::string python_docstring(const std::vector<std::string>& lines, std::size_t indent);

}  // namespace tenon::cli
