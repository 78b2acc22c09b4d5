#include "graph/rewrite/rule_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <tenon/host/failure.hpp>

#include "plugin/operator_name.hpp"

namespace tenon {
namespace {

template <class... Args>
[[noreturn]] void refuse_rule(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(FailureKind::plugin, fmt::format(text, std::forward<Args>(args)...));
}

/// Resolves the operators, inputs and parameters that a rule of `owner` names.
class Resolving {
 public:
  /// `lacks_operator` is set if an operator is missing.
  Resolving(const Catalog& catalog, const CatalogOperator& owner, ResolvedRule& resolved,
            bool& lacks_operator)
      : catalog_(catalog),
        owner_(owner),
        resolved_(resolved),
        rule_(resolved.rule),
        lacks_operator_(lacks_operator) {}

  void run() {
    for (const auto& call : rule_.pattern) resolved_.pattern.push_back(resolve(call, true));
    for (const auto& call : rule_.replacement)
      resolved_.replacement.push_back(resolve(call, false));
    if (std::none_of(rule_.pattern.begin(), rule_.pattern.end(),
                     [&](const auto& call) { return find(call.op).file == owner_.file; }))
      refuse_rule(
          "the pattern names no operator of the rule's own plugin, so it would change graphs that "
          "do not use the plugin");
  }

 private:
  const CatalogOperator& find(const std::string& name) const {
    const CatalogOperator* found = nullptr;
    if (space_in(name).empty()) {
      found = catalog_.find(owner_.info.space + '.' + name);
      if (found == nullptr) found = catalog_.find(fmt::format("{}.{}", bundled_space, name));
    }
    if (found == nullptr) found = catalog_.find(name);
    if (found == nullptr) {
      lacks_operator_ = true;
      refuse_rule("there is no operator '{}'", name);
    }
    return *found;
  }

  ResolvedRule::Call resolve(const RewriteRule::Call& call, bool pattern) {
    const auto& found = find(call.op);
    const auto& info = found.info;
    ResolvedRule::Call resolved{found.description, std::vector<int>(info.inputs.size(), -1),
                                std::vector<int>(info.states.size(), -1),
                                std::vector<int>(info.params.size(), -1)};
    for (std::size_t i = 0; i < call.inputs.size(); ++i) resolve_input(call, i, pattern, resolved);
    for (std::size_t i = 0; i < info.inputs.size(); ++i)
      if (resolved.inputs[i] < 0 && !info.inputs[i].optional && !info.inputs[i].variadic)
        refuse_rule("input '{}' of '{}' is not mentioned", info.inputs[i].name, call.op);
    for (std::size_t i = 0; i < call.params.size(); ++i) resolve_param(call, i, resolved);
    if (!pattern) check_replacement(call, resolved);
    return resolved;
  }

  void resolve_input(const RewriteRule::Call& call, std::size_t i, bool pattern,
                     ResolvedRule::Call& resolved) const {
    const auto& [name, operand] = call.inputs[i];
    const auto& info = *resolved.op;
    const auto number = static_cast<int>(i);
    if (name.empty()) {
      if (i >= resolved.inputs.size() && info.variadic()) {
        resolved.inputs.push_back(number);
        return;
      }
      if (i >= info.inputs.size())
        refuse_rule("'{}' has {} inputs, not {}", call.op, info.inputs.size(), call.inputs.size());
      set_once(resolved.inputs[i], number, call.op, info.inputs[i].name);
    } else if (const auto input = info.find_input(name); input >= 0) {
      set_once(resolved.inputs[static_cast<std::size_t>(input)], number, call.op, name);
      check_optional(call, operand, info.inputs[static_cast<std::size_t>(input)], pattern);
      return;
    } else {
      const auto state =
          std::find_if(info.states.begin(), info.states.end(),
                       [&, &state_name = name](const auto& one) { return one.name == state_name; });
      if (state == info.states.end())
        refuse_rule("'{}' has no input and no state '{}'", call.op, name);
      if (operand.call) refuse_rule("state '{}' of '{}' is given as a call", name, call.op);
      set_once(resolved.states[static_cast<std::size_t>(state - info.states.begin())], number,
               call.op, name);
      return;
    }
    check_optional(call, operand, info.inputs[i], pattern);
  }
  static void set_once(int& index, int number, const std::string& op, const std::string& name) {
    if (index >= 0) refuse_rule("input '{}' of '{}' is given twice", name, op);
    index = number;
  }
  void check_optional(const RewriteRule::Call& call, const RewriteRule::Operand& operand,
                      const InputInfo& input, bool pattern) const {
    if (operand.call || !rule_.variables[operand.index].optional || input.optional) return;
    refuse_rule("'{}' is optional, but input '{}' of '{}' {}", rule_.variables[operand.index].name,
                input.name, call.op, pattern ? "is always connected" : "is required");
  }

  void resolve_param(const RewriteRule::Call& call, std::size_t i,
                     ResolvedRule::Call& resolved) const {
    const auto& param = call.params[i];
    const auto found = resolved.op->find_param(param.name);
    if (found < 0) refuse_rule("'{}' has no parameter '{}'", call.op, param.name);
    const auto& declared = resolved.op->params[static_cast<std::size_t>(found)];
    if (!param.capture && !fits_kind(declared, param.value))
      refuse_rule("parameter '{}' of '{}' is {}, which does not fit the parameter's kind",
                  param.name, call.op, to_string(param.value));
    resolved.params[static_cast<std::size_t>(found)] = static_cast<int>(i);
  }

  // Replacements must be deterministic and stateless.
  void check_replacement(const RewriteRule::Call& call, const ResolvedRule::Call& resolved) const {
    if (!resolved.op->states.empty())
      refuse_rule("the replacement has '{}', which has states", call.op);
    if (resolved.op->random)
      refuse_rule("the replacement has '{}', which draws random numbers", call.op);
    for (std::size_t i = 0; i < resolved.op->params.size(); ++i)
      if (const auto& param = resolved.op->params[i];
          param.required && resolved.params[i] < 0 && !call.rest)
        refuse_rule("parameter '{}' of '{}' is required and not mentioned", param.name, call.op);
    if (!call.rest) return;
    const auto& from = rule_.rest_of(*call.rest);
    const auto at = static_cast<std::size_t>(&from - rule_.pattern.data());
    const auto& info = *resolved_.pattern[at].op;
    for (std::size_t i = 0; i < info.params.size(); ++i)
      if (resolved_.pattern[at].params[i] < 0 && resolved.op->find_param(info.params[i].name) < 0)
        refuse_rule("'...{}' passes on parameter '{}', which '{}' does not have", *call.rest,
                    info.params[i].name, call.op);
  }

  const Catalog& catalog_;
  const CatalogOperator& owner_;
  ResolvedRule& resolved_;
  const RewriteRule& rule_;
  bool& lacks_operator_;
};

std::string plugin_of(const Catalog& catalog, const CatalogOperator& op) {
  return op.file < 0 ? std::string("the application")
                     : "plugin " + catalog.files()[static_cast<std::size_t>(op.file)].name;
}

const double* real_of(const AttributeValue& value, double& memory) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.variant()))
    return memory = static_cast<double>(*whole), &memory;
  if (const auto* real = std::get_if<double>(&value.variant())) return memory = *real, &memory;
  return nullptr;
}

bool reals_of(const AttributeValue& value, std::vector<double>& out) {
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&value.variant()))
    return out.assign(whole->begin(), whole->end()), true;
  if (const auto* reals = std::get_if<std::vector<double>>(&value.variant()))
    return out = *reals, true;
  return false;
}

}  // namespace

bool fits_kind(const ParamInfo& param, const AttributeValue& value) {
  const auto& content = value.variant();
  const bool whole = std::holds_alternative<std::int64_t>(content),
             number = whole || std::holds_alternative<double>(content);
  const bool integers = std::holds_alternative<std::vector<std::int64_t>>(content);
  const auto* text = std::get_if<std::string>(&content);
  switch (param.kind) {
    case ParamKind::boolean:
      return std::holds_alternative<bool>(content);
    case ParamKind::int32:
    case ParamKind::int64:
      return whole;
    case ParamKind::float32:
    case ParamKind::float64:
      return number;
    case ParamKind::text:
    case ParamKind::choice:
      return text != nullptr &&
             (param.choices.empty() ||
              std::find(param.choices.begin(), param.choices.end(), *text) != param.choices.end());
    case ParamKind::ints:
      return integers;
    case ParamKind::floats:
      return integers || std::holds_alternative<std::vector<double>>(content);
    default:
      return false;
  }
}

bool same_value(const AttributeValue& left, const AttributeValue& right) {
  double memory = 0, other_memory = 0;
  const auto *number = real_of(left, memory), *other = real_of(right, other_memory);
  // A float parameter holds 0.1f if the rule has 0.1.
  if (number != nullptr && other != nullptr)
    return *number == *other || *number == static_cast<float>(*other) ||
           *other == static_cast<float>(*number);
  std::vector<double> list, other_list;
  if (reals_of(left, list) && reals_of(right, other_list)) return list == other_list;
  return left == right;
}

RuleSet::RuleSet(const Catalog& catalog, std::string_view only_of, std::string_view only) {
  for (const auto& op : catalog.operators())
    for (const auto& info : op.info.rewrites) {
      if (!only.empty() && (info.name != only || op.full_name() != only_of)) continue;
      bool lacks_operator = false;
      try {
        ResolvedRule resolved{op.full_name() + ": " + info.name, op.file, parse_rule(info), {}, {}};
        Resolving(catalog, op, resolved, lacks_operator).run();
        rules_.push_back(std::move(resolved));
      } catch (const Failure& failure) {
        faults_.push_back({op.file,
                           fmt::format("rule '{}' of operator '{}' ({}) is not used: {}", info.name,
                                       op.full_name(), plugin_of(catalog, op), failure.what()),
                           lacks_operator, op.info.space == bundled_space});
      }
    }
  names_.reserve(rules_.size());
  for (std::size_t i = 0; i < rules_.size(); ++i)
    by_root_[names_.emplace_back(rules_[i].pattern.back().op->full_name())].push_back(i);
  for (auto& [root, rules] : by_root_)
    std::stable_sort(rules.begin(), rules.end(), [&](std::size_t left, std::size_t right) {
      return rules_[left].pattern.size() > rules_[right].pattern.size();
    });
}

const std::vector<std::size_t>& RuleSet::rooted_at(std::string_view op) const {
  static const std::vector<std::size_t> no_rules;
  const auto found = by_root_.find(op);
  return found == by_root_.end() ? no_rules : found->second;
}

}  // namespace tenon
