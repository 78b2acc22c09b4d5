#include "check/test_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tenon/host/failure.hpp>

#include "check/check.hpp"
#include "check/input_search.hpp"

namespace tenon::checks {
namespace {

constexpr std::size_t most_ordinary = 64, most_unusual = 24, most_bases = 2;
constexpr std::size_t patience = 20'000;  // refusals until parameters are not varied further

// The first ones of a kind are tried with every set of parameters.
std::vector<Shape> first_shapes(TestInputKind kind) {
  switch (kind) {
    case TestInputKind::ordinary:
      return {{4, 6},          {6},     {2, 3, 4},          {2, 3, 5, 4}, {1, 2}, Shape::scalar(), {7, 3}, {5, 1, 3}, {2, 2, 7, 3},
              {2, 3, 1, 2, 2}, {3, 17}, {1, 2, 2, 1, 3, 2}, {23}};
    case TestInputKind::odd:
      return {{7, 13}, {1}, {3, 1, 5}, {3, 1, 7, 5}, {31}, {5, 7, 11}, {1, 1, 1, 1, 1}};
    case TestInputKind::empty:
      return {{0}, {0, 3}, {3, 0}, {2, 0, 3}, {0, 3, 5, 4}, {2, 3, 0, 4}, {0, 0}};
    case TestInputKind::scalar:
      return {Shape::scalar()};
    case TestInputKind::large:
      return {{257, 513}, {70001}, {3, 5, 67, 71}};
  }
  return {};
}

/// Parameters, and what an author or a user says of the inputs.
struct Base {
  Attributes parameters;
  FixedInputs fixed{};
  std::vector<TestInput> found{};
};

class SampleSearch {
 public:
  SampleSearch(const LoadedOperator& op, DType shared, TestInputKind kind)
      : op_(op), info_(*op.info), shared_(shared), kind_(kind), shapes_(first_shapes(kind)), ways_(ways_to_connect(info_)) {}

  /// Only these calls; what they leave open is looked for.
  TestInputs named(const std::vector<CheckCall>& calls) {
    if (kind_ != TestInputKind::ordinary) return std::move(result_);
    for (const auto& call : calls) {
      const auto fixed = fixed_inputs(info_, call);
      for (const auto& required : required_sets(info_))
        if (find_fixed(merged(call.parameters, required), fixed)) break;
    }
    return std::move(result_);
  }

  TestInputs first() {
    for (auto& base : bases()) {
      if (!base.fixed.empty() && find_fixed(base.parameters, base.fixed)) return std::move(result_);
      for (std::size_t i = 0; i < shapes_.size(); ++i)
        if (auto found = find(base.parameters, shapes_[i], ways_[0], 0)) {
          result_.found.push_back(std::move(*found));
          return std::move(result_);
        }
    }
    return std::move(result_);
  }

  // The first sample of each set of parameters, those with one of them changed, then the second of each set: every set has its turn before
  // there are enough.
  TestInputs all() {
    auto found = bases();
    for (auto& base : found) {
      if (kind_ == TestInputKind::ordinary && !base.fixed.empty()) find_fixed(base.parameters, base.fixed);
      base.found = with_shapes(base.parameters);
    }
    add_turn(found, 0);
    std::size_t varied = 0;
    for (const auto& base : found)
      if ((!base.found.empty() || !result_.found.empty()) && varied++ < most_bases) vary(base);
    for (std::size_t turn = 1; turn < 2 * shapes_.size() + ways_.size(); ++turn) add_turn(found, turn);
    return std::move(result_);
  }

 private:
  std::vector<Base> bases() const {
    std::vector<Base> bases;
    for (const auto& example : info_.examples) bases.push_back({parameters_of(example), fixed_inputs(info_, example)});
    for (auto& set : required_sets(info_)) {
      const auto is_same = [&](const Base& base) {
        return std::equal(base.parameters.begin(), base.parameters.end(), set.begin(), set.end());
      };
      if (std::none_of(bases.begin(), bases.end(), is_same)) bases.push_back({std::move(set)});
    }
    return bases;
  }

  std::size_t most() const { return kind_ == TestInputKind::ordinary ? most_ordinary : most_unusual; }

  void add(TestInput sample) {
    sample.may_be_refused =
        gives_elements_ && std::none_of(sample.given.begin(), sample.given.end(), [](const Tensor& t) { return bool(t); });
    if (result_.found.size() < most()) result_.found.push_back(std::move(sample));
  }
  void add_turn(std::vector<Base>& bases, std::size_t turn) {
    for (auto& base : bases)
      if (turn < base.found.size()) add(base.found[turn]);
  }

  std::optional<TestInput> find(const Attributes& parameters, const Shape& shape, const Connected& way, std::size_t turn,
                                const FixedInputs& fixed = {}) {
    tell_question(describe_parameters(parameters));
    try {
      const OperatorCall call(op_, parameters);
      return InputSearch(call, parameters, shared_, result_.refusals).find(shape, way, turn, fixed);
    } catch (const Failure& failure) {
      result_.refusals.add(Refusals::no_object, failure.what());
      return std::nullopt;
    }
  }

  /// Optional inputs that nobody names are left out.
  bool find_fixed(const Attributes& parameters, const FixedInputs& fixed) {
    Connected named(info_.inputs.size(), true);
    for (std::size_t i = 0; i < named.size(); ++i) named[i] = !info_.inputs[i].optional || fixed.contains(i);
    bool open = false;  // whether something of the inputs is left to look for
    for (std::size_t i = 0; i < named.size(); ++i) open = open || (named[i] && (!fixed.contains(i) || !fixed.at(i).shape.has_rank()));
    for (const auto& shape : shapes_) {
      if (auto found = find(parameters, shape, named, 0, fixed)) return add(std::move(*found)), true;
      if (!open) break;
    }
    return false;
  }

  std::vector<TestInput> with_shapes(const Attributes& parameters) {
    std::vector<TestInput> samples;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const bool try_all = samples.empty() && kind_ == TestInputKind::ordinary;
      std::size_t left = try_all ? ways_.size() : 2;
      for (std::size_t way = 0; way < ways_.size() && left > 0; ++way, --left)
        if (auto found = find(parameters, shapes_[i], ways_[(i + way) % ways_.size()], i)) samples.push_back(std::move(*found));
      if (info_.inputs.empty()) break;
    }
    return samples;
  }

  void vary(const Base& base) {
    std::size_t turn = 0;
    for (const auto& parameters : varied_sets(info_, base.parameters)) {
      if (result_.refusals.count() > patience || result_.found.size() == most()) return;
      ++turn;
      if (kind_ == TestInputKind::ordinary && !base.fixed.empty() && find_fixed(parameters, base.fixed)) continue;
      for (std::size_t i = 0; i < shapes_.size(); ++i)
        if (auto found = find(parameters, shapes_[(turn + i) % shapes_.size()], ways_[turn % ways_.size()], turn % 3)) {
          add(std::move(*found));
          break;
        }
    }
  }

  const LoadedOperator& op_;
  const OperatorInfo& info_;
  DType shared_;
  TestInputKind kind_;
  std::vector<Shape> shapes_;
  std::vector<Connected> ways_;
  TestInputs result_;
  bool gives_elements_ = std::any_of(info_.examples.begin(), info_.examples.end(), [](const ExampleInfo& example) {
    return std::any_of(example.inputs.begin(), example.inputs.end(), [](const auto& input) { return !input.values.empty(); });
  });
};

DType most_telling(const OperatorInfo& info) {
  return allows(info.types, DType::f32) ? DType::f32 : static_cast<DType>(std::countr_zero(info.types));
}

/// ` k=3 mode=same`
std::string values_of(const Attributes& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) text += fmt::format(" {}={}", name, tenon::to_string(value));
  return text;
}

}  // namespace

const TestInputs& find_samples(const CheckedOperator& subject, DType shared, TestInputKind kind) {
  auto& place = subject.samples->found[{shared, kind}];
  if (!place) {
    SampleSearch search(subject.op, shared, kind);
    place.emplace(subject.calls.empty() ? search.all() : search.named(subject.calls));
  }
  return *place;
}

const TestInputs& find_samples(const CheckedOperator& subject, TestInputKind kind) {
  return find_samples(subject, most_telling(*subject.op.info), kind);
}

TestInputs find_samples(const LoadedOperator& op, TestInputKind kind) {
  return SampleSearch(op, most_telling(*op.info), kind).all();
}

TestInputs find_sample(const CheckedOperator& subject, DType shared) {
  SampleSearch search(subject.op, shared, TestInputKind::ordinary);
  return subject.calls.empty() ? search.first() : search.named(subject.calls);
}

bool is_for_devices(const TestInput& sample) {
  const auto here = [](const tenon_type& type) { return !type.present || any_type.has(static_cast<DType>(type.dtype)); };
  return std::all_of(sample.types.inputs.begin(), sample.types.inputs.end(), here) &&
         std::all_of(sample.types.outputs.begin(), sample.types.outputs.end(), here);
}

std::string describe_parameters(const Attributes& parameters) {
  const auto text = values_of(parameters);
  return text.empty() ? "default parameters" : text.substr(1);
}

std::string describe_call(const OperatorInfo& info, std::span<const tenon_type> inputs, const Attributes& parameters) {
  const auto text = describe_inputs(info, inputs) + values_of(parameters);
  return text.empty() ? "no inputs" : text.substr(1);
}

}  // namespace tenon::checks
