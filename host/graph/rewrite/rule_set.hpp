// The rewrite rules of a catalog's plugins, resolved against its operators.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <unordered_map>
#include <vector>

#include "plugin/rewrite_rule.hpp"

namespace tenon {

/// A rule whose operators, inputs and parameters all exist. Its result is checked when the rule is
/// applied.
struct ResolvedRule {
  /// Maps a call's declared inputs, states and parameters to indices in the rule; -1 if not
  /// mentioned.
  struct Call {
    std::shared_ptr<const OperatorInfo> op;
    std::vector<int> inputs, states, params;
  };
  std::string label;  ///< `acme.rope: double`
  int file = -1;      ///< index of the rule's plugin
  RewriteRule rule;
  std::vector<Call> pattern, replacement;
};

/// Immutable and shared by sessions. Thread-safe.
class RuleSet {
 public:
  explicit RuleSet(const Catalog& catalog) : RuleSet(catalog, {}, {}) {}
  /// Only this rule of this operator (full name); empty: all rules.
  RuleSet(const Catalog& catalog, std::string_view op, std::string_view rule);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  /// Indices of the rules with this root operator (full name), larger patterns first.
  const std::vector<std::size_t>& rooted_at(std::string_view op) const;
  const ResolvedRule& operator[](std::size_t i) const { return rules_[i]; }
  bool empty() const { return rules_.empty(); }

  struct Fault {
    int file;
    std::string sentence;
    bool lacks_operator;  ///< another plugin may provide it
    bool bundled;         ///< the operator is bundled with Tenon
  };
  /// The rules that cannot be used, with the index of their plugin.
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::vector<ResolvedRule> rules_;
  std::vector<Fault> faults_;
  std::unordered_map<std::string_view, std::vector<std::size_t>>
      by_root_;  // keys are owned by the operators' infos
  std::vector<std::string> names_;
};

/// Whether a parameter of this kind accepts the value, ignoring bounds.
bool fits_kind(const ParamInfo& param, const AttributeValue& value);
/// Whether two values are the same number, text or list; 1 equals 1.0.
bool same_value(const AttributeValue& left, const AttributeValue& right);

}  // namespace tenon
