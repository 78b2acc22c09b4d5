#include "graph/initialize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/random.hpp>
#include <tenon/visit.hpp>
#include <unordered_map>

#include "graph/inference/operator_inference.hpp"
#include "tensor/low_bit_tensor.hpp"
#include "tensor/number_fits.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {

std::uint64_t random_stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

namespace {

// Fan-in and fan-out. The first axis counts outputs, the second inputs, the others the window of a
// convolution.
struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const tenon_type& type) {
  if (type.rank == 0) return {};
  const auto whole = static_cast<double>(element_count(type));
  const auto first = static_cast<double>(std::max<std::int64_t>(type.dims[0], 1));
  if (type.rank == 1) return {first, first};
  double window = 1;  // size of the convolution window
  for (int axis = 2; axis < type.rank; ++axis) window *= static_cast<double>(type.dims[axis]);
  return {std::max(1.0, whole / first), first * window};
}

/// Returns the initial values that operators declare for inputs and states. If nodes share a
/// variable, the first declaration counts.
std::unordered_map<ValueId, double> declared_by_operators(const GraphModel& model) {
  std::unordered_map<ValueId, double> initial;
  for (const auto& node : model.nodes) {
    if (node.pass != Pass::forward) continue;
    const auto& info = *model.operators[node.op].info;
    const auto* edges = model.edges.data() + node.first_edge;
    if (!info.inputs.empty())
      for (std::uint32_t i = 0; i < node.input_count; ++i)
        if (const auto declared = info.inputs[declared_input(info, i)].initial;
            declared && edges[i] != none)
          initial.emplace(edges[i], *declared);
    for (std::uint32_t i = 0; i < std::min<std::size_t>(node.state_count, info.states.size()); ++i)
      initial.emplace(edges[node.input_count + i], info.states[i].initial);
  }
  return initial;
}

Init automatic(Role role, const tenon_type& type) {
  return {role == Role::variable && type.rank >= 2 ? Init::Kind::xavier : Init::Kind::zeros};
}

template <class T>
T as(double value, std::string_view name) {
  if constexpr (std::is_same_v<T, bool>) return value != 0;
  if (!fits<T>(value))
    throw Failure(FailureKind::usage,
                  fmt::format("the initial value of '{}' is {}, which does not fit {}", name, value,
                              name_of(dtype_of<T>)));
  return number_as<T>(value);
}

Tensor empty_tensor(const tenon_type& type, std::string_view name) {
  try {
    return Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
  } catch (const Failure& failure) {
    throw Failure(failure.kind(), fmt::format("'{}': {}", name, failure.what()), failure.hint());
  }
}

Tensor first_values(const tenon_type& type, const Init& init, std::string_view name,
                    std::uint64_t seed) {
  const auto fans = fans_of(type);
  const Random random(seed, 0, random_stream_of(name));
  const double a = init.a, b = init.b;
  const auto draw = [&](std::uint64_t i) {
    switch (init.kind) {
      case Init::Kind::ones:
        return 1.0;
      case Init::Kind::value:
        return a;
      case Init::Kind::uniform:
        return a + (b - a) * static_cast<double>(random.uniform(i));
      case Init::Kind::normal:
        return a + b * static_cast<double>(random.normal(i));
      case Init::Kind::xavier:  // Glorot and Bengio, 2010: uniform within sqrt(6 / (in + out))
        return std::sqrt(6 / (fans.in + fans.out)) *
               (2 * static_cast<double>(random.uniform(i)) - 1);
      case Init::Kind::he:  // He et al., 2015: normal with deviation sqrt(2 / in)
        return std::sqrt(2 / fans.in) * static_cast<double>(random.normal(i));
      default:
        return 0.0;
    }
  };
  auto tensor = empty_tensor(type, name);
  const auto dtype = tensor.dtype();
  if (low_bit.has(dtype)) tensor = Tensor::empty(decoded_dtype(dtype), tensor.shape());
  visit<every_type>(tensor.dtype(), [&]<class T>() {
    auto elements = tensor.values<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = as<T>(draw(i), name);
  });
  if (low_bit.has(dtype)) return encoded(tensor, dtype);
  return cast_storage(tensor, static_cast<Storage>(type.storage));
}

bool can_begin(const ValueRecord& value, const tenon_type& type) {
  return (value.role == Role::variable || value.role == Role::state) && is_known(type) &&
         byte_count(type) >= 0;
}

class FirstValues {
 public:
  FirstValues(const GraphModel& model, std::uint64_t seed)
      : model_(model), seed_(seed), declared_(declared_by_operators(model)) {}
  Tensor of(ValueId id, const tenon_type& type) const {
    return first_values(type, init_of(id, type), model_.strings[model_.values[id].name], seed_);
  }
  bool are_random(ValueId id, const tenon_type& type) const {
    const auto kind = init_of(id, type).kind;
    return kind == Init::Kind::uniform || kind == Init::Kind::normal ||
           kind == Init::Kind::xavier || kind == Init::Kind::he;
  }

 private:
  Init init_of(ValueId id, const tenon_type& type) const {
    const auto& value = model_.values[id];
    if (value.init.kind != Init::Kind::automatic) return value.init;
    const auto found = declared_.find(id);
    return found == declared_.end() ? automatic(value.role, type)
                                    : Init{Init::Kind::value, found->second};
  }

  const GraphModel& model_;
  std::uint64_t seed_;
  std::unordered_map<ValueId, double> declared_;
};

}  // namespace

Tensor first_state(const StateInfo& state, const tenon_type& type) {
  return first_values(type, {Init::Kind::value, state.initial}, state.name, 0);
}

bool lacks_values(const GraphModel& model) {
  return std::any_of(model.values.begin(), model.values.end(), [](const ValueRecord& value) {
    return value.tensor == none && can_begin(value, value.type);
  });
}

bool lacks_values(const GraphModel& model, std::span<const tenon_type> types,
                  std::span<const Tensor> tensors) {
  for (ValueId id = 0; id < model.values.size(); ++id)
    if (!tensors[id] && can_begin(model.values[id], types[id])) return true;
  return false;
}

std::vector<ValueId> initialize(const GraphModel& model, std::uint64_t seed,
                                std::span<const tenon_type> types, std::span<Tensor> tensors) {
  const FirstValues first(model, seed);
  std::vector<ValueId> random;
  for (ValueId id = 0; id < model.values.size(); ++id) {
    if (tensors[id] || !can_begin(model.values[id], types[id])) continue;
    tensors[id] = first.of(id, types[id]);
    if (first.are_random(id, types[id])) random.push_back(id);
  }
  return random;
}

void initialize(GraphModel& model, std::uint64_t seed) {
  const FirstValues first(model, seed);
  for (ValueId id = 0; id < model.values.size(); ++id) {
    auto& value = model.values[id];
    if (value.tensor != none || !can_begin(value, value.type)) continue;
    auto tensor = first.of(id, value.type);
    value.tensor = static_cast<std::uint32_t>(model.tensors.size());
    model.tensors.push_back(TrackedTensor::track(tensor));
  }
}

}  // namespace tenon
