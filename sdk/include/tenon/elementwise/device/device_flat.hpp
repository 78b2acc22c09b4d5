// The same where all elements lie side by side: what most calls are, at the speed of the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "../../version.hpp"
#include "device_map.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Functions whose result is of the dtype that they read.
template <class Function, class Class>
inline constexpr bool packable =
    std::is_convertible_v<decltype(Function::at(std::declval<const Class&>(), static_cast<const typename Function::Number*>(nullptr))),
                          typename Function::Number>;

inline constexpr std::int64_t pack_bytes = 16;

/// A source, or the output. Of a repeated one there is one element, or none where data is null: zeros.
struct DeviceRow {
  unsigned char* data = nullptr;
  bool repeated = false;
};

struct DeviceFlat {
  DeviceRow sources[max_sources];
  unsigned char* out = nullptr;
  std::int64_t count = 0, packs = 0;  ///< packs: of 16 bytes of everything; the elements after them are taken one by one
  bool add = false;
};

/// Nothing where elements of `stored` do not lie so.
inline std::optional<DeviceFlat> device_flat(const DeviceMap& map, DType stored) {
  const auto size = static_cast<std::int64_t>(size_of(stored));
  const bool single = map.space.rank() == 0;  // then strides mean nothing
  if (map.space.rank() > 1 || map.out.dtype != stored || (!single && map.out.strides[0] != size)) return {};
  DeviceFlat flat;
  auto addresses = reinterpret_cast<std::uintptr_t>(map.out.data);
  for (int i = 0; i < map.source_count; ++i) {
    const DeviceOperand& source = map.sources[i];
    const bool repeated = !source.data || single || source.strides[0] == 0;
    if (source.data && (source.dtype != stored || (!repeated && source.strides[0] != size))) return {};
    flat.sources[i] = {source.data, repeated};
    if (!repeated) addresses |= reinterpret_cast<std::uintptr_t>(source.data);
  }
  flat.out = map.out.data;
  flat.count = map.space.count();
  if (addresses % pack_bytes == 0) flat.packs = flat.count / (pack_bytes / size);
  flat.add = map.add;
  return flat;
}

/// The body of a kernel: a pack, or an element, for each i in [0, pieces()).
template <class Function, class Stored, class Class>
struct FlatBody {
  [[no_unique_address]] Class f;  // mostly empty: then there is nothing undefined before what follows
  DeviceFlat map;

  std::int64_t pieces() const { return map.count - map.packs * (width - 1); }
  TENON_FN void operator()(std::int64_t i) const { i < map.packs ? take<width>(i * width) : take<1>(i + map.packs * (width - 1)); }

 private:
  using T = typename Function::Number;
  static constexpr auto width = pack_bytes / static_cast<std::int64_t>(sizeof(Stored));

  /// n elements from element `first` on. All that is read is asked for before any of it is used.
  template <std::int64_t n>
  TENON_FN void take(std::int64_t first) const {
    constexpr std::size_t bytes = n * sizeof(Stored);
    const auto offset = first * static_cast<std::int64_t>(sizeof(Stored));
    alignas(pack_bytes) Stored in[Function::sources][n], out[n];
    for (int k = 0; k < Function::sources; ++k) {
      const unsigned char* const from = map.sources[k].data;
      if (!map.sources[k].repeated)
        __builtin_memcpy(in[k], __builtin_assume_aligned(from + offset, bytes), bytes);
      else
        in[k][0] = from ? *reinterpret_cast<const Stored*>(from) : Stored{};
    }
    auto* const to = __builtin_assume_aligned(map.out + offset, bytes);  // of bytes: nvcc 13 fails where it is of anything else
    if (map.add) __builtin_memcpy(out, to, bytes);
    for (std::int64_t j = 0; j < n; ++j) {
      T x[Function::sources];
      for (int k = 0; k < Function::sources; ++k) x[k] = number_as<T>(map.sources[k].repeated ? in[k][0] : in[k][j]);
      const auto value = static_cast<T>(Function::at(f, x));
      out[j] = static_cast<Stored>(map.add ? static_cast<T>(static_cast<T>(out[j]) + value) : value);
    }
    __builtin_memcpy(to, out, bytes);
  }
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
