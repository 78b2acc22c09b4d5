// Parsed rewrite rules, from the texts in a manifest.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon {

/// Each call comes after the calls that it reads; the pattern's last call is its root. The SDK's
/// op.rule() documents the language:
///
///     EXPRESSION = NAME "(" [OPERAND {"," OPERAND}] [";" PARAM {"," PARAM}] ")"
///     OPERAND    = [NAME "="] (["&"] EXPRESSION | NAME ["!"] ["?"] [":" RANK] | NUMBER)
///     PARAM      = NAME "=" (LITERAL | "$" NAME) | "..." [NAME]
struct RewriteRule {
  /// A parameter with its literal value, or with the index of a captured value.
  struct Param {
    std::string name;
    std::optional<std::uint32_t> capture;
    AttributeValue value = false;
  };
  struct Operand {
    bool call = false;
    std::uint32_t index = 0;  ///< index into variables, or into the calls of its side
  };
  struct Input {
    std::string name;  ///< empty for an input by position
    Operand operand;
  };
  struct Call {
    std::string op;
    std::vector<Input> inputs;
    std::vector<Param> params;
    /// label of `...`, which stands for all parameters that are not mentioned
    std::optional<std::string> rest;
    /// `&`: may have other readers, for which it stays in the graph
    bool shared = false;
  };
  struct Variable {
    std::string name;
    bool constant = false, optional = false;
    /// Only a constant with this element, its only one; such a variable has no name.
    std::optional<double> number{};
    std::optional<int> rank{};  ///< only values with this number of dimensions
  };

  std::string name;
  bool exact = false;
  std::vector<Variable> variables;
  std::vector<std::string> captures;
  std::vector<Call> pattern, replacement;
  Operand result;  ///< the replacement's result: a call or a variable

  const Call& root() const { return pattern.back(); }
  /// Returns the call of the pattern whose `...` has this label.
  const Call& rest_of(const std::string& label) const;
};

/// Throws Failure (plugin) with the fault and its column.
RewriteRule parse_rule(const RewriteInfo& rule);

}  // namespace tenon
