#include "check/samples/input_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>

#include "check/calls/test_call.hpp"
#include "check/test_input.hpp"

namespace tenon::checks {
namespace {

constexpr std::int64_t max_of_first = 100'000;  // elements of a first input that is created to fit

std::string names_of_inputs(const OperatorInfo& info) {
  std::string names;
  for (const auto& input : info.inputs)
    names += (names.empty() ? "" : ", ") + input.name + (input.variadic ? "0 ..." : "");
  return names.empty() ? "none" : names;
}

/// Tensors of a variadic input are numbered: parts0, parts1.
std::size_t input_index(const OperatorInfo& info, const std::string& name) {
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    const auto& input = info.inputs[i];
    if (!input.variadic && input.name == name) return i;
    if (!input.variadic || !name.starts_with(input.name) || name.size() > input.name.size() + 2)
      continue;
    const auto digits = name.substr(input.name.size());
    if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos)
      return i + std::stoul(digits);
  }
  throw Failure(FailureKind::usage, fmt::format("operator '{}' has no input '{}'; its inputs: {}",
                                                info.name, name, names_of_inputs(info)));
}

void set_shape(tenon_type& type, const Shape& shape) {
  const auto present = type.present;
  type = type_of(static_cast<DType>(type.dtype), shape);
  type.present = present;
}

/// `shape` with the fixed dimensions of `pattern`; nothing if the ranks differ.
std::optional<Shape> fitted(const Shape& shape, const tenon_type& pattern) {
  if (pattern.rank < 0) return shape;
  if (pattern.rank != shape.rank()) return std::nullopt;
  auto result = shape;
  for (int axis = 0; axis < pattern.rank; ++axis)
    if (pattern.dims[axis] >= 0) result.set(axis, pattern.dims[axis]);
  return result;
}

/// Plausible shapes of the other inputs, given the first: the same, matching matrices, rows,
/// labels, scalars, and smaller and larger shapes.
std::vector<Shape> candidate_shapes(const Shape& first) {
  if (first.rank() == 0) return {first, {1}, {3}, {2, 3}};
  std::vector<Shape> shapes = {first,
                               Shape::scalar(),
                               {first[0]},
                               {first[-1]},
                               {first[-1], 3},
                               Shape(first.begin(), first.rank() - 1),
                               {static_cast<std::int64_t>(first.rank())}};
  const auto changed = [&](int axis, std::int64_t dim) {
    auto shape = first;
    shape.set(axis, dim);
    shapes.push_back(shape);
  };
  changed(0, 1);
  changed(-1, 1);
  changed(0, first[0] + 3);
  if (first[0] > 1) changed(0, first[0] - 1);
  changed(-1, first[-1] + 1);
  if (first.rank() > 1) shapes.push_back({first[1]});
  if (first.rank() < 6) {
    std::int64_t dims[max_rank] = {2};
    std::copy(first.begin(), first.end(), dims + 1);
    shapes.emplace_back(dims, first.rank() + 1);
  }
  return shapes;
}

/// Shapes mentioned in an error, such as `data is [4, 6] but needs [n, 4]`, the last one first;
/// entries that are not numbers match any size.
std::vector<tenon_type> patterns_in(const std::string& refusal) {
  std::vector<tenon_type> patterns;
  const auto end = refusal.rfind(" (");  // followed by the actual inputs
  for (auto open = refusal.find('['); open != std::string::npos && open < end;
       open = refusal.find('[', open + 1)) {
    const auto close = refusal.find_first_of("[]", open + 1);
    if (close == std::string::npos || refusal[close] == '[') continue;
    auto pattern = unknown_type();
    pattern.rank = 0;
    for (auto at = open + 1; at < close && pattern.rank < max_rank; ++at) {
      const auto stop = std::min(refusal.find(',', at), close);
      const auto begin = refusal.find_first_not_of(' ', at);
      std::int64_t dim = -1;
      const auto [after, error] =
          std::from_chars(refusal.data() + begin, refusal.data() + stop, dim);
      pattern.dims[pattern.rank++] =
          error == std::errc() && after == refusal.data() + stop && dim >= 0 ? dim : -1;
      at = stop;
    }
    patterns.insert(patterns.begin(), pattern);
  }
  return patterns;
}

/// All candidates that fit a pattern of known rank; at least one.
std::vector<Shape> candidates(const Shape& first, const tenon_type& pattern, std::size_t round) {
  auto shapes = candidate_shapes(first);
  std::rotate(shapes.begin(), shapes.begin() + static_cast<std::ptrdiff_t>(round % shapes.size()),
              shapes.end());
  if (pattern.rank < 0) return shapes;
  std::vector<Shape> fitting;
  const auto add = [&](const Shape& shape) {
    if (const auto fits = fitted(shape, pattern);
        fits && std::find(fitting.begin(), fitting.end(), *fits) == fitting.end())
      fitting.push_back(*fits);
  };
  for (const auto& shape : shapes) add(shape);
  auto filled = Shape::of_rank(pattern.rank);
  for (int axis = 0; axis < pattern.rank; ++axis)
    filled.set(axis, axis < first.rank() ? first[axis] : 2 + (axis + 1) % 3);
  add(filled);
  for (int axis = 0; axis < pattern.rank; ++axis)
    filled.set(axis, first.rank() > 0 ? first[-1] : 3);
  add(filled);
  return fitting;
}

}  // namespace

FixedInputs fixed_inputs(const OperatorInfo& info, const ExampleInfo& example) {
  FixedInputs fixed;
  for (const auto& input : example.inputs) {
    auto& slot = fixed[input_index(info, input.name)];
    if (input.dtype)
      for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
        if (name_of(static_cast<DType>(i)) == *input.dtype) slot.dtype = static_cast<DType>(i);
    slot.shape = Shape(input.shape.data(), static_cast<int>(input.shape.size()));
    slot.values = input.values;
  }
  return fixed;
}

FixedInputs fixed_inputs(const OperatorInfo& info, const CheckCall& call) {
  FixedInputs fixed;
  for (const auto& [name, shape] : call.shapes) fixed[input_index(info, name)].shape = shape;
  for (const auto& [name, tensor] : call.inputs) {
    auto& slot = fixed[input_index(info, name)];
    slot.dtype = tensor.dtype();
    slot.shape = tensor.shape();
    slot.elements =
        tensor.storage() == Storage::dense ? tensor.clone() : cast_storage(tensor, Storage::dense);
  }
  return fixed;
}

std::vector<Connected> connection_choices(const OperatorInfo& info) {
  constexpr std::size_t max_choices = 8;
  std::vector<std::size_t> optional;
  for (std::size_t i = 0; i < info.inputs.size(); ++i)
    if (info.inputs[i].optional) optional.push_back(i);
  std::vector<Connected> choices{Connected(info.inputs.size(), true)};
  const auto add = [&](auto&& is_there) {
    Connected choice(info.inputs.size(), true);
    for (const auto i : optional) choice[i] = is_there(i);
    if (choices.size() < max_choices &&
        std::find(choices.begin(), choices.end(), choice) == choices.end())
      choices.push_back(std::move(choice));
  };
  add([](std::size_t) { return false; });
  for (const auto one : optional) add([&](std::size_t i) { return i != one; });
  for (const auto one : optional) add([&](std::size_t i) { return i == one; });
  return choices;
}

std::optional<TestInput> InputSearch::find(const Shape& first, const Connected& connected,
                                           std::size_t round, const FixedInputs& fixed) {
  tries_ = 0;
  auto types = start(connected, round, fixed);
  TestInput found;
  if (types.inputs.empty() || fixed.contains(0)) {
    if (complete(
            types.inputs.empty() || types.inputs[0].rank < 0 ? first : shape_of(types.inputs[0]),
            round, types, 0, found))
      return found;
    return std::nullopt;
  }
  for (const auto& shape : shapes_like(first, types)) {
    auto some = types;
    set_shape(some.inputs[0], shape);
    if (complete(shape, round, std::move(some), 0, found)) return found;
  }
  // for operators whose infer() rejects unknown types
  for (std::size_t i = 0; i < types.inputs.size(); ++i)
    if (types.inputs[i].rank < 0) set_shape(types.inputs[i], first);
  if (complete(first, round, types, 0, found)) return found;
  return std::nullopt;
}

void InputSearch::infer(CallTypes& types) const {
  if (queries_include_inputs())
    report_query(describe_call(call_.info(), types.inputs, attributes_));
  call_.infer(types);
}

CallTypes InputSearch::start(const Connected& connected, std::size_t round,
                             const FixedInputs& fixed) {
  CallTypes types;
  const auto& info = call_.info();
  // number of tensors of a variadic input after the first
  static constexpr std::size_t extra_variadic[] = {1, 1, 0, 2};
  auto count = info.inputs.size() + (info.variadic() ? extra_variadic[round % 4] : 0);
  for (const auto& [slot, input] : fixed) count = std::max(count, slot + 1);
  if (!fixed.empty() && info.variadic() && fixed.rbegin()->first + 1 >= info.inputs.size())
    count = fixed.rbegin()->first + 1;
  elements_.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const auto& declared = info.inputs[declared_input(info, i)];
    auto& type = types.inputs.emplace_back(unknown_type());
    type.dtype = static_cast<std::uint8_t>(shared_);
    if (declared.types) {
      std::vector<std::uint8_t> own;
      for (unsigned dtype = 0; dtype < TENON_DTYPE_COUNT; ++dtype)
        if (allows(*declared.types, static_cast<DType>(dtype)))
          own.push_back(static_cast<std::uint8_t>(dtype));
      type.dtype = own[round % own.size()];
    }
    const auto found = fixed.find(i);
    type.present = found != fixed.end() || connected[declared_input(info, i)];
    if (found == fixed.end()) continue;
    const auto& input = found->second;
    if (declared.types && input.dtype) type.dtype = static_cast<std::uint8_t>(*input.dtype);
    if (input.shape.has_rank()) set_shape(type, input.shape);
    const auto dtype = static_cast<DType>(type.dtype);
    if (!input.values.empty()) elements_[i] = elements_in(input.values, dtype, input.shape);
    if (input.elements) elements_[i] = elements_in(input.elements, dtype);
  }
  types.values.assign(count, nullptr);
  for (std::size_t i = 0; i < count; ++i)
    if (elements_[i])
      types.values[i] = may_infer_read(elements_[i].abi()) ? &elements_[i].abi() : nullptr;
  types.states.assign(info.states.size(), unknown_type());
  types.outputs.assign(call_.outputs(), unknown_type());
  return types;
}

/// The shape itself, then what infer() determines for a first input of that rank, then dimensions
/// that parameters may require.
std::vector<Shape> InputSearch::shapes_like(const Shape& first, const CallTypes& types) {
  std::vector<Shape> shapes{first};
  auto learned = types;
  set_shape(learned.inputs[0], first);
  try {
    infer(learned);
    return shapes;
  } catch (const Failure& failure) {
    for (const auto& pattern : patterns_in(failure.what()))
      if (const auto fits = fitted(first, pattern)) shapes.push_back(*fits);
  }
  learned = types;
  set_shape(learned.inputs[0], Shape::of_rank(first.rank()));
  try {
    infer(learned);
    if (const auto fits = fitted(first, learned.inputs[0])) shapes.push_back(*fits);
  } catch (const Failure&) {
    return shapes;  // no shape of this rank fits, or infer() needs the full shape
  }
  const auto last = shapes.back();
  for (const auto size : sizes_)
    for (int axis = 0; axis < last.rank(); ++axis) {
      if (learned.inputs[0].rank == last.rank() && learned.inputs[0].dims[axis] >= 0) continue;
      auto shape = last;
      shape.set(axis, size);
      if (shape.size() > 0 && shape.size() <= max_of_first) shapes.push_back(shape);
    }
  std::vector<Shape> distinct;
  for (const auto& shape : shapes)
    if (std::find(distinct.begin(), distinct.end(), shape) == distinct.end())
      distinct.push_back(shape);
  return distinct;
}

bool InputSearch::complete(const Shape& first, std::size_t round, CallTypes types, int accepted,
                           TestInput& found) {
  if (is_exhausted()) return false;
  ++tries_;
  try {
    infer(types);
  } catch (const Failure& failure) {
    refusal_ = failure.what();
    refusals_.add(Refusals::inference + accepted, refusal_);
    return false;
  }
  const auto incomplete =
      std::find_if(types.inputs.begin(), types.inputs.end(),
                   [](const auto& type) { return type.present && !is_known(type); });
  if (incomplete == types.inputs.end())
    return finish(types, found) || provide_elements(first, types, accepted, found);
  std::string refusal;  // of the first candidate
  const auto try_shape = [&](const Shape& shape) {
    const auto learned = *incomplete;
    auto candidate = type_of(static_cast<DType>(learned.dtype), shape);
    refusal_.clear();
    if (merge(*incomplete, candidate) != Merge::contradiction &&
        complete(first, 0, types, accepted + 1, found))
      return true;
    *incomplete = learned;
    if (refusal.empty()) refusal = refusal_;
    return false;
  };
  for (const auto& shape : candidates(first, *incomplete, round))
    if (try_shape(shape)) return true;
  for (const auto& pattern : patterns_in(refusal))
    for (const auto& shape : candidates(first, pattern, 0))
      if (try_shape(shape)) return true;
  return false;
}

/// Provides elements that infer() would read: plausible shapes, counts or indices.
bool InputSearch::provide_elements(const Shape& first, const CallTypes& types, int accepted,
                                   TestInput& found) {
  for (std::size_t i = 0; i < types.requested.size(); ++i) {
    const auto& type = types.inputs[i];
    const auto size = element_count(type);
    if (types.requested[i] == 0 || elements_[i] || !type.present || size < 0 || size > 64) continue;
    const auto count = static_cast<std::size_t>(size);
    std::vector<std::vector<double>> tries;
    if (static_cast<int>(count) == first.rank()) tries.emplace_back(first.begin(), first.end());
    if (count > 0)
      tries.emplace_back(count, 1.0), tries.back().front() = static_cast<double>(first.size());
    for (const double number : {2.0, 1.0, 0.0, 3.0}) tries.emplace_back(count, number);
    for (const auto& values : tries) {
      auto known = types;
      elements_[i] = elements_in(values, static_cast<DType>(type.dtype), shape_of(type));
      known.values[i] = &elements_[i].abi();
      if (complete(first, 0, std::move(known), accepted + 1, found)) return true;
    }
    elements_[i] = Tensor();
  }
  return false;
}

bool InputSearch::finish(const CallTypes& types, TestInput& found) {
  constexpr std::int64_t max_bytes = std::int64_t{1} << 26;  // more only takes longer
  bool certain = true;  // whether other elements would make no difference
  for (std::size_t i = 0; i < types.requested.size(); ++i)
    certain = certain && (types.requested[i] == 0 || elements_[i]);
  for (const auto* group : {&types.outputs, &types.states})
    for (std::size_t i = 0; i < group->size(); ++i) {
      const auto& type = (*group)[i];
      if (group == &types.outputs && call_.info().allocates(i) && type.rank >= 0 &&
          type.dtype != TENON_DTYPE_UNKNOWN)
        continue;
      if (!is_known(type) || byte_count(type) < 0 || byte_count(type) > max_bytes) {
        const auto name = group == &types.outputs ? output_label(call_, i)
                                                  : "state '" + call_.info().states[i].name + "'";
        refusals_.add(
            certain ? Refusals::unknown_outputs : Refusals::unknown_outputs - 1,
            fmt::format(
                "infer() leaves {} unknown{}{}", name, describe_inputs(call_.info(), types.inputs),
                type.rank < 0 ? "; a scalar is Shape::scalar(), whereas Shape{} has unknown rank"
                              : ""));
        return false;
      }
    }
  found = {attributes_, types, elements_};
  return true;
}

}  // namespace tenon::checks
