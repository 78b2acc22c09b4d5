// The CUDA kernel of top_k: sorts all lines at once.
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/sort.hpp>

#include "top_k.hpp"

namespace {

/// Lines of elements along one axis, numbered line by line.
struct TopLines {
  std::int64_t size, step;  ///< size of a line, and distance between its elements

  TENON_FN std::int64_t index(std::int64_t i) const {
    const auto line = i / size;
    return line / step * step * size + line % step + i % size * step;
  }
};

/// Number of significant bits of sort_key() for elements of type T, and the number of zeros below
/// them.
template <class T>
inline constexpr int spare_bits = sizeof(T) == 8                   ? 0
                                  : std::is_same_v<T, float>       ? 29
                                  : std::is_same_v<T, tenon::half> ? 42
                                                                   : 45;
template <class T>
inline constexpr int key_bits = std::is_integral_v<T> ? 8 * static_cast<int>(sizeof(T))
                                                      : 64 - spare_bits<T>;

/// Maps the first elements of a line to the smallest keys.
template <class T>
struct TopKey {
  TopLines lines;
  const T* x;
  bool smallest;

  TENON_FN std::uint64_t of(std::int64_t i) const {
    constexpr auto all = ~std::uint64_t{0} >> (64 - key_bits<T>);
    auto key = sort_key(x[lines.index(i)]);
    if constexpr (!std::is_integral_v<T>)
      key >>= spare_bits<T>;
    else if constexpr (std::is_signed_v<T> && sizeof(T) < 8)
      key -= (std::uint64_t{1} << 63) - (std::uint64_t{1} << (key_bits<T> - 1));
    return smallest ? key : all - key;
  }
  /// The key, preceded by the index of the element's line.
  TENON_FN std::int64_t operator()(std::int64_t i) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(i / lines.size) << key_bits<T> |
                                     of(i));
  }
};

/// 64-bit keys are sorted by their lower half first, and then by the upper half with the index of
/// the line.
template <class T>
struct LowerHalf {
  TopKey<T> key;
  TENON_FN std::int64_t operator()(std::int64_t i) const {
    return static_cast<std::int64_t>(key.of(i) & 0xffffffff);
  }
};
template <class T>
struct UpperHalf {
  TopKey<T> key;
  const std::int64_t* order;
  TENON_FN std::int64_t operator()(std::int64_t i) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(order[i] / key.lines.size) << 32 |
                                     key.of(order[i]) >> 32);
  }
};

template <class T>
struct PutTop {
  TopLines lines;
  std::int64_t count;  ///< number of elements per line to return
  const std::int64_t *order,
      *first;  ///< element i is order[i], or order[first[i]] if `first` is set
  const T* x;
  T* values;              ///< null: not requested
  std::int64_t* indices;  ///< null: not requested

  TENON_FN void operator()(std::int64_t i) const {
    const auto line = i / lines.step / count * lines.step + i % lines.step;
    const auto at = line * lines.size + i / lines.step % count,
               element = first ? order[first[at]] : order[at];
    if (indices) indices[i] = element - line * lines.size;
    if (values) values[i] = x[lines.index(element)];
  }
};

template <class T>
struct PutBack {
  TopLines lines;
  std::int64_t count;
  const std::int64_t* indices;
  const T* dy;
  T* dx;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t i) const {
    if (!fault.fits(indices[i], lines.size)) return;
    const auto line = i / lines.step / count * lines.step + i % lines.step;
    dx[lines.index(line * lines.size + indices[i])] = dy[i];
  }
};

/// The largest key of a sort by `bits` bits of `lines` lines.
std::int64_t max_of(std::int64_t lines, int bits) {
  return (lines << bits) - 1;
}

}  // namespace

struct TopKCuda : TopK {
  static constexpr bool capturable = true;

  bool supports(const tenon::Infer& types) const {
    const auto x = types.input(0).shape;
    return !x.known() || x.rank() == 0 ||
           x.size() <= (1 << 26);  // line indices share 62 bits with keys
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (!x.known() || x.size() == 0) return 0;
    std::int64_t numbers = 0;
    tenon::visit<tenon::any_real>(io.input(0).dtype,
                                  [&]<class T>() { numbers = Sorts<T>(x, axis).numbers(); });
    return static_cast<std::size_t>(numbers) * sizeof(std::int64_t);
  }

  void forward(const tenon::Call& call) const {
    const auto y = chosen(call), x = call.input_type(0).shape;
    if (y.size() == 0) return;
    tenon::visit<tenon::any_real>(call.input_type(0).dtype, [&]<class T>() {
      const auto is_requested = [&](int i) { return call.write(i) != tenon::Write::none; };
      const TopKey<T> key{lines_of(x), call.input<T>(0).data(), smallest};
      const Sorts<T> sorts(x, axis);
      std::int64_t* const scratch =
          call.workspace<std::int64_t>(static_cast<std::size_t>(sorts.numbers()));
      PutTop<T> put{key.lines, y[static_cast<int>(axis)], nullptr, nullptr, key.x, nullptr,
                    nullptr};
      if (is_requested(0)) put.values = call.output<T>(0).data();
      if (is_requested(1)) put.indices = call.output<std::int64_t>(1).data();
      if constexpr (key_bits<T> == 64) {
        put.order =
            tenon::gpu::sort(call, x.size(), LowerHalf<T>{key}, sorts.first, scratch).indices;
        put.first = tenon::gpu::sort(call, x.size(), UpperHalf<T>{key, put.order}, sorts.second,
                                     scratch + sorts.first_numbers())
                        .indices;
      } else {
        put.order = tenon::gpu::sort(call, x.size(), key, sorts.first, scratch).indices;
      }
      tenon::gpu::for_each(call, y.size(), put);
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dx = call.input_grad<T>(0);
      tenon::gpu::clear(call, dx.data(), static_cast<std::size_t>(dx.size()) * sizeof(T));
      if (!call.has_output_grad(0) || dx.size() == 0) return;
      const auto dy = call.output_grad<T>(0);
      tenon::gpu::for_each(call, dy.size(),
                           PutBack<T>{lines_of(dx.shape()), dy.shape()[static_cast<int>(axis)],
                                      call.output_value<std::int64_t>(1).data(), dy.data(),
                                      dx.data(), tenon::gpu::Fault(call)});
    });
  }

 private:
  /// The largest keys of the sort, or of both sorts.
  template <class T>
  struct Sorts {
    Sorts(const tenon::Shape& x, std::int64_t axis) : elements(x.size()) {
      const auto lines = elements / x[static_cast<int>(axis)];
      first = key_bits<T> == 64 ? max_of(1, 32) : max_of(lines, key_bits<T> % 64);
      second = key_bits<T> == 64 ? max_of(lines, 32) : 0;
    }
    std::int64_t first_numbers() const { return tenon::gpu::sort_scratch(elements, first); }
    std::int64_t numbers() const {
      return first_numbers() + (second > 0 ? tenon::gpu::sort_scratch(elements, second) : 0);
    }

    std::int64_t elements, first, second;
  };

  TopLines lines_of(const tenon::Shape& x) const { return {x[static_cast<int>(axis)], inner(x)}; }
};
TENON_KERNEL(top_k, cuda, TopKCuda)
