// The CUDA kernel for contiguous elements, the most common case, at memory speed.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "../../version.hpp"
#include "device_map.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class Function, class Class>
using ValueOf = decltype(Function::at(std::declval<const Class&>(),
                                      static_cast<const typename Function::Number*>(nullptr)));

/// The output's element type if all sources (except flags) have Stored: the same type, or the
/// result type of a comparison.
template <class Function, class Stored, class Class>
using Written =
    std::conditional_t<std::is_same_v<ValueOf<Function, Class>, typename Function::Number>, Stored,
                       ValueOf<Function, Class>>;

/// Functions with such a result type.
template <class Function, class Class>
inline constexpr bool packable =
    std::is_convertible_v<ValueOf<Function, Class>, typename Function::Number>;

inline constexpr std::int64_t pack_bytes = 16;

/// Elements per vector: 16 bytes of the wider type.
constexpr std::int64_t pack_width(DType stored, DType written) {
  const auto read = size_of(stored), wrote = size_of(written);
  return pack_bytes / static_cast<std::int64_t>(read > wrote ? read : wrote);
}

/// A source or the output. A repeated source has one element, or zeros if data is null.
struct DeviceRow {
  unsigned char* data = nullptr;
  bool repeated = false;
};

struct DeviceFlat {
  DeviceRow sources[max_sources];
  unsigned char* out = nullptr;
  std::int64_t count = 0, packs = 0;  ///< the elements after the vectors are processed one by one
  bool add = false;
};

/// Returns nullopt unless all sources have dtype `stored`, the output has `written`, and all are
/// contiguous. `flags` has a bit for each source that is bool instead.
inline std::optional<DeviceFlat> device_flat(const DeviceMap& map, DType stored, DType written,
                                             unsigned flags = 0) {
  const bool single = map.space.rank() == 0;  // then strides are meaningless
  const auto width = pack_width(stored, written);
  bool aligned = true;
  const auto lies_flat = [&](const DeviceOperand& operand) {
    const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
    aligned &= reinterpret_cast<std::uintptr_t>(operand.data) %
                   static_cast<std::uintptr_t>(width * size) ==
               0;
    return single || operand.strides[0] == size;
  };
  if (map.space.rank() > 1 || map.out.dtype != written || !lies_flat(map.out)) return {};
  DeviceFlat flat;
  for (int i = 0; i < map.source_count; ++i) {
    const DeviceOperand& source = map.sources[i];
    const bool repeated = !source.data || single || source.strides[0] == 0;
    const bool expected =
        !source.data || source.dtype == (flags >> i & 1 ? DType::boolean : stored);
    if (!expected || (!repeated && !lies_flat(source))) return {};
    flat.sources[i] = {source.data, repeated};
  }
  flat.out = map.out.data;
  flat.count = map.space.count();
  if (aligned) flat.packs = flat.count / width;
  flat.add = map.add;
  return flat;
}

/// Reads n elements from `first` on, or the first of a repeated source.
template <std::int64_t n, class E>
TENON_FN void read_row(E (&elements)[n], const DeviceRow& row, std::int64_t first) {
  constexpr std::size_t bytes = n * sizeof(E);
  if (row.repeated)
    elements[0] = row.data ? *reinterpret_cast<const E*>(row.data) : E{};
  else
    __builtin_memcpy(
        elements,
        __builtin_assume_aligned(row.data + first * static_cast<std::int64_t>(sizeof(E)), bytes),
        bytes);
}

/// The kernel's body: processes a vector, or one element, for each i in [0, pieces()).
template <class Function, class Stored, class Class>
struct FlatBody {
  [[no_unique_address]] Class f;  // often empty: no undefined padding ahead of the other members
  DeviceFlat map;

  std::int64_t pieces() const { return map.count - map.packs * (width - 1); }
  TENON_FN void operator()(std::int64_t i) const {
    i < map.packs ? take<width>(i * width) : take<1>(i + map.packs * (width - 1));
  }

 private:
  using T = typename Function::Number;
  using Out = Written<Function, Stored, Class>;
  static constexpr auto width = pack_width(dtype_of<Stored>, dtype_of<Out>);

  /// Processes n elements from `first` on. All loads are issued before any value is used.
  template <std::int64_t n>
  TENON_FN void take(std::int64_t first) const {
    constexpr std::size_t bytes = n * sizeof(Out);
    alignas(pack_bytes) Stored in[Function::sources][n];
    alignas(pack_bytes) bool flags[Function::sources][n];
    alignas(pack_bytes) Out out[n];
    for (int k = 0; k < Function::sources; ++k)
      Function::flags >> k & 1 ? read_row(flags[k], map.sources[k], first)
                               : read_row(in[k], map.sources[k], first);
    unsigned char* const start = map.out + first * static_cast<std::int64_t>(sizeof(Out));
    auto* const to =
        __builtin_assume_aligned(start, bytes);  // of bytes: nvcc 13 fails for any other type
    if (map.add) __builtin_memcpy(out, to, bytes);
    for (std::int64_t j = 0; j < n; ++j) {
      T x[Function::sources];
      for (int k = 0; k < Function::sources; ++k) {
        const bool repeated = map.sources[k].repeated;
        x[k] = Function::flags >> k & 1 ? number_as<T>(repeated ? flags[k][0] : flags[k][j])
                                        : number_as<T>(repeated ? in[k][0] : in[k][j]);
      }
      using Wide = Computed<Out>;
      const auto value = static_cast<Wide>(Function::at(f, x));
      out[j] =
          static_cast<Out>(map.add ? static_cast<Wide>(static_cast<Wide>(out[j]) + value) : value);
    }
    __builtin_memcpy(to, out, bytes);
  }
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
