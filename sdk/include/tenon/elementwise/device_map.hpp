// What each thread of a CUDA kernel does: the function, or its derivative, at the points that are the thread's.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "convert.hpp"
#include "device_layout.hpp"
#include "signature.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::elementwise {

/// What a kernel computes of the numbers x[0], x[1] ... that its sources have at one point; all of them computed in T.
template <class Class, class T, class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct ForwardAt;
template <class Class, class T, std::size_t... I>
struct ForwardAt<Class, T, std::index_sequence<I...>> {
  using Number = T;
  TENON_FN static auto at(const Class& f, const T* x) { return f(x[I]...); }
};

template <class Class, class T, std::size_t input, class Indices = std::make_index_sequence<static_cast<std::size_t>(arity<Class>)>>
struct DerivativeAt;
template <class Class, class T, std::size_t input, std::size_t... I>
struct DerivativeAt<Class, T, input, std::index_sequence<I...>> {
  using Number = T;
  TENON_FN static T at(const Class& f, const T* x) {
    constexpr Rule rule = Signature<Class, T>::rule;
    if constexpr (rule == Rule::nothing) {
      return part(f.gradient(x[0]));
    } else if constexpr (rule == Rule::output) {
      return part(f.gradient(x[1], OutputOf<T>{x[0]}));
    } else if constexpr (rule == Rule::inputs) {
      return part(f.gradient(x[sizeof...(I)], InputOf<T>{x[I]}...));
    } else {
      return chain(x[sizeof...(I)], f(Dual<T>(x[I], T(I == input))...).slope);
    }
  }

 private:
  template <class Gradients>
  TENON_FN static T part(const Gradients& gradients) {
    if constexpr (sizeof...(I) == 1) {
      return gradients;
    } else {
      return input == 0 ? gradients.left : gradients.right;
    }
  }
};

/// An element of any dtype as a T. Stored is the dtype that is likely.
template <class T, class Stored>
TENON_FN T load(const DeviceOperand& operand, std::int64_t offset) {
  const unsigned char* at = operand.data + offset;
  if (!operand.data) return T(0);
  if (operand.dtype == dtype_of<Stored>) return number_as<T>(*reinterpret_cast<const Stored*>(at));
  switch (operand.dtype) {
    case DType::boolean:
      return number_as<T>(*reinterpret_cast<const bool*>(at));
    case DType::u8:
      return number_as<T>(*reinterpret_cast<const std::uint8_t*>(at));
    case DType::i8:
      return number_as<T>(*reinterpret_cast<const std::int8_t*>(at));
    case DType::i32:
      return number_as<T>(*reinterpret_cast<const std::int32_t*>(at));
    case DType::i64:
      return number_as<T>(*reinterpret_cast<const std::int64_t*>(at));
    case DType::f16:
      return number_as<T>(static_cast<float>(*reinterpret_cast<const half*>(at)));
    case DType::bf16:
      return number_as<T>(static_cast<float>(*reinterpret_cast<const bfloat16*>(at)));
    case DType::f32:
      return number_as<T>(*reinterpret_cast<const float*>(at));
    case DType::f64:
      return number_as<T>(*reinterpret_cast<const double*>(at));
  }
  return T(0);
}

/// Writes or adds a result, in the output's dtype: Stored, or what the function returns.
template <class Stored, class Value>
TENON_FN void store(const DeviceOperand& out, std::int64_t offset, Value value, bool add) {
  unsigned char* at = out.data + offset;
  const auto put = [&](auto* to) {
    using To = std::remove_pointer_t<decltype(to)>;
    using Wide = std::conditional_t<std::is_same_v<To, half> || std::is_same_v<To, bfloat16>, float, To>;
    *to = add ? static_cast<To>(static_cast<Wide>(static_cast<Wide>(*to) + static_cast<Wide>(value))) : static_cast<To>(value);
  };
  if (out.dtype == dtype_of<Stored>) return put(reinterpret_cast<Stored*>(at));
  if constexpr (!std::is_same_v<Value, Stored>) put(reinterpret_cast<Value*>(at));
}

/// A kernel that goes over all elements of its output.
struct DeviceMap {
  DeviceSpace space;
  int source_count = 0;
  DeviceOperand sources[max_sources];
  DeviceOperand out;
  bool add = false;
  std::int64_t packs = 0;  ///< of 16 bytes of everything, that can be taken at once; the points after them are taken one by one
};

inline constexpr std::int64_t pack_bytes = 16;

/// `stored`: the dtype whose kernel is to run.
inline DeviceMap device_map(const Job& job, DType stored) {
  DeviceMap map;
  const tenon_dense& wide = job.output->dense;
  DeviceOperand* all[max_sources + 1];
  for (; map.source_count < job.source_count; ++map.source_count) {
    map.sources[map.source_count] = operand_of(job.sources[map.source_count], wide);
    all[map.source_count] = &map.sources[map.source_count];
  }
  map.out = operand_of(job.output, wide);
  all[map.source_count] = &map.out;
  map.space = join_axes(wide, all, map.source_count + 1, [](int) { return true; });
  map.add = job.write == Write::add;
  const auto size = static_cast<std::int64_t>(size_of(stored));
  bool packed = map.space.rank == 1;
  for (int i = 0; i <= map.source_count; ++i) {
    const bool repeated = all[i]->strides[0] == 0 && all[i] != &map.out;
    const bool fits =
        all[i]->dtype == stored && all[i]->strides[0] == size && reinterpret_cast<std::uintptr_t>(all[i]->data) % pack_bytes == 0;
    packed = packed && (repeated || fits);
  }
  if (packed) map.packs = map.space.count / (pack_bytes / size);
  return map;
}

template <class Function, class Stored, class Class>
TENON_FN void map_point(const Class& f, const DeviceMap& map, std::int64_t i) {
  typename Function::Number x[max_sources];
  for (int k = 0; k < map.source_count; ++k)
    x[k] = load<typename Function::Number, Stored>(map.sources[k], offset_of(map.space, map.sources[k].strides, i));
  store<Stored>(map.out, offset_of(map.space, map.out.strides, i), Function::at(f, x), map.add);
}

/// Packs are for functions whose result is of the dtype that they read.
template <class Function, class Stored, class Class>
inline constexpr bool packable =
    std::is_convertible_v<decltype(Function::at(std::declval<const Class&>(), static_cast<const typename Function::Number*>(nullptr))),
                          typename Function::Number>;

template <class Function, class Stored, class Class>
TENON_FN void map_pack(const Class& f, const DeviceMap& map, std::int64_t pack) {
  using T = typename Function::Number;
  constexpr auto width = pack_bytes / static_cast<std::int64_t>(sizeof(Stored));
  T x[width][max_sources];
  for (int k = 0; k < map.source_count; ++k) {
    const bool repeated = map.sources[k].strides[0] == 0;
    alignas(pack_bytes) Stored in[width];
    if (!repeated) __builtin_memcpy(in, __builtin_assume_aligned(map.sources[k].data + pack * pack_bytes, pack_bytes), pack_bytes);
    const T same = repeated ? load<T, Stored>(map.sources[k], 0) : T(0);
    for (std::int64_t j = 0; j < width; ++j) x[j][k] = repeated ? same : number_as<T>(in[j]);
  }
  alignas(pack_bytes) Stored out[width];
  auto* to = __builtin_assume_aligned(map.out.data + pack * pack_bytes, pack_bytes);
  if (map.add) __builtin_memcpy(out, to, pack_bytes);
  for (std::int64_t j = 0; j < width; ++j) {
    const auto value = static_cast<T>(Function::at(f, x[j]));
    out[j] = static_cast<Stored>(map.add ? static_cast<T>(static_cast<T>(out[j]) + value) : value);
  }
  __builtin_memcpy(to, out, pack_bytes);
}

/// The body of a kernel: a pack, or a point, for each i in [0, pieces()).
template <class Function, class Stored, class Class>
struct MapBody {
  [[no_unique_address]] Class f;  // mostly empty: then there is nothing undefined before what follows
  DeviceMap map;

  MapBody(const Class& f, const Job& job) : f(f), map(device_map(job, dtype_of<Stored>)) {
    if (!packable<Function, Stored, Class>) map.packs = 0;
  }
  std::int64_t pieces() const { return map.packs + map.space.count - map.packs * width; }
  TENON_FN void operator()(std::int64_t i) const {
    if constexpr (packable<Function, Stored, Class>) {
      if (i < map.packs) return map_pack<Function, Stored>(f, map, i);
    }
    map_point<Function, Stored>(f, map, i + map.packs * (width - 1));
  }

 private:
  static constexpr auto width = pack_bytes / static_cast<std::int64_t>(sizeof(Stored));
};

}  // namespace tenon::elementwise
#pragma GCC visibility pop
