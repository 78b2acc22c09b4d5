#include <fmt/format.h>

#include "cli/check/accepted_attributes.hpp"
#include "cli/check/check.hpp"

namespace tenon::cli {
namespace {

constexpr char no_such_choice[] = "no such choice";

tenon_attribute text_attribute(const char* name) {
  tenon_attribute attribute{};
  attribute.name = name;
  attribute.kind = TENON_ATTR_TEXT;
  attribute.text = no_such_choice;
  attribute.count = sizeof no_such_choice - 1;
  return attribute;
}

/// Text for what is no text, a number for what is.
tenon_attribute mistyped(const char* name, const ParamInfo& param) {
  auto attribute = text_attribute(name);
  if (param.kind != ParamKind::text && param.kind != ParamKind::choice) return attribute;
  attribute.kind = TENON_ATTR_FLOAT;
  attribute.text = nullptr;
  attribute.count = 0;
  attribute.f = 0.5;
  return attribute;
}

}  // namespace

Outcome check_parameters(const Subject& subject) {
  const AcceptedAttributes accepted(subject.op);
  if (!accepted.found()) return skipped("no parameters were found that it accepts: " + accepted.refusal());
  auto unknown = accepted.all();
  unknown.push_back(text_attribute("no_such_parameter"));
  if (!accepted.refusal_of(unknown)) return failed("a parameter 'no_such_parameter', which it does not have, is accepted");
  int count = 1;
  for (std::size_t i = 0; i < accepted.all().size(); ++i) {
    const auto* name = accepted.all()[i].name;
    const auto& param = subject.op.info->params[static_cast<std::size_t>(subject.op.info->find_param(name))];
    auto wrong = accepted.all();
    wrong[i] = mistyped(name, param);
    if (!accepted.refusal_of(wrong))
      return failed(fmt::format("parameter '{}' is of kind {}, but a value of another kind is accepted", name, name_of(param.kind)));
    ++count;
    if (param.choices.empty()) continue;
    wrong[i] = text_attribute(name);
    if (!accepted.refusal_of(wrong))
      return failed(fmt::format("parameter '{}' accepts '{}', which is not one of its choices", name, no_such_choice));
    ++count;
  }
  return passed(fmt::format("{} wrong parameters were refused", count));
}

}  // namespace tenon::cli
