#include "check/samples/sample_search.hpp"

#include <algorithm>
#include <tenon/host/failure.hpp>

namespace tenon::checks {
namespace {

constexpr std::size_t max_ordinary = 64, max_unusual = 24, max_bases = 2;
constexpr std::size_t max_rejections =
    20'000;  // rejections after which parameters are no longer varied

// The first shapes of a kind are tried with every set of parameters.
std::vector<Shape> first_shapes(TestInputKind kind) {
  switch (kind) {
    case TestInputKind::ordinary:
      return {{4, 6}, {6},       {2, 3, 4},    {2, 3, 5, 4},    {1, 2},  Shape::scalar(),
              {7, 3}, {5, 1, 3}, {2, 2, 7, 3}, {2, 3, 1, 2, 2}, {3, 17}, {1, 2, 2, 1, 3, 2},
              {23}};
    case TestInputKind::odd:
      return {{7, 13}, {1}, {3, 1, 5}, {3, 1, 7, 5}, {31}, {5, 7, 11}, {1, 1, 1, 1, 1}};
    case TestInputKind::empty:
      return {{0}, {0, 3}, {3, 0}, {2, 0, 3}, {0, 3, 5, 4}, {2, 3, 0, 4}, {0, 0}};
    case TestInputKind::scalar:
      return {Shape::scalar()};
    case TestInputKind::large:
      return {{257, 513}, {70001}, {3, 5, 67, 71}};
    case TestInputKind::round:
      return {{64, 64}, {128, 256}, {4096}, {2, 64, 64}, {2, 16, 32, 32}, {1, 64, 1, 64}};
  }
  return {};
}

bool has_elements(const FixedInputs& fixed) {
  return std::any_of(fixed.begin(), fixed.end(), [](const auto& input) {
    return !input.second.values.empty() || bool(input.second.elements);
  });
}

}  // namespace

SampleSearch::SampleSearch(const LoadedOperator& op, DType shared, TestInputKind kind)
    : op_(op),
      info_(*op.info),
      shared_(shared),
      kind_(kind),
      shapes_(first_shapes(kind)),
      connections_(connection_choices(info_)) {}

TestInputs SampleSearch::named(const std::vector<CheckCall>& calls) {
  if (kind_ != TestInputKind::ordinary) return std::move(result_);
  for (const auto& call : calls) {
    const auto fixed = fixed_inputs(info_, call);
    find_with_examples(call.parameters, fixed);
    for (const auto& required : required_sets(info_))
      if (find_fixed(merged(call.parameters, required), fixed)) break;
  }
  return std::move(result_);
}

/// Combines each example with the user-provided inputs, unless these cover all inputs.
void SampleSearch::find_with_examples(const Attributes& parameters, const FixedInputs& fixed) {
  for (const auto& example : info_.examples) {
    auto both = fixed_inputs(info_, example);
    if (std::all_of(both.begin(), both.end(),
                    [&](const auto& input) { return fixed.contains(input.first); }))
      continue;
    for (const auto& [input, user_input] : fixed) both[input] = user_input;
    find_fixed(merged(parameters, parameters_of(example)), both);
  }
}

TestInputs SampleSearch::from_example(const ExampleInfo& example) {
  find_fixed(parameters_of(example), fixed_inputs(info_, example));
  return std::move(result_);
}

TestInputs SampleSearch::with_value(const std::string& parameter, const AttributeValue& value) {
  constexpr std::size_t enough = 16;
  const auto set = [&](const Attributes& parameters) {
    return with_parameter(info_, parameters, parameter, value);
  };
  const auto found = bases();
  for (const auto& base : found) {
    if (!base.fixed.empty()) find_fixed(set(base.parameters), base.fixed);
    for (auto& sample : with_shapes(set(base.parameters))) add(std::move(sample));
    if (result_.found.size() >= enough) return std::move(result_);
  }
  for (const auto& base : found)  // other parameters may have to change, too
    for (const auto& varied : varied_sets(info_, base.parameters)) {
      if (result_.found.size() >= enough || result_.refusals.count() > max_rejections)
        return std::move(result_);
      if (!base.fixed.empty()) find_fixed(set(varied), base.fixed);
      for (auto& sample : with_shapes(set(varied))) add(std::move(sample));
    }
  return std::move(result_);
}

TestInputs SampleSearch::first() {
  for (auto& base : bases()) {
    if (!base.fixed.empty() && find_fixed(base.parameters, base.fixed)) return std::move(result_);
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (auto found = find(base.parameters, shapes_[i], connections_[0], 0)) {
        result_.found.push_back(std::move(*found));
        return std::move(result_);
      }
  }
  return std::move(result_);
}

// Round-robin: the first sample of each set of parameters, then the sets with one parameter
// changed, then the second sample of each set, so that every set gets a turn before the limit is
// reached.
TestInputs SampleSearch::all() {
  auto found = bases();
  for (auto& base : found) {
    if (kind_ == TestInputKind::ordinary && !base.fixed.empty())
      find_fixed(base.parameters, base.fixed);
    base.found = with_shapes(base.parameters);
  }
  add_round(found, 0);
  std::size_t varied = 0;
  for (const auto& base : found)
    if ((!base.found.empty() || !result_.found.empty()) && varied++ < max_bases) vary(base);
  for (std::size_t round = 1; round < 2 * shapes_.size() + connections_.size(); ++round)
    add_round(found, round);
  return std::move(result_);
}

std::vector<CallBase> SampleSearch::bases() const {
  std::vector<CallBase> bases;
  for (const auto& example : info_.examples)
    bases.push_back({parameters_of(example), fixed_inputs(info_, example)});
  for (auto& set : required_sets(info_)) {
    const auto is_same = [&](const CallBase& base) {
      return std::equal(base.parameters.begin(), base.parameters.end(), set.begin(), set.end());
    };
    if (std::none_of(bases.begin(), bases.end(), is_same)) bases.push_back({std::move(set)});
  }
  return bases;
}

std::size_t SampleSearch::max_samples() const {
  return kind_ == TestInputKind::ordinary ? max_ordinary : max_unusual;
}

void SampleSearch::add(TestInput sample) {
  if (result_.found.size() < max_samples()) result_.found.push_back(std::move(sample));
}

void SampleSearch::add_round(std::vector<CallBase>& bases, std::size_t round) {
  for (auto& base : bases)
    if (round < base.found.size()) add(base.found[round]);
}

std::optional<TestInput> SampleSearch::find(const Attributes& parameters, const Shape& shape,
                                            const Connected& connected, std::size_t round,
                                            const FixedInputs& fixed) {
  report_query(describe_parameters(parameters));
  try {
    const OperatorCall call(op_, parameters);
    return InputSearch(call, parameters, shared_, result_.refusals)
        .find(shape, connected, round, fixed);
  } catch (const Failure& failure) {
    result_.refusals.add(Refusals::no_object, failure.what());
    return std::nullopt;
  }
}

/// Omits optional inputs that the call does not name.
bool SampleSearch::find_fixed(const Attributes& parameters, const FixedInputs& fixed) {
  Connected named(info_.inputs.size(), true);
  for (std::size_t i = 0; i < named.size(); ++i)
    named[i] = !info_.inputs[i].optional || fixed.contains(i);
  bool has_unknown = false;  // whether a property of an input is left to search for
  for (std::size_t i = 0; i < named.size(); ++i)
    has_unknown =
        has_unknown || (named[i] && (!fixed.contains(i) || !fixed.at(i).shape.has_rank()));
  for (const auto& shape : shapes_) {
    if (auto found = find(parameters, shape, named, 0, fixed)) return add(std::move(*found)), true;
    if (!has_unknown) break;
  }
  return false;
}

std::vector<TestInput> SampleSearch::with_shapes(const Attributes& parameters) {
  std::vector<TestInput> samples;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const bool try_all = samples.empty() && kind_ == TestInputKind::ordinary;
    std::size_t left = try_all ? connections_.size() : 2;
    for (std::size_t choice = 0; choice < connections_.size() && left > 0; ++choice, --left)
      if (auto found =
              find(parameters, shapes_[i], connections_[(i + choice) % connections_.size()], i))
        samples.push_back(std::move(*found));
    if (info_.inputs.empty()) break;
  }
  return samples;
}

void SampleSearch::vary(const CallBase& base) {
  std::size_t round = 0;
  for (const auto& parameters : varied_sets(info_, base.parameters)) {
    if (result_.refusals.count() > max_rejections || result_.found.size() == max_samples()) return;
    ++round;
    const bool as_in_example = kind_ == TestInputKind::ordinary && !base.fixed.empty() &&
                               find_fixed(parameters, base.fixed);
    // elements may be legal only with the example's own parameters
    if (as_in_example && !has_elements(base.fixed)) continue;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (auto found = find(parameters, shapes_[(round + i) % shapes_.size()],
                            connections_[round % connections_.size()], round % 3)) {
        add(std::move(*found));
        break;
      }
  }
}

}  // namespace tenon::checks
