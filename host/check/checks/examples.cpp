// Checks that examples are accepted, and that each value of a parameter with few values has a
// working call.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "check/calls/test_call.hpp"
#include "check/samples/sample_search.hpp"

namespace tenon::checks {
namespace {

std::string describe_example(const ExampleInfo& example) {
  std::vector<std::string> texts;
  for (const auto& input : example.inputs)
    texts.push_back(fmt::format("{}{} [{}]", input.name, input.dtype ? " " + *input.dtype : "",
                                fmt::join(input.shape, ", ")));
  for (const auto& [name, value] : example.params)
    texts.push_back(fmt::format("{}={}", name, to_string(value)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Whether the kernel accepts one of the samples.
bool is_accepted(const CheckedOperator& checked, const std::vector<TestInput>& samples,
                 Refusals& refusals) {
  return std::any_of(samples.begin(), samples.end(), [&](const TestInput& sample) {
    return accepted_by_kernel(checked, sample, refusals).has_value();
  });
}

/// Why inputs cannot have the dtypes that the example names if the shared dtype is `shared`; empty
/// if they can.
std::string refused_dtype(const OperatorInfo& info, const ExampleInfo& example, DType shared) {
  for (const auto& [i, input] : fixed_inputs(info, example)) {
    if (!input.dtype || info.inputs[declared_input(info, i)].types) continue;
    if (!allows(info.types, *input.dtype))
      return fmt::format("the operator does not accept {} for {}", name_of(*input.dtype),
                         input_label(info, i));
    if (*input.dtype != shared)
      return fmt::format("{} shares its dtype with other inputs", input_label(info, i));
  }
  return {};
}

/// Why the example is rejected with every possible shared dtype; empty if it is accepted.
std::string refusal_of(const CheckedOperator& checked, const ExampleInfo& example) {
  std::string first, of_dtype;
  for (const auto dtype : shared_dtypes(*checked.op.info)) {
    if (auto refused = refused_dtype(*checked.op.info, example, dtype); !refused.empty()) {
      of_dtype = std::move(refused);
      continue;
    }
    auto samples = SampleSearch(checked.op, dtype, TestInputKind::ordinary).from_example(example);
    if (is_accepted(checked, samples.found, samples.refusals)) return {};
    if (first.empty()) first = samples.refusals.nearest();
  }
  return first.empty() ? of_dtype : first;
}

/// Returns the values of a boolean, a choice or a small integer range, and for lists of choices a
/// list of each choice; empty for other parameters.
std::vector<AttributeValue> all_values(const ParamInfo& param) {
  constexpr double max_count = 8;
  if (param.kind == ParamKind::boolean) return {AttributeValue(false), AttributeValue(true)};
  if (param.kind == ParamKind::choice || param.kind == ParamKind::text)
    return {param.choices.begin(), param.choices.end()};
  if (param.kind == ParamKind::texts) {
    const auto* usual = std::get_if<std::vector<std::string>>(&param.default_value.variant());
    const std::size_t length = usual == nullptr || usual->empty() ? 1 : usual->size();
    std::vector<AttributeValue> lists;
    for (const auto& choice : param.choices)
      lists.emplace_back(std::vector<std::string>(length, choice));
    return lists;
  }
  const bool whole = param.kind == ParamKind::int32 || param.kind == ParamKind::int64;
  std::vector<AttributeValue> values;
  if (whole && param.min && param.max && *param.max - *param.min < max_count)
    for (auto number = std::llround(*param.min); number <= std::llround(*param.max); ++number)
      values.emplace_back(std::int64_t{number});
  return values;
}

/// Whether the value is the requested one, or a list that contains its text.
bool has_value(const AttributeValue& value, const AttributeValue& requested) {
  const auto* texts = std::get_if<std::vector<std::string>>(&value.variant());
  const auto* one = std::get_if<std::vector<std::string>>(&requested.variant());
  if (texts == nullptr || one == nullptr) return value == requested;
  return std::find(texts->begin(), texts->end(), one->front()) != texts->end();
}

bool has_call(const CheckedOperator& checked, const ParamInfo& param, const AttributeValue& value,
              Refusals& refusals) {
  constexpr std::size_t max_count = 8;
  std::vector<TestInput> with_it;
  for (const auto& sample : find_samples(checked, TestInputKind::ordinary).found)
    if (with_it.size() < max_count && has_value(value_in(sample.attributes, param), value))
      with_it.push_back(sample);
  if (is_accepted(checked, with_it, refusals)) return true;
  for (const auto dtype : shared_dtypes(*checked.op.info)) {
    const auto samples =
        SampleSearch(checked.op, dtype, TestInputKind::ordinary).with_value(param.name, value);
    refusals.add(samples.refusals);
    if (is_accepted(checked, samples.found, refusals)) return true;
  }
  return false;
}

}  // namespace

// A rejected example is the author's mistake. If a parameter value has no working call, the search
// may be to blame, unless infer() accepts all inputs and still leaves the outputs unknown.
Outcome check_examples(const CheckedOperator& checked) {
  const auto& info = *checked.op.info;
  if (!checked.calls.empty()) return skipped("the calls are user-provided");
  for (std::size_t i = 0; i < info.examples.size(); ++i)
    if (const auto refusal = refusal_of(checked, info.examples[i]); !refusal.empty())
      return failed(fmt::format("op.example() {}, with ({}), is refused: {}", i + 1,
                                describe_example(info.examples[i]), refusal));
  std::vector<std::string> without;
  Refusals of_first;
  std::size_t values = 0;
  for (const auto& param : info.params)
    for (const auto& value : all_values(param)) {
      ++values;
      Refusals refusals;
      if (has_call(checked, param, value, refusals)) continue;
      const auto description = fmt::format("{}={}", param.name, to_string(value));
      if (refusals.reached() == Refusals::unknown_outputs)
        return failed(fmt::format("no call works, with {}: {}", description, refusals.nearest()));
      if (without.empty()) of_first = refusals;
      without.push_back(description);
    }
  if (!without.empty())
    return {Verdict::untried,
            fmt::format("no working call was found with {}: {}, the closest one with: {}",
                        fmt::join(without, ", "),
                        counted(of_first.count(), "try was refused", "tries were refused"),
                        of_first.nearest())};
  if (info.examples.empty() && values == 0)
    return skipped("it has no examples and no parameters with few values");
  return passed(fmt::format("{}, {}", counted(info.examples.size(), "example"),
                            counted(values, "value of a parameter", "values of parameters")));
}

}  // namespace tenon::checks
