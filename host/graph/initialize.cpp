#include "graph/initialize.hpp"

#include <cmath>
#include <tenon/random.hpp>
#include <tenon/visit.hpp>

namespace tenon {
namespace {

// Elements that feed one output and that one input feeds: the first axis counts outputs, the others inputs (dense and convolution weights).
struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const tenon_type& type) {
  if (type.rank == 0) return {};
  const auto whole = static_cast<double>(element_count(type));
  const auto first = static_cast<double>(std::max<std::int64_t>(type.dims[0], 1));
  if (type.rank == 1) return {first, first};
  double window = 1;  // of a convolution
  for (int axis = 2; axis < type.rank; ++axis) window *= static_cast<double>(type.dims[axis]);
  return {std::max(1.0, whole / first), first * window};
}

Init::Kind kind_of(const ValueRecord& value) {
  if (value.init.kind != Init::Kind::automatic) return value.init.kind;
  return value.role == Role::variable && value.type.rank >= 2 ? Init::Kind::xavier : Init::Kind::zeros;
}

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

template <class T>
T as(double value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
    return static_cast<T>(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

Tensor first_values(const ValueRecord& value, std::string_view name, std::uint64_t seed) {
  const auto kind = kind_of(value);
  const auto fans = fans_of(value.type);
  const Random random(seed, 0, hash_of(name));
  const double a = value.init.a, b = value.init.b;
  const auto draw = [&](std::uint64_t i) {
    switch (kind) {
      case Init::Kind::ones:
        return 1.0;
      case Init::Kind::value:
        return a;
      case Init::Kind::uniform:
        return a + (b - a) * static_cast<double>(random.uniform(i));
      case Init::Kind::normal:
        return a + b * static_cast<double>(random.normal(i));
      case Init::Kind::xavier:  // Glorot and Bengio, 2010: uniform within sqrt(6 / (in + out))
        return std::sqrt(6 / (fans.in + fans.out)) * (2 * static_cast<double>(random.uniform(i)) - 1);
      case Init::Kind::he:  // He et al., 2015: normal with deviation sqrt(2 / in)
        return std::sqrt(2 / fans.in) * static_cast<double>(random.normal(i));
      default:
        return 0.0;
    }
  };
  auto tensor = Tensor::empty(static_cast<DType>(value.type.dtype), shape_of(value.type));
  visit(tensor.dtype(), [&]<class T>() {
    auto elements = tensor.values<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = as<T>(draw(i));
  });
  return tensor;
}

}  // namespace

void initialize(GraphModel& model, std::uint64_t seed) {
  for (auto& value : model.values) {
    if (value.tensor != none || (value.role != Role::variable && value.role != Role::state)) continue;
    if (!is_known(value.type) || byte_count(value.type) < 0) continue;
    auto tensor = first_values(value, model.strings[value.name], seed);
    value.tensor = static_cast<std::uint32_t>(model.tensors.size());
    model.tensors.push_back(std::move(tensor));
  }
}

}  // namespace tenon
