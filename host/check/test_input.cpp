#include "check/test_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tenon/host/failure.hpp>

#include "graph/parameters.hpp"
#include "run/operator_call.hpp"

namespace tenon::checks {
namespace {

constexpr std::size_t most_samples = 24;

std::vector<Shape> first_shapes(TestInputKind kind) {
  switch (kind) {
    case TestInputKind::ordinary:
      return {{4, 6}, {6}, {2, 3, 4}, {2, 3, 5, 4}, {1, 2}};
    case TestInputKind::odd:
      return {{7, 13}, {1}, {3, 1, 5}, {3, 1, 7, 5}, {31}};
    case TestInputKind::empty:
      return {{0}, {0, 3}, {3, 0}, {2, 0, 3}, {0, 3, 5, 4}};
    case TestInputKind::scalar:
      return {Shape::scalar()};
    case TestInputKind::large:
      return {{257, 513}, {70001}, {3, 5, 67, 71}};
  }
  return {};
}

// What the other inputs may look like beside the first: matrices that meet, rows, labels, numbers.
std::vector<Shape> shapes_beside(const Shape& first) {
  std::vector<Shape> shapes = {first, Shape::scalar()};
  if (first.rank() == 0) return shapes;
  shapes.push_back({first[0]});
  shapes.push_back({first[-1]});
  shapes.push_back({first[-1], 3});
  shapes.push_back(Shape(first.begin(), first.rank() - 1));
  return shapes;
}

class TestInputSearch {
 public:
  TestInputSearch(const OperatorCall& call, DType shared, std::string& error) : call_(call), shared_(shared), error_(error) {}

  bool find(const Shape& first, bool with_optional, OperatorTypes& found) {
    tries_ = 0;
    OperatorTypes types;
    const auto& info = call_.info();
    const auto count = info.inputs.size() + (info.variadic() ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
      const auto& declared = info.inputs[declared_input(info, i)];
      auto& type = types.inputs.emplace_back(unknown_type());
      type.dtype = static_cast<std::uint8_t>(declared.types ? std::countr_zero(*declared.types) : static_cast<int>(shared_));
      type.present = with_optional || !declared.optional;
    }
    types.states.assign(info.states.size(), unknown_type());
    types.outputs.assign(call_.outputs(), unknown_type());
    if (count > 0) set_shape(types.inputs[0], first);
    if (complete(first, types, found)) return true;
    for (auto& type : types.inputs) set_shape(type, first);  // for those whose infer() refuses what is not known
    return complete(first, types, found);
  }

 private:
  static void set_shape(tenon_type& type, const Shape& shape) {
    const auto present = type.present;
    type = type_of(static_cast<DType>(type.dtype), shape);
    type.present = present;
  }

  bool complete(const Shape& first, OperatorTypes types, OperatorTypes& found) {
    if (++tries_ > 300) return false;
    try {
      call_.infer(types);
    } catch (const Failure& failure) {
      error_ = failure.what();
      return false;
    }
    const auto open =
        std::find_if(types.inputs.begin(), types.inputs.end(), [](const auto& type) { return type.present && !is_known(type); });
    if (open == types.inputs.end()) return finish(std::move(types), found);
    for (const auto& shape : shapes_beside(first)) {
      const auto learned = *open;
      auto wanted = type_of(static_cast<DType>(learned.dtype), shape);
      if (merge(*open, wanted) != Merge::contradiction && complete(first, types, found)) return true;
      *open = learned;
    }
    return false;
  }

  bool finish(OperatorTypes types, OperatorTypes& found) {
    for (const auto* group : {&types.outputs, &types.states})
      for (const auto& type : *group)
        if (!is_known(type) || byte_count(type) < 0 || byte_count(type) > std::int64_t{1} << 28) {
          error_ = "infer() leaves an output or state unknown" + describe_inputs(call_.info(), types.inputs);
          return false;
        }
    found = std::move(types);
    return true;
  }

  const OperatorCall& call_;
  DType shared_;
  std::string& error_;
  int tries_ = 0;
};

std::vector<TestInput> search(const LoadedOperator& op, const Attributes& attributes, DType shared, TestInputKind kind,
                              std::string& error) {
  std::vector<TestInput> samples;
  const OperatorCall call(op, attributes);
  TestInputSearch one(call, shared, error);
  const bool optional = std::any_of(op.info->inputs.begin(), op.info->inputs.end(), [](const auto& input) { return input.optional; });
  for (const auto& first : first_shapes(kind)) {
    for (const bool with_optional : {true, false}) {
      OperatorTypes found;
      if (!with_optional && !optional) continue;
      if (one.find(first, with_optional, found)) samples.push_back({attributes, std::move(found)});
    }
    if (op.info->inputs.empty()) break;
  }
  return samples;
}

constexpr int base_sets = 5;

double within(const ParamInfo& param, double value) {
  if (param.min) value = std::max(value, *param.min);
  if (param.max) value = std::min(value, *param.max);
  if (param.above && value <= *param.above) value = *param.above + 1;
  if (param.below && value >= *param.below) value = *param.below - 1;
  return value;
}

// Lists that belong together (a begin and an end) have one length and grow from one parameter to the next.
std::vector<std::int64_t> ints(int set, int position) {
  static const std::vector<std::int64_t> choices[base_sets] = {{1, 2}, {1}, {-1}, {2, 2, 2}, {}};
  auto values = choices[set];
  for (auto& value : values) value += value > 0 ? position : 0;
  return values;
}

AttributeValue value_for(const ParamInfo& param, int set, int position) {
  static constexpr int numbers[base_sets] = {2, 3, 4, 5, 6};  // not 1: indices below such a number are 0 and 1
  switch (param.kind) {
    case ParamKind::boolean:
      return set % 2 != 0;
    case ParamKind::int32:
    case ParamKind::int64:
      return static_cast<std::int64_t>(std::llround(within(param, numbers[set])));
    case ParamKind::float32:
    case ParamKind::float64:
      return within(param, 0.25 * (position + 1) + set);
    case ParamKind::choice:
      return param.choices[static_cast<std::size_t>(set) % param.choices.size()];
    case ParamKind::text:
      return param.choices.empty() ? std::string("text") : param.choices.front();
    case ParamKind::ints: {
      auto values = ints(set, position);
      for (auto& value : values) value = std::llround(within(param, static_cast<double>(value)));
      return values;
    }
    case ParamKind::floats:
      break;
  }
  std::vector<double> values;
  for (const auto value : ints(set, position)) values.push_back(within(param, static_cast<double>(value)));
  return values;
}

// A switch turned, or another choice.
void add_variants(const OperatorInfo& info, const Attributes& base, std::vector<Attributes>& sets) {
  for (const auto& param : info.params) {
    if (param.required) continue;
    const auto with = [&](AttributeValue value) {
      if (value == param.default_value) return;
      sets.push_back(base);
      sets.back().set(param.name, std::move(value));
    };
    if (param.kind == ParamKind::boolean)
      with(param.default_value == AttributeValue(false));
    else
      for (const auto& choice : param.choices) with(choice);
  }
}

}  // namespace

// The first sample of each set of parameters, then the second of each: every set has its turn before there are enough.
TestInputs find_samples(const LoadedOperator& op, DType shared, TestInputKind kind) {
  TestInputs samples;
  std::vector<std::vector<TestInput>> sets;
  std::size_t longest = 0;
  for (const auto& attributes : parameter_sets(*op.info)) {
    try {
      sets.push_back(search(op, attributes, shared, kind, samples.error));
      longest = std::max(longest, sets.back().size());
    } catch (const Failure& failure) {
      samples.error = failure.what();
    }
  }
  for (std::size_t turn = 0; turn < longest; ++turn)
    for (auto& set : sets)
      if (turn < set.size() && samples.found.size() < most_samples) samples.found.push_back(std::move(set[turn]));
  return samples;
}

TestInputs find_samples(const LoadedOperator& op, TestInputKind kind) {
  const auto types = op.info->types;
  return find_samples(op, allows(types, DType::f32) ? DType::f32 : static_cast<DType>(std::countr_zero(types)), kind);
}

std::string describe_sample(const OperatorInfo& info, const TestInput& sample) {
  std::string text = describe_inputs(info, sample.types.inputs);
  for (const auto& [name, value] : sample.attributes) text += fmt::format(" {}={}", name, tenon::to_string(value));
  return text.empty() ? "no inputs" : text.substr(1);
}

std::vector<Attributes> parameter_sets(const OperatorInfo& info) {
  std::vector<Attributes> bases;
  const bool any_required = std::any_of(info.params.begin(), info.params.end(), [](const auto& param) { return param.required; });
  for (int set = 0; set < (any_required ? base_sets : 1); ++set) {
    auto& base = bases.emplace_back();
    int position = 0;
    for (const auto& param : info.params)
      if (param.required) base.set(param.name, value_for(param, set, position++));
  }
  auto sets = bases;
  for (const auto& base : bases) add_variants(info, base, sets);
  return sets;
}

}  // namespace tenon::checks
