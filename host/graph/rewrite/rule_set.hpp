// The rules of rewriting of a catalog's plugins, with the operators that they name.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <unordered_map>
#include <vector>

#include "plugin/rewrite_rule.hpp"

namespace tenon {

/// A rule whose operators, inputs and parameters are all there. What it makes of a graph is checked where it is used.
struct ResolvedRule {
  /// Of a call: what its operator's inputs, states and parameters are in the rule; -1 where it does not mention one.
  struct Call {
    std::shared_ptr<const OperatorInfo> op;
    std::vector<int> inputs, states, params;
  };
  std::string label;  ///< `acme.rope: double`
  int file = -1;      ///< of the plugin whose rule it is
  RewriteRule rule;
  std::vector<Call> pattern, replacement;
};

/// Immutable, so that sessions share one. Threads: any.
class RuleSet {
 public:
  explicit RuleSet(const Catalog& catalog) : RuleSet(catalog, {}, {}) {}
  /// One rule of one operator, by its full name; empty: all.
  RuleSet(const Catalog& catalog, std::string_view op, std::string_view rule);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  /// Those whose pattern has this root, of the larger patterns first. By full name.
  const std::vector<std::size_t>& rooted_at(std::string_view op) const;
  const ResolvedRule& operator[](std::size_t i) const { return rules_[i]; }
  bool empty() const { return rules_.empty(); }

  struct Fault {
    int file;
    std::string sentence;
    bool lacks_operator;  ///< that some plugin may bring
    bool bundled;         ///< of an operator that comes with Tenon
  };
  /// Of the rules that cannot be: of plugin `file`.
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::vector<ResolvedRule> rules_;
  std::vector<Fault> faults_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_root_;  // names are those of the operators' own infos
  std::vector<std::string> names_;
};

/// Whether a parameter of this kind can have the value at all; bounds do not count.
bool fits_kind(const ParamInfo& param, const AttributeValue& value);
/// Whether two values are the same number, text or list; 1 and 1.0 are.
bool same_value(const AttributeValue& left, const AttributeValue& right);

}  // namespace tenon
