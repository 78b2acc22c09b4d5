// The work of a CUDA thread: the function, or its derivative, at the thread's points.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "../../version.hpp"
#include "../convert.hpp"
#include "../math/functions.hpp"
#include "../signature.hpp"
#include "device_layout.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// A bit for each input that is bool, whatever the dtype of the others.
template <class Class>
inline constexpr unsigned bool_inputs = [] {
  unsigned inputs = 0;
  for (int i = 0; i < arity<Class>; ++i) {
    const auto& types = detail::description_of<Class>.inputs[i].types;
    if (types.has_value && types.value == Types{boolean}) inputs |= 1u << i;
  }
  return inputs;
}();

/// Computes a kernel's result from the numbers x[0], x[1] ... of its sources at one point, all in
/// T. flags: the sources that are bool_inputs.
template <class Class, class T,
          class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct ForwardAt;
template <class Class, class T, std::size_t... I>
struct ForwardAt<Class, T, std::index_sequence<I...>> {
  using Number = T;
  static constexpr int sources = sizeof...(I);
  static constexpr unsigned flags = bool_inputs<Class>;
  TENON_FN static auto at(const Class& f, const T* x) { return f(x[I]...); }
};

template <class Class, class T, std::size_t input,
          class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct DerivativeAt;
template <class Class, class T, std::size_t input, std::size_t... I>
struct DerivativeAt<Class, T, input, std::index_sequence<I...>> {
  using Number = T;
  static constexpr Rule rule = Signature<Class, T>::rule;
  static constexpr int sources = 1 + (rule == Rule::nothing  ? 0
                                      : rule == Rule::output ? 1
                                                             : sizeof...(I));
  static constexpr unsigned flags =
      rule == Rule::inputs || rule == Rule::dual ? bool_inputs<Class> : 0;
  TENON_FN static T at(const Class& f, const T* x) {
    if constexpr (rule == Rule::nothing) {
      return component(f.gradient(x[0]));
    } else if constexpr (rule == Rule::output) {
      return component(f.gradient(x[1], OutputOf<T>{x[0]}));
    } else if constexpr (rule == Rule::inputs) {
      return component(f.gradient(x[sizeof...(I)], InputOf<T>{x[I]}...));
    } else {
      return chain_rule(x[sizeof...(I)], f(Dual<T>(x[I], T(I == input))...).slope);
    }
  }

 private:
  template <class Gradients>
  TENON_FN static T component(const Gradients& gradients) {
    if constexpr (sizeof...(I) == 1) {
      return gradients;
    } else {
      return input == 0 ? gradients.left : gradients.right;
    }
  }
};

/// Reads an element of any dtype as T. Stored is the most likely dtype.
template <class T, class Stored>
TENON_FN T load(const DeviceOperand& operand, std::int64_t offset) {
  const unsigned char* at = operand.data + offset;
  if (!operand.data) return T(0);
  if (operand.dtype == dtype_of<Stored>) return number_as<T>(*reinterpret_cast<const Stored*>(at));
#define TENON_DTYPE(name, number, type, ...)            \
  if constexpr (!is_complex<type> && !is_low_bit<type>) \
    if (operand.dtype == DType::name)                   \
      return number_as<T>(static_cast<Computed<type>>(*reinterpret_cast<const type*>(at)));
  TENON_DTYPES(TENON_DTYPE)
#undef TENON_DTYPE
  return T(0);
}

/// Stores or adds a result in the output's dtype: Stored, or the function's result type.
template <class Stored, class Value>
TENON_FN void store(const DeviceOperand& out, std::int64_t offset, Value value, bool add) {
  unsigned char* at = out.data + offset;
  const auto put = [&](auto* to) {
    using To = std::remove_pointer_t<decltype(to)>;
    using Wide = Computed<To>;
    *to =
        add ? static_cast<To>(static_cast<Wide>(static_cast<Wide>(*to) + static_cast<Wide>(value)))
            : static_cast<To>(value);
  };
  if (out.dtype == dtype_of<Stored>) return put(reinterpret_cast<Stored*>(at));
  if constexpr (!std::is_same_v<Value, Stored>) put(reinterpret_cast<Value*>(at));
}

/// A kernel over all elements of its output.
struct DeviceMap {
  gpu::RowMajor space;
  int source_count = 0;
  DeviceOperand sources[max_sources];
  DeviceOperand out;
  bool add = false;

  // Byte offsets of point i. Templates of the number of operands only: kernels have thousands of
  // bodies.
  template <int n>
  TENON_FN void add_offsets(std::int64_t (&offsets)[n], std::int64_t i) const {
    space.add_offsets(offsets, i, [this](int k, int axis) {
      return (k < n - 1 ? sources[k] : out).strides[axis];
    });
  }
  template <int n>
  TENON_FN void add_source_offsets(std::int64_t (&offsets)[n], std::int64_t i) const {
    space.add_offsets(offsets, i, [this](int k, int axis) { return sources[k].strides[axis]; });
  }
  TENON_FN std::int64_t out_offset(std::int64_t i) const {
    std::int64_t offset[1] = {};
    space.add_offsets(offset, i, [this](int, int axis) { return out.strides[axis]; });
    return offset[0];
  }
};

inline DeviceMap device_map(const Job& job) {
  DeviceMap map;
  const tenon_dense& broadcast = job.output->dense;
  DeviceOperand* all[max_sources + 1];
  for (; map.source_count < job.source_count; ++map.source_count) {
    map.sources[map.source_count] = operand_of(job.sources[map.source_count], broadcast);
    all[map.source_count] = &map.sources[map.source_count];
  }
  map.out = operand_of(job.output, broadcast);
  all[map.source_count] = &map.out;
  map.space = join_axes(broadcast, all, map.source_count + 1, [](int) { return true; });
  map.add = job.write == Write::add;
  return map;
}

/// The kernel's body: one point for each i in [0, count). The number of sources is a compile-time
/// constant: an array with a run-time index would be in memory instead of registers.
template <class Function, class Stored, class Class>
struct MapBody {
  [[no_unique_address]] Class f;  // often empty: no undefined padding ahead of the other members
  DeviceMap map;

  TENON_FN void operator()(std::int64_t i) const {
    using T = typename Function::Number;
    constexpr int sources = Function::sources;
    std::int64_t offsets[sources + 1] = {};
    map.add_offsets(offsets, i);
    T x[sources];
    for (int k = 0; k < sources; ++k) x[k] = load<T, Stored>(map.sources[k], offsets[k]);
    store<Stored>(map.out, offsets[sources], Function::at(f, x), map.add);
  }
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
