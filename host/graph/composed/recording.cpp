#include "graph/composed/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tenon/detail/host_error.hpp>

#include "graph/instance.hpp"
#include "plugin/plugin_call.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_paths = 64;  // paths through the branches of one function
// decisions on one path: a data-dependent loop takes one for each iteration
constexpr std::size_t max_decisions = 256;
constexpr std::size_t max_steps = 10000;

struct Arity {
  std::string_view operation;
  std::uint32_t operands;
};
constexpr Arity operations[] = {
    {"add", 2},         {"sub", 2},         {"mul", 2},           {"div", 2},
    {"pow", 2},         {"minimum", 2},     {"maximum", 2},       {"less", 2},
    {"less_equal", 2},  {"greater", 2},     {"greater_equal", 2}, {"equal", 2},
    {"not_equal", 2},   {"logical_and", 2}, {"logical_or", 2},    {"logical_xor", 2},
    {"logical_not", 1}, {"where", 3},       {"neg", 1},           {"abs", 1},
    {"exp", 1},         {"expm1", 1},       {"log", 1},           {"log1p", 1},
    {"sqrt", 1},        {"sin", 1},         {"cos", 1},           {"tan", 1},
    {"sinh", 1},        {"cosh", 1},        {"tanh", 1},          {"asin", 1},
    {"acos", 1},        {"atan", 1},        {"asinh", 1},         {"acosh", 1},
    {"atanh", 1},       {"erf", 1},         {"normal_cdf", 1},    {"floor", 1},
    {"ceil", 1},        {"round", 1}};

[[noreturn]] void refuse(const std::string& reason) {
  throw Failure(FailureKind::failed, reason);
}

/// The ABI's struct and the recording that its functions write to.
class Recorder {
 public:
  Recorder(const LoadedOperator& op, const void* object, std::uint32_t inputs, DType dtype)
      : op_(op), object_(object) {
    recording_.inputs = inputs;
    raw_.size = sizeof raw_;
    raw_.error = &buffer_.error;
    raw_.context = this;
    raw_.input_count = inputs;
    raw_.dtype = static_cast<std::uint32_t>(dtype);
    raw_.number = number;
    raw_.apply = apply;
    raw_.cast = cast;
    raw_.decide = decide;
  }

  Recording run() {
    recording_.result = next_path();
    return std::move(recording_);
  }

 private:
  struct Decision {
    tenon_value condition;
    bool yes;
  };

  template <class Work>
  static std::int32_t answer(tenon_trace* self, const Work& work) noexcept {
    return guarded(self->error, [&] { work(*static_cast<Recorder*>(self->context)); });
  }
  static std::int32_t number(tenon_trace* self, std::uint32_t dtype, double value,
                             tenon_value* out) noexcept {
    return answer(self, [&](Recorder& at) {
      *out = at.add({.operation = "number", .dtype = known(dtype), .number = value});
    });
  }
  static std::int32_t cast(tenon_trace* self, std::uint32_t dtype, tenon_value value,
                           tenon_value* out) noexcept {
    return answer(self, [&](Recorder& at) {
      *out = at.add({.operation = "cast", .operands = {value}, .dtype = known(dtype)});
    });
  }
  static std::int32_t apply(tenon_trace* self, const char* operation, const tenon_value* operands,
                            std::uint32_t count, tenon_value* out) noexcept {
    return answer(self, [&](Recorder& at) {
      const std::string_view name = operation == nullptr ? "" : operation;
      const auto found = std::find_if(std::begin(operations), std::end(operations),
                                      [&](const Arity& one) { return one.operation == name; });
      if (found == std::end(operations) || found->operands != count)
        refuse(fmt::format("it calls '{}' with {} operands", name, count));
      *out = at.add({.operation = std::string(name), .operands = {operands, operands + count}});
    });
  }
  static std::int32_t decide(tenon_trace* self, tenon_value condition, std::int32_t* out) noexcept {
    return answer(self, [&](Recorder& at) { *out = at.decided(condition) ? 1 : 0; });
  }

  static DType known(std::uint32_t dtype) {
    if (dtype != TENON_BOOLEAN && dtype != TENON_I32 && dtype != TENON_F32 && dtype != TENON_F64)
      refuse("it computes in a type that tensors do not have");
    return static_cast<DType>(dtype);
  }

  tenon_value add(Recording::Step step) {
    const auto next = recording_.inputs + recording_.steps.size();
    for (const auto operand : step.operands)
      if (operand >= next) refuse("it uses a value that was not passed to it");
    auto key = fmt::format("{} {} {:x}", step.operation, static_cast<int>(step.dtype),
                           std::bit_cast<std::uint64_t>(step.number));
    for (const auto operand : step.operands) key += fmt::format(" {}", operand);
    const auto [known, is_new] = values_.emplace(std::move(key), next);
    if (!is_new) return known->second;
    if (recording_.steps.size() == max_steps)
      refuse(fmt::format("it computes more than {} steps", max_steps));
    recording_.steps.push_back(std::move(step));
    return next;
  }

  bool decided(tenon_value condition) {
    bool negated = false;
    for (; is_step(condition, "logical_not"); negated = !negated)
      condition = recording_.steps[condition - recording_.inputs].operands[0];
    // A condition that was decided keeps its value for the rest of this path.
    for (std::size_t i = 0; i < at_; ++i)
      if (path_[i].condition == condition) return path_[i].yes != negated;
    if (at_ == path_.size()) {
      if (at_ == max_decisions)
        refuse(
            fmt::format("it has more than {} branches in a row, such as a loop whose end depends "
                        "on computed values",
                        at_));
      path_.push_back({condition, true});
    } else if (path_[at_].condition != condition) {
      refuse("it is not deterministic");
    }
    return path_[at_++].yes != negated;
  }
  bool is_step(tenon_value value, std::string_view operation) const {
    if (value >= recording_.inputs + recording_.steps.size())
      refuse("it branches on a value that was not passed to it");
    return value >= recording_.inputs &&
           recording_.steps[value - recording_.inputs].operation == operation;
  }

  // Returns the merged result of all paths that start with the first `path_.size()` decisions.
  tenon_value next_path() {
    const auto begin = path_.size();
    const auto yes = trace();
    std::vector<Decision> decisions(path_.begin() + static_cast<std::ptrdiff_t>(begin),
                                    path_.end());
    // Flips each decision, last one first, and records the other branch.
    auto result = yes;
    for (; !decisions.empty(); decisions.pop_back()) {
      path_.resize(begin);
      path_.insert(path_.end(), decisions.begin(), decisions.end());
      path_.back().yes = false;
      const auto no = next_path();
      result = choice(decisions.back().condition, result, no);
    }
    path_.resize(begin);
    return result;
  }

  // For the branches "true" and "false", returns the condition itself: ONNX runtimes may not
  // support selecting booleans.
  tenon_value choice(tenon_value condition, tenon_value yes, tenon_value no) {
    const auto is_boolean = [&](tenon_value value, double number) {
      if (!is_step(value, "number")) return false;
      const auto& step = recording_.steps[value - recording_.inputs];
      return step.dtype == boolean && step.number == number;
    };
    if (yes == no) return yes;
    if (is_boolean(yes, 1) && is_boolean(no, 0)) return condition;
    if (is_boolean(yes, 0) && is_boolean(no, 1))
      return add({.operation = "logical_not", .operands = {condition}});
    return add({.operation = "where", .operands = {condition, yes, no}});
  }

  tenon_value trace() {
    if (++path_count_ > max_paths)
      refuse(fmt::format("it has more than {} paths through its branches", max_paths));
    at_ = 0;
    raw_.result = TENON_NO_VALUE;
    const PluginCall call(op_, op_.owner, PluginFunction::trace);
    if (op_.table->trace(object_, &raw_) != 0) refuse(buffer_.reason());
    if (raw_.result >= recording_.inputs + recording_.steps.size())
      refuse("it returns a value that was not passed to it");
    return raw_.result;
  }

  const LoadedOperator& op_;
  const void* object_;
  tenon_trace raw_{};
  ErrorBuffer buffer_;
  Recording recording_;
  std::map<std::string, tenon_value>
      values_;  // value of each distinct step, so that paths share common steps
  std::vector<Decision> path_;
  std::size_t at_ = 0, path_count_ = 0;  // at_: decisions taken in the current run
};

}  // namespace

Recording record(const LoadedOperator& op, const void* object, std::uint32_t inputs, DType dtype) {
  return Recorder(op, object, inputs, dtype).run();
}

}  // namespace tenon
