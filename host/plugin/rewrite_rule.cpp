#include "plugin/rewrite_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tenon/host/failure.hpp>

#include "io/utf8.hpp"
#include "plugin/operator_name.hpp"

namespace tenon {
namespace {

constexpr std::size_t longest_rule = 4000, deepest_rule = 12, max_calls = 32, max_names = 32;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Parses one side of a rule. Names from the pattern can be used in the replacement.
class RuleParser {
 public:
  RuleParser(RewriteRule& rule, const std::string& text, bool is_pattern)
      : rule_(rule), text_(text), is_pattern_(is_pattern) {}

  RewriteRule::Operand parse() {
    if (text_.size() > longest_rule)
      refuse(fmt::format("has {} bytes; at most {} are allowed", text_.size(), longest_rule));
    const auto found = operand(0);
    skip();
    if (at_ < text_.size()) refuse_here("the end");
    return found;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Failure(FailureKind::plugin,
                  fmt::format("the {} {}", is_pattern_ ? "pattern" : "replacement", what));
  }
  [[noreturn]] void refuse_here(const std::string& needed) const {
    const auto found =
        at_ < text_.size() ? "'" + printable(text_.substr(at_, 12)) + "'" : std::string("the end");
    refuse(fmt::format("has {} at column {} but needs {}", found, at_ + 1, needed));
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (!std::string_view(text_).substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(char c) {
    if (!take(std::string_view(&c, 1))) refuse_here(fmt::format("'{}'", c));
  }
  // Parses a name, or returns an empty string; operator names may contain a dot.
  std::string word(bool dotted = false) {
    skip();
    const auto first = at_;
    while (at_ < text_.size() && (is_name_character(text_[at_]) || (dotted && text_[at_] == '.')))
      ++at_;
    auto found = text_.substr(first, at_ - first);
    if (!found.empty() && !is_operator_name(found)) {
      at_ = first;
      refuse_here("a name");
    }
    return found;
  }

  RewriteRule::Operand operand(std::size_t depth) {
    if (depth > deepest_rule) refuse(fmt::format("is nested deeper than {} calls", deepest_rule));
    if (depth > 0 && is_pattern_ && begins_number()) return number_variable();
    const bool shared = is_pattern_ && depth > 0 && take("&");
    auto name = word(true);
    if (name.empty()) refuse_here("a name");
    if (take("(")) return call(std::move(name), depth, shared);
    if (shared) refuse(fmt::format("has '&' in front of '{}', which is not a call", name));
    return variable(name);
  }

  bool begins_number() {
    skip();
    return at_ < text_.size() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9'));
  }
  // Each is a variable of its own, since equal numbers may be different constants.
  RewriteRule::Operand number_variable() {
    const auto value = number();
    const auto* whole = std::get_if<std::int64_t>(&value.variant());
    add_variable(
        {{},
         true,
         false,
         whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value.variant())});
    return {false, static_cast<std::uint32_t>(rule_.variables.size() - 1)};
  }
  void add_variable(RewriteRule::Variable made) {
    if (rule_.variables.size() == max_names)
      refuse(fmt::format("has more than {} variables", max_names));
    rule_.variables.push_back(std::move(made));
  }

  RewriteRule::Operand variable(const std::string& name) {
    if (name.find('.') != std::string::npos)
      refuse(fmt::format("has operator '{}' without '(' after its name", name));
    auto& all = rule_.variables;
    auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    if (found == all.end()) {
      if (!is_pattern_) refuse(fmt::format("has '{}', which is not in the pattern", name));
      add_variable({name});
      found = all.end() - 1;
    }
    while (at_ < text_.size() && (text_[at_] == '!' || text_[at_] == '?')) {
      if (!is_pattern_ && text_[at_] == '!')
        refuse_here("no '!', which is allowed only in the pattern,");
      if (is_pattern_) (text_[at_] == '!' ? found->constant : found->optional) = true;
      ++at_;
    }
    if (is_pattern_ && at_ < text_.size() && text_[at_] == ':') {
      ++at_;
      if (at_ == text_.size() || text_[at_] < '0' || text_[at_] > '0' + TENON_MAX_RANK)
        refuse_here(fmt::format("a number of dimensions, at most {}", TENON_MAX_RANK));
      found->rank = text_[at_++] - '0';
    }
    return {false, static_cast<std::uint32_t>(found - all.begin())};
  }

  RewriteRule::Operand call(std::string op, std::size_t depth, bool shared) {
    RewriteRule::Call made{std::move(op), {}, {}, {}, shared};
    if (!take(")")) {
      if (!take(";")) {
        do made.inputs.push_back(input(depth));
        while (take(","));
        if (!take(";")) {
          need(')');
          return add(std::move(made));
        }
      }
      do param(made);
      while (take(","));
      need(')');
    }
    return add(std::move(made));
  }
  RewriteRule::Operand add(RewriteRule::Call made) {
    auto& calls = is_pattern_ ? rule_.pattern : rule_.replacement;
    if (calls.size() == max_calls) refuse(fmt::format("has more than {} calls", max_calls));
    calls.push_back(std::move(made));
    return {true, static_cast<std::uint32_t>(calls.size() - 1)};
  }

  RewriteRule::Input input(std::size_t depth) {
    if (is_pattern_ && begins_number()) return {"", number_variable()};
    const auto first = at_;
    auto name = word();
    if (!name.empty() && take("=")) return {std::move(name), operand(depth + 1)};
    at_ = first;
    return {"", operand(depth + 1)};
  }

  void param(RewriteRule::Call& call) {
    if (take("...")) {
      if (call.rest) refuse("has two '...' in one call");
      call.rest = at_ < text_.size() && is_name_character(text_[at_]) ? word() : std::string();
      return;
    }
    RewriteRule::Param made{word(), {}, false};
    if (made.name.empty()) refuse_here("a parameter or '...'");
    for (const auto& other : call.params)
      if (other.name == made.name)
        refuse(fmt::format("mentions parameter '{}' twice in one call", made.name));
    need('=');
    if (take("$"))
      made.capture = capture();
    else
      made.value = literal();
    call.params.push_back(std::move(made));
  }

  std::uint32_t capture() {
    const auto name = word();
    if (name.empty()) refuse_here("a name");
    auto& all = rule_.captures;
    auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) {
      if (!is_pattern_) refuse(fmt::format("has '${}', which is not in the pattern", name));
      if (all.size() == max_names)
        refuse(fmt::format("captures more than {} parameters", max_names));
      found = all.insert(all.end(), name);
    }
    return static_cast<std::uint32_t>(found - all.begin());
  }

  AttributeValue literal() {
    skip();
    if (take("\"")) return text();
    if (take("[")) return list();
    if (at_ < text_.size() && is_name_character(text_[at_]) &&
        (text_[at_] < '0' || text_[at_] > '9')) {
      const auto found = word();
      if (found == "true" || found == "false") return found == "true";
      at_ -= found.size();
      refuse_here("true, false, a number, a text in quotes, a list or $name");
    }
    return number();
  }
  AttributeValue text() {
    const auto end = text_.find('"', at_);
    if (end == std::string::npos) refuse_here("a closing '\"'");
    auto found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  AttributeValue number() {
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    std::int64_t whole = 0;
    double real = 0;
    const auto as_whole = std::from_chars(first, last, whole);
    const auto as_real = std::from_chars(first, last, real);
    if (as_real.ec != std::errc()) refuse_here("a number");
    at_ = static_cast<std::size_t>(as_real.ptr - text_.data());
    if (as_whole.ec == std::errc() && as_whole.ptr == as_real.ptr) return whole;
    return real;
  }
  AttributeValue list() {
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    if (!take("]")) {
      do {
        skip();
        const auto item = number();
        const auto* integer = std::get_if<std::int64_t>(&item.variant());
        if (integer != nullptr) integers.push_back(*integer);
        reals.push_back(integer != nullptr ? static_cast<double>(*integer)
                                           : std::get<double>(item.variant()));
      } while (take(","));
      need(']');
    }
    if (integers.size() == reals.size()) return integers;
    return reals;
  }

  RewriteRule& rule_;
  const std::string& text_;
  const bool is_pattern_;
  std::size_t at_ = 0;
};

// Returns whether the pattern's call could match this call of the replacement, judging by the
// texts.
bool may_match(const RewriteRule& rule, const RewriteRule::Call& pattern,
               const RewriteRule::Call& made) {
  if (pattern.op != made.op) return false;
  for (const auto& param : pattern.params)
    for (const auto& other : made.params)
      if (param.name == other.name && !param.capture && !other.capture &&
          !(param.value == other.value))
        return false;
  for (std::size_t i = 0; i < pattern.inputs.size(); ++i) {
    const auto& replaced = pattern.inputs[i].operand;
    if (!replaced.call) continue;
    if (i >= made.inputs.size() || !made.inputs[i].operand.call) return false;
    if (!may_match(rule, rule.pattern[replaced.index],
                   rule.replacement[made.inputs[i].operand.index]))
      return false;
  }
  return true;
}

void refuse_rule(const std::string& what) {
  throw Failure(FailureKind::plugin, what);
}

void check_rests(const RewriteRule& rule) {
  for (const auto& call : rule.replacement) {
    if (!call.rest) continue;
    const auto same = std::count_if(rule.pattern.begin(), rule.pattern.end(),
                                    [&](const auto& one) { return one.rest == call.rest; });
    if (same == 1) continue;
    refuse_rule(fmt::format("the replacement has '...{}', which {} of the pattern {}", *call.rest,
                            same == 0 ? "no call" : "several calls",
                            same == 0 ? "has" : "have: give each a label, as in ...a"));
  }
}

}  // namespace

const RewriteRule::Call& RewriteRule::rest_of(const std::string& label) const {
  return *std::find_if(pattern.begin(), pattern.end(),
                       [&](const auto& call) { return call.rest == label; });
}

RewriteRule parse_rule(const RewriteInfo& info) {
  RewriteRule rule;
  rule.name = info.name;
  rule.exact = info.exact;
  if (!RuleParser(rule, info.pattern, true).parse().call)
    refuse_rule("the pattern matches every value; name at least one operator");
  rule.result = RuleParser(rule, info.replacement, false).parse();
  if (!rule.result.call && rule.variables[rule.result.index].optional)
    refuse_rule(fmt::format("the replacement is '{}', which is optional and may be missing",
                            rule.variables[rule.result.index].name));
  check_rests(rule);
  for (const auto& call : rule.replacement)
    if (may_match(rule, rule.root(), call))
      refuse_rule("the replacement contains the pattern again, so the rule would never terminate");
  return rule;
}

}  // namespace tenon
