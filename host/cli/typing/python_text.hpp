// Names, literals and lines of Python source.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

/// Appends an underscore to Python keywords: `lambda_`.
std::string python_name(const std::string& name);

/// Python names of an operator's inputs and parameters, in the manifest's order. Keywords, `self`,
/// `cls` and the arguments that every call takes (name, device, training, out) get a trailing
/// underscore, or as many as needed to make the name unique.
struct PythonNames {
  std::vector<std::string> inputs, params;
  explicit PythonNames(const OperatorInfo& info);
};

/// Returns a string literal, with the quotes that need fewer escapes. Control and bidirectional
/// characters are escaped.
std::string python_string(std::string_view text);
/// Returns a literal. Lists become tuples, as mutable defaults are unsafe.
std::string python_literal(const AttributeValue& value, ParamKind kind);

/// A piece of a line that may be broken between its items: `relu(` x, slope `)`.
struct PythonExpression {
  std::string head;
  std::vector<PythonExpression> items{};
  std::string tail{};
};
/// Formats the piece in lines of at most 120 characters, broken like black does, without a trailing
/// newline.
std::string python_lines(const PythonExpression& expression, std::size_t indent);

/// Formats a docstring whose first line is on the line of the opening quotes.
std::string python_docstring(const std::vector<std::string>& lines, std::size_t indent);

}  // namespace tenon::cli
