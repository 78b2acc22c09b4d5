#include "check/samples/parameter_sets.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tenon/visit.hpp>

namespace tenon::checks {
namespace {

constexpr int base_set_count = 7;
constexpr std::size_t max_number_alternatives = 5, max_list_alternatives = 8, max_varied_sets = 48,
                      mixed_set_count = 4;
constexpr double max_magnitude = 1e6;  // large numbers may imply large allocations

using List = std::vector<double>;

bool is_list(ParamKind kind) {
  return kind == ParamKind::ints || kind == ParamKind::floats;
}
bool is_whole(ParamKind kind) {
  return kind == ParamKind::int32 || kind == ParamKind::int64 || kind == ParamKind::ints;
}
bool is_number(ParamKind kind) {
  return is_whole(kind) || kind == ParamKind::float32 || kind == ParamKind::float64 ||
         kind == ParamKind::floats;
}

double clamped(const ParamInfo& param, double value) {
  const double step = is_whole(param.kind) ? 1 : 1e-3;
  if (param.min) value = std::max(value, *param.min);
  if (param.max) value = std::min(value, *param.max);
  if (param.above && value <= *param.above)
    value = *param.above + step * (1 + std::abs(*param.above));
  if (param.below && value >= *param.below)
    value = *param.below - step * (1 + std::abs(*param.below));
  return is_whole(param.kind) ? std::round(value) : value;
}

List elements_of(const Tensor& table) {
  return visit<table_types>(table.dtype(), [&]<class T>() {
    const auto elements = table.values<T>();
    return List(elements.begin(), elements.end());
  });
}

List numbers_of(const AttributeValue& value) {
  return std::visit(
      []<class T>(const T& content) -> List {
        if constexpr (std::is_arithmetic_v<T>) return {static_cast<double>(content)};
        if constexpr (std::is_same_v<T, Tensor>) return elements_of(content);
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>> ||
                      std::is_same_v<T, std::vector<double>>)
          return List(content.begin(), content.end());
        return {};
      },
      value.variant());
}

/// A tensor parameter with each number clamped to its bounds; the shape has as many elements as
/// there are numbers.
Tensor table_of(const ParamInfo& param, const List& numbers, const Shape& shape) {
  return visit<table_types>(*param.dtype, [&]<class T>() {
    std::vector<T> elements;
    for (const double number : numbers) elements.push_back(static_cast<T>(clamped(param, number)));
    return Tensor::from(elements, shape);
  });
}

/// Converts to the parameter's kind, with each number clamped to its bounds.
AttributeValue value_of(const ParamInfo& param, List numbers) {
  for (auto& number : numbers) number = clamped(param, number);
  if (!is_list(param.kind))
    return is_whole(param.kind) ? AttributeValue(std::llround(numbers.at(0)))
                                : AttributeValue(numbers.at(0));
  if (!is_whole(param.kind)) return numbers;
  std::vector<std::int64_t> whole;
  for (const double number : numbers) whole.push_back(std::llround(number));
  return whole;
}

// All list parameters of a set, such as begin and end, have the same length. Values increase from
// one parameter to the next, so that begin < end.
List list_for(int set, int position) {
  static const List choices[base_set_count] = {{1, 2}, {1},    {-1},        {2, 2, 2},
                                               {},     {5, 3}, {1, 2, 1, 2}};
  auto values = choices[set];
  for (auto& value : values) value += value > 0 ? position : 0;
  return values;
}

/// Replaces each text by a choice if the parameter has choices.
std::vector<std::string> with_choices(const ParamInfo& param, std::vector<std::string> texts) {
  for (auto& text : texts)
    if (!param.choices.empty())
      text = param.choices[static_cast<unsigned char>(text[0]) % param.choices.size()];
  return texts;
}

AttributeValue value_for(const ParamInfo& param, int set, int position) {
  static const std::vector<std::string> texts[base_set_count] = {
      {"a", "b"}, {"a"}, {}, {"b", "a", "c"}, {"a", "a"}, {"text"}, {"c", "b"}};
  static const Shape shapes[base_set_count] = {{2}, {1}, {1},   {3},
                                               {0}, {2}, {2, 2}};  // of the lists of list_for()
  // the first is not 1: as a size, it makes 0 and 1 valid indices
  static constexpr double numbers[base_set_count] = {2, 3, 4, 5, 6, 1, 8};
  if (is_list(param.kind)) return value_of(param, list_for(set, position));
  if (param.kind == ParamKind::tensor) return table_of(param, list_for(set, position), shapes[set]);
  if (param.kind == ParamKind::texts) return with_choices(param, texts[set]);
  if (is_whole(param.kind)) return value_of(param, {numbers[set]});
  if (is_number(param.kind)) return value_of(param, {0.25 * (position + 1) + set});
  if (param.kind == ParamKind::boolean) return set % 2 != 0;
  return param.choices.empty()
             ? std::string("text")
             : param.choices[static_cast<std::size_t>(set) % param.choices.size()];
}

/// Up to `limit` values that differ from each other and from `current`.
class Alternatives {
 public:
  Alternatives(const ParamInfo& param, const AttributeValue& current, std::size_t limit)
      : param_(param), current_(current), limit_(limit) {}
  void add(const List& numbers) {
    const auto is_large = [](double number) { return !(std::abs(number) <= max_magnitude); };
    if (!numbers.empty() && std::any_of(numbers.begin(), numbers.end(), is_large)) return;
    if (numbers.empty() && !is_list(param_.kind)) return;
    add(value_of(param_, numbers));
  }
  void add(AttributeValue value) {
    const bool known =
        value == current_ || std::find(values.begin(), values.end(), value) != values.end();
    if (!known && values.size() < limit_) values.push_back(std::move(value));
  }
  std::vector<AttributeValue> values;

 private:
  const ParamInfo& param_;
  const AttributeValue& current_;
  std::size_t limit_;
};

void add_numbers(const ParamInfo& param, double current, Alternatives& found) {
  const double step_size = is_whole(param.kind) ? 1 : 0.125 * (1 + std::abs(current)),
               lowest = -max_magnitude;
  found.add(List{current + step_size});
  if (param.min || param.above) found.add(List{clamped(param, lowest)});
  found.add(List{current - step_size});
  if (param.max || param.below) found.add(List{clamped(param, max_magnitude)});
  found.add(List{2 * current + (is_whole(param.kind) ? 1 : 0.75)});
  found.add(List{0});
  found.add(List{-current - 0.25});
}

void add_lists(const List& current, Alternatives& found) {
  if (current.empty())
    for (const auto& list : {List{1}, {0}, {2, 1}, {-1}, {0, 1}, {1, 2, 3}, {2, 1, 1, 2}})
      found.add(list);
  const auto each = [&](auto&& change) {
    auto numbers = current;
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = change(numbers[i], i);
    found.add(numbers);
  };
  if (current.empty()) return;
  each([](double number, std::size_t) { return number + 1; });
  each([](double number, std::size_t) { return number + 7; });
  each([&](double number, std::size_t i) { return number + (i + 1 == current.size() ? 3 : 0); });
  each([](double number, std::size_t i) { return number + (i == 0 ? 2 : 0); });
  each([](double number, std::size_t) { return number - 1; });
  each([&](double, std::size_t i) { return current[current.size() - 1 - i]; });
  auto longer = current, shorter = current;
  longer.push_back(current.back());
  shorter.pop_back();
  found.add(longer);
  found.add(shorter);
}

// Other numbers in the same shape, then other shapes.
void add_tables(const ParamInfo& param, const Tensor& current, Alternatives& found) {
  const auto numbers = elements_of(current);
  const auto each = [&](auto&& change) {
    auto changed = numbers;
    for (std::size_t i = 0; i < changed.size(); ++i) changed[i] = change(changed[i], i);
    found.add(table_of(param, changed, current.shape()));
  };
  each([](double number, std::size_t) { return number + 1; });
  each([&](double, std::size_t i) { return numbers[numbers.size() - 1 - i]; });
  each([](double number, std::size_t i) { return i % 2 != 0 ? -number : number; });
  for (const auto& shape : {Shape{static_cast<std::int64_t>(numbers.size()) + 1}, Shape{1},
                            Shape{2, 2}, Shape{0}, Shape::scalar()}) {
    List resized(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < resized.size(); ++i)
      resized[i] = i < numbers.size() ? numbers[i] : static_cast<double>(i) + 1;
    found.add(table_of(param, resized, shape));
  }
}

// An empty list, one element more and one fewer, the reversed list, and the choices.
void add_texts(const ParamInfo& param, const std::vector<std::string>& current,
               Alternatives& found) {
  using Texts = std::vector<std::string>;
  auto longer = current;
  longer.push_back(current.empty() ? with_choices(param, {"a"})[0] : current.back());
  found.add(Texts{});
  found.add(longer);
  if (!current.empty()) found.add(Texts(current.begin(), current.end() - 1));
  found.add(Texts(current.rbegin(), current.rend()));
  for (const auto& choice : param.choices)
    found.add(Texts(std::max<std::size_t>(current.size(), 1), choice));
  found.add(param.choices.empty() ? Texts{"", "other"} : param.choices);
}

std::vector<AttributeValue> alternatives(const OperatorInfo& info, const ParamInfo& param,
                                         const AttributeValue& current) {
  const bool is_sequence =
      is_list(param.kind) || param.kind == ParamKind::texts || param.kind == ParamKind::tensor;
  Alternatives found(param, current, is_sequence ? max_list_alternatives : max_number_alternatives);
  for (const auto& condition : info.conditions)
    if (condition.param == param.name)
      for (const auto& value : condition.values) found.add(value);
  if (param.kind == ParamKind::boolean) found.add(AttributeValue(current == AttributeValue(false)));
  if (const auto* texts = std::get_if<std::vector<std::string>>(&current.variant());
      texts != nullptr && param.kind == ParamKind::texts)
    return add_texts(param, *texts, found), found.values;
  if (const auto* table = std::get_if<Tensor>(&current.variant());
      table != nullptr && param.kind == ParamKind::tensor)
    return add_tables(param, *table, found), found.values;
  for (const auto& choice : param.choices) found.add(AttributeValue(choice));
  if (!is_number(param.kind)) return found.values;
  const auto numbers = numbers_of(current);
  if (is_list(param.kind))
    add_lists(numbers, found);
  else if (!numbers.empty() && std::abs(numbers[0]) <= max_magnitude)
    add_numbers(param, numbers[0], found);
  else
    add_numbers(param, 2, found);  // defaults such as the largest int64 mean "everything"
  return found.values;
}

Attributes with_value(const Attributes& set, const std::string& name, AttributeValue value) {
  Attributes result;
  for (const auto& [other, old_value] : set)
    if (other != name) result.set(other, old_value);
  result.set(name, std::move(value));
  return result;
}

/// A number on the right or left side of `relation` that satisfies it together with `number`.
double partner(const std::string& relation, double number, bool on_right) {
  if (relation == "less_than") return on_right ? number + 1 : number - 1;
  if (relation == "greater_than") return on_right ? number - 1 : number + 1;
  return number;
}

// Adjusts the other side of each rule that names the changed parameter, if it is set or its default
// violates the rule.
void follow_rules(const OperatorInfo& info, const std::string& changed, Attributes& set) {
  const auto& from = info.params[static_cast<std::size_t>(info.find_param(changed))];
  for (const auto& rule : info.rules) {
    const bool is_left = rule.left == changed;
    if (!is_left && rule.right != changed) continue;
    const int found = info.find_param(is_left ? rule.right : rule.left);
    if (found < 0) continue;
    const auto& to = info.params[static_cast<std::size_t>(found)];
    auto numbers = numbers_of(value_in(set, from));
    const auto old = numbers_of(value_in(set, to));
    // an empty list satisfies every rule
    if (!is_number(to.kind) || numbers.empty() || (is_list(to.kind) && old.empty())) continue;
    if (rule.relation == "same_length") {
      const auto size = numbers.size();
      numbers = old;
      numbers.resize(size, old.back());
    } else {
      for (auto& number : numbers) number = partner(rule.relation, number, is_left);
    }
    if (!is_list(to.kind)) numbers.resize(1);
    set = with_value(set, to.name, value_of(to, numbers));
  }
}

}  // namespace

AttributeValue value_in(const Attributes& set, const ParamInfo& param) {
  for (const auto& [name, value] : set)
    if (name == param.name) return value;
  return param.default_value;
}

std::vector<Attributes> required_sets(const OperatorInfo& info) {
  std::vector<Attributes> sets;
  const bool any = std::any_of(info.params.begin(), info.params.end(),
                               [](const auto& param) { return param.required; });
  for (int set = 0; set < (any ? base_set_count : 1); ++set) {
    auto& base = sets.emplace_back();
    int position = 0;
    for (const auto& param : info.params)
      if (param.required) base.set(param.name, value_for(param, set, position++));
  }
  return sets;
}

Attributes with_parameter(const OperatorInfo& info, const Attributes& set, const std::string& name,
                          const AttributeValue& value) {
  auto result = with_value(set, name, value);
  follow_rules(info, name, result);
  return result;
}

// The first alternative of each parameter, then the second of each, and so on.
std::vector<Attributes> varied_sets(const OperatorInfo& info, const Attributes& base) {
  std::vector<Attributes> sets;
  std::vector<std::vector<AttributeValue>> all;
  std::size_t longest = 0;
  for (const auto& param : info.params) {
    all.push_back(alternatives(info, param, value_in(base, param)));
    longest = std::max(longest, all.back().size());
  }
  const auto change = [&](Attributes& set, std::size_t i, std::size_t k) {
    set = with_parameter(info, set, info.params[i].name, all[i][k]);
  };
  for (std::size_t k = 0; k < longest; ++k)
    for (std::size_t i = 0; i < all.size() && sets.size() < max_varied_sets; ++i)
      if (k < all[i].size()) change(sets.emplace_back(base), i, k);
  if (std::count_if(all.begin(), all.end(), [](const auto& values) { return !values.empty(); }) < 2)
    return sets;
  for (std::size_t mixed = 0; mixed < mixed_set_count; ++mixed) {
    auto& set = sets.emplace_back(base);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].empty() && (i + mixed) % 3 != 2)
        change(set, i, (7 * mixed + 3 * i) % all[i].size());
  }
  return sets;
}

Attributes merged(const Attributes& preferred, const Attributes& fallback) {
  auto result = preferred;
  for (const auto& [name, value] : fallback)
    if (std::none_of(preferred.begin(), preferred.end(),
                     [&name = name](const auto& entry) { return entry.first == name; }))
      result.set(name, value);
  return result;
}

Attributes parameters_of(const ExampleInfo& example) {
  Attributes parameters;
  for (const auto& [name, value] : example.params) parameters.set(name, value);
  return parameters;
}

std::vector<Attributes> parameter_sets(const OperatorInfo& info) {
  std::vector<Attributes> sets;
  for (const auto& example : info.examples) sets.push_back(parameters_of(example));
  for (auto& set : required_sets(info)) sets.push_back(std::move(set));
  for (std::size_t i = 0, bases = sets.size(); i < bases; ++i)
    for (auto& set : varied_sets(info, sets[i])) sets.push_back(std::move(set));
  return sets;
}

std::vector<std::int64_t> sizes_in(const OperatorInfo& info, const Attributes& parameters) {
  constexpr double limit = 128;
  std::set<std::int64_t> sizes;
  for (const auto& param : info.params)
    if (is_whole(param.kind))
      for (const double number : numbers_of(value_in(parameters, param)))
        if (number > 1 && number <= limit)
          sizes.insert({static_cast<std::int64_t>(number), 2 * static_cast<std::int64_t>(number)});
  return {sizes.begin(), sizes.end()};
}

}  // namespace tenon::checks
