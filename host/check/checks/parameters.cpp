// Checks an operator's own validation of parameters, bypassing the host's.
#include "graph/parameters.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/visit.hpp>
#include <vector>

#include "check/check.hpp"
#include "check/test_input.hpp"
#include "graph/model.hpp"
#include "io/counted.hpp"

namespace tenon::checks {
namespace {

/// Parameters that the operator accepts, in the form of the ABI.
class AcceptedAttributes {
 public:
  /// Uses the first set of parameters for which an object can be created. If there is none,
  /// refusals() says why.
  explicit AcceptedAttributes(const LoadedOperator& op) : op_(op) {
    for (const auto& set : parameter_sets(*op.info)) {
      report_query(describe_parameters(set));
      GraphModel model;
      NodeRecord node;
      try {
        add_parameters(model, node, *op.info, set);
      } catch (const Failure& failure) {
        refusals_.add(Refusals::no_object, failure.what());
        continue;
      }
      model_ = std::move(model);
      fill_attributes(model_, node, attributes_);
      if (const auto reason = error_of(attributes_)) {
        refusals_.add(Refusals::no_object, *reason);
        continue;
      }
      found_ = true;
      return;
    }
  }

  bool found() const { return found_; }
  const Refusals& refusals() const { return refusals_; }
  const std::vector<tenon_attribute>& all() const { return attributes_; }

  /// Nothing if an object can be created.
  std::optional<std::string> error_of(const std::vector<tenon_attribute>& attributes) const {
    try {
      const Instance instance(op_, *op_.table, attributes);
      return std::nullopt;
    } catch (const Failure& failure) {
      return failure.what();
    }
  }

 private:
  const LoadedOperator& op_;
  GraphModel model_;
  std::vector<tenon_attribute> attributes_;
  Refusals refusals_;
  bool found_ = false;
};

constexpr char no_such_choice[] = "no such choice";

tenon_attribute text_attribute(const char* name) {
  tenon_attribute attribute{};
  attribute.name = name;
  attribute.kind = TENON_ATTR_TEXT;
  attribute.text = no_such_choice;
  attribute.count = sizeof no_such_choice - 1;
  return attribute;
}

/// A text, or a list of one text.
tenon_attribute wrong_choice(const char* name, const ParamInfo& param) {
  auto attribute = text_attribute(name);
  if (param.kind != ParamKind::texts) return attribute;
  attribute.kind = TENON_ATTR_TEXTS;
  attribute.count = sizeof no_such_choice;
  return attribute;
}

/// A number for text parameters, a text for all others.
tenon_attribute mistyped(const char* name, const ParamInfo& param) {
  auto attribute = text_attribute(name);
  if (param.kind != ParamKind::text && param.kind != ParamKind::choice) return attribute;
  attribute.kind = TENON_ATTR_FLOAT;
  attribute.text = nullptr;
  attribute.count = 0;
  attribute.f = 0.5;
  return attribute;
}

bool is_integer(ParamKind kind) {
  return kind == ParamKind::int32 || kind == ParamKind::int64 || kind == ParamKind::ints;
}
bool is_integer(const ParamInfo& param) {
  return is_integer(param.kind) || (param.dtype && any_integer.has(*param.dtype));
}

Tensor one_element(DType dtype, double number) {
  return visit<table_types>(dtype,
                            [&]<class T>() { return Tensor::from({static_cast<T>(number)}, {1}); });
}

/// Numbers just outside of the bounds.
std::vector<double> outside(const ParamInfo& param) {
  const auto step = [&](double bound) {
    return is_integer(param) ? 1.0 : 1e-3 * (1 + std::abs(bound));
  };
  std::vector<double> numbers;
  if (param.min) numbers.push_back(*param.min - step(*param.min));
  if (param.max) numbers.push_back(*param.max + step(*param.max));
  if (param.above) numbers.push_back(*param.above);
  if (param.below) numbers.push_back(*param.below);
  return numbers;
}

}  // namespace

Outcome check_parameters(const CheckedOperator& checked) {
  const AcceptedAttributes accepted(checked.op);
  if (!accepted.found()) return untried(accepted.refusals());
  auto unknown = accepted.all();
  unknown.push_back(text_attribute("no_such_parameter"));
  report_query("no_such_parameter");
  if (!accepted.error_of(unknown))
    return failed("the unknown parameter 'no_such_parameter' is accepted");
  int count = 1;
  for (std::size_t i = 0; i < accepted.all().size(); ++i) {
    const auto* name = accepted.all()[i].name;
    const auto& param =
        checked.op.info->params[static_cast<std::size_t>(checked.op.info->find_param(name))];
    auto wrong = accepted.all();
    wrong[i] = mistyped(name, param);
    report_query(fmt::format("{} of another kind", name));
    if (!accepted.error_of(wrong))
      return failed(
          fmt::format("parameter '{}' has kind {}, but a value of another kind is accepted", name,
                      name_of(param.kind)));
    ++count;
    if (param.choices.empty()) continue;
    wrong[i] = wrong_choice(name, param);
    report_query(fmt::format("{}={}", name, no_such_choice));
    if (!accepted.error_of(wrong))
      return failed(fmt::format("parameter '{}' accepts '{}', which is not one of its choices",
                                name, no_such_choice));
    ++count;
  }
  return passed(fmt::format("{} wrong parameter{} refused", count, count == 1 ? " was" : "s were"));
}

Outcome check_bounds(const CheckedOperator& checked) {
  const AcceptedAttributes accepted(checked.op);
  if (!accepted.found()) return untried(accepted.refusals());
  int count = 0;
  for (const auto& param : checked.op.info->params) {
    for (const double number : outside(param)) {
      const auto integer = static_cast<std::int64_t>(number);
      auto attributes = accepted.all();
      Tensor one;
      for (auto& attribute : attributes) {
        if (attribute.name != param.name) continue;
        attribute.i = integer;
        attribute.f = number;
        if (param.kind == ParamKind::ints || param.kind == ParamKind::floats) attribute.count = 1;
        if (param.kind == ParamKind::ints) attribute.ints = &integer;
        if (param.kind == ParamKind::floats) attribute.floats = &number;
        if (param.kind == ParamKind::tensor)
          attribute.tensor = &(one = one_element(*param.dtype, number)).abi();
      }
      report_query(fmt::format("{}={}", param.name, number));
      if (!accepted.error_of(attributes))
        return failed(fmt::format("parameter '{}' accepts {}, which is out of its bounds",
                                  param.name, number));
      ++count;
    }
  }
  if (count == 0) return skipped("no parameter has a bound");
  return passed(counted(count, "value") + " out of bounds refused");
}

}  // namespace tenon::checks
