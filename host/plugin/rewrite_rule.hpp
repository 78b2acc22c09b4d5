// A rule of rewriting as data: read from the texts that a manifest has.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon {

/// Calls stand in an order in which each comes after those that it reads; the pattern's last one is its root. The SDK's op.rule() explains
/// the language:
///
///     EXPRESSION = NAME "(" [OPERAND {"," OPERAND}] [";" PARAM {"," PARAM}] ")"
///     OPERAND    = [NAME "="] (EXPRESSION | NAME ["!"] ["?"])
///     PARAM      = NAME "=" (LITERAL | "$" NAME) | "..." [NAME]
struct RewriteRule {
  /// A parameter and what it is, or which of the captured values.
  struct Param {
    std::string name;
    std::optional<std::uint32_t> capture;
    AttributeValue value = false;
  };
  struct Operand {
    bool call = false;
    std::uint32_t index = 0;  ///< into variables, or into the calls of its side
  };
  struct Input {
    std::string name;  ///< empty: by position
    Operand operand;
  };
  struct Call {
    std::string op;
    std::vector<Input> inputs;
    std::vector<Param> params;
    std::optional<std::string> rest;  ///< `...`, with its label: the parameters that are not mentioned
  };
  struct Variable {
    std::string name;
    bool constant = false, optional = false;
  };

  std::string name;
  bool exact = false;
  std::vector<Variable> variables;
  std::vector<std::string> captures;
  std::vector<Call> pattern, replacement;
  Operand result;  ///< of the replacement: a call, or just a variable

  const Call& root() const { return pattern.back(); }
  /// Of the pattern: the call whose other parameters this label means.
  const Call& rest_of(const std::string& label) const;
};

/// Throws Failure (plugin) with what is wrong and where in the text.
RewriteRule parse_rule(const RewriteInfo& rule);

}  // namespace tenon
