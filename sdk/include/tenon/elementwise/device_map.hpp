// What each thread of a CUDA kernel does: the function, or its derivative, at the points that are the thread's. Plain functions, so that
// tests without a GPU run them, thread by thread.
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
  bool packed = false;  ///< 16 bytes of everything can be taken at once
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
  map.packed = map.space.rank == 1;
  for (int i = 0; i <= map.source_count; ++i) {
    const bool repeated = all[i]->strides[0] == 0 && all[i] != &map.out;
    const bool fits =
        all[i]->dtype == stored && all[i]->strides[0] == size && reinterpret_cast<std::uintptr_t>(all[i]->data) % pack_bytes == 0;
    map.packed = map.packed && (repeated || fits);
  }
  return map;
}

template <class Function, class Stored, class Class>
TENON_FN void map_point(const Class& f, const DeviceMap& map, std::int64_t i) {
  typename Function::Number x[max_sources];
  for (int k = 0; k < map.source_count; ++k)
    x[k] = load<typename Function::Number, Stored>(map.sources[k], offset_of(map.space, map.sources[k].strides, i));
  store<Stored>(map.out, offset_of(map.space, map.out.strides, i), Function::at(f, x), map.add);
}

/// Thread `thread` of `threads` takes every threads-th point, or pack of points.
template <class Function, class Stored, class Class>
TENON_FN void map_points(const Class& f, const DeviceMap& map, std::int64_t thread, std::int64_t threads) {
  using T = typename Function::Number;
  constexpr auto width = pack_bytes / static_cast<std::int64_t>(sizeof(Stored));
  std::int64_t done = 0;
  if constexpr (width > 1 && std::is_convertible_v<decltype(Function::at(f, static_cast<const T*>(nullptr))), T>) {
    if (map.packed && map.out.dtype == dtype_of<Stored>) {
      const std::int64_t packs = map.space.count / width;
      for (std::int64_t pack = thread; pack < packs; pack += threads) {
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
      done = packs * width;
    }
  }
  for (std::int64_t i = done + thread; i < map.space.count; i += threads) map_point<Function, Stored>(f, map, i);
}

}  // namespace tenon::elementwise
#pragma GCC visibility pop
