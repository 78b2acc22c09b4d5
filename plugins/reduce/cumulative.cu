// CUDA kernels of cumsum, cumprod and prod: one thread for each line.
#include <tenon/gpu/launch.hpp>

#include "../shared/fold_on_device.hpp"
#include "cumulative.hpp"
#include "prod.hpp"

namespace {

/// Lines of elements along one axis.
struct Lines {
  std::int64_t inner, count;  ///< elements after the axis, and along it
  bool reverse;

  TENON_FN std::int64_t first(std::int64_t line) const {
    return line / inner * inner * count + line % inner + (reverse ? (count - 1) * inner : 0);
  }
  TENON_FN std::int64_t step() const { return reverse ? -inner : inner; }
};

template <class T>
struct AddUp {
  TENON_FN static T start() { return T(0); }
  TENON_FN static T merge(T l, T r) { return l + r; }
};
template <class T>
struct MultiplyUp {
  TENON_FN static T start() { return T(1); }
  TENON_FN static T merge(T l, T r) { return l * r; }
};

template <class T, template <class> class Rule>
struct RunAlong {
  Lines lines;
  const T* from;
  T* to;
  bool exclusive;

  TENON_FN void operator()(std::int64_t line) const {
    using Acc = Wide<T>;
    auto at = lines.first(line);
    auto total = Rule<Acc>::start();
    for (std::int64_t i = 0; i < lines.count; ++i, at += lines.step()) {
      const auto value = static_cast<Acc>(static_cast<Plain<T>>(from[at]));
      if (exclusive) to[at] = static_cast<T>(total);
      total = Rule<Acc>::merge(total, value);
      if (!exclusive) to[at] = static_cast<T>(total);
    }
  }
};

/// The gradient of cumprod, as in Cumprod::backward(); dx first holds the products of the elements
/// before each one.
template <class T>
struct ProductsBack {
  Lines lines;
  const T *x, *dy;
  T* dx;
  bool exclusive;

  TENON_FN void operator()(std::int64_t line) const {
    const auto first = lines.first(line), step = lines.step();
    T prefix = 1;
    for (std::int64_t i = 0; i < lines.count; ++i) {
      dx[first + i * step] = prefix;
      prefix *= x[first + i * step];
    }
    T suffix = 0;
    for (auto i = lines.count - 1; i >= 0; --i) {
      const bool last = i + 1 == lines.count;
      const auto at = first + i * step;
      const T gradient = !exclusive ? dy[at] : last ? T(0) : dy[at + step];
      suffix = gradient + (last ? T(0) : x[at + step] * suffix);
      dx[at] *= suffix;
    }
  }
};

/// dy times the product of the other elements, as in Prod::backward().
template <class T>
struct ProductOfOthersBackward {
  FoldSpace space;
  const T *x, *dy;
  T* dx;

  TENON_FN void operator()(std::int64_t result) const {
    const auto at = space.results.offset(result), count = space.terms.count();
    T product = 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = at + space.terms.offset(i);
      dx[index] = product;
      product *= x[index];
    }
    product = dy[result];
    for (auto i = count - 1; i >= 0; --i) {
      const auto index = at + space.terms.offset(i);
      dx[index] *= product;
      product *= x[index];
    }
  }
};

template <class Out, class Acc>
struct PutProduct {
  Out* y;

  TENON_FN void operator()(std::int64_t i, Acc product) const {
    y[i] = static_cast<Out>(static_cast<Plain<Out>>(product));
  }
};

/// 16-bit floats, whose gradients need wider intermediates, and integer types added in 0.2 are
/// supported on the CPU only.
bool plain_numbers(tenon::DType dtype) {
  return (tenon::integral + tenon::Types{tenon::f32, tenon::f64}).has(dtype);
}

/// A few long lines run on the CPU, since each would occupy a single thread.
bool enough_lines(std::int64_t lines, std::int64_t length) {
  return length <= 4096 || lines >= 1024;
}

}  // namespace

template <class Op, template <class> class Rule>
struct CumulativeCuda : Op {
  static constexpr bool capturable = true;
  bool supports(const tenon::Infer& types) const {
    const auto x = types.input(0).shape;
    if (!plain_numbers(types.input(0).dtype)) return false;
    if (!x.known() || x.size() == 0 || this->axis < -x.rank() || this->axis >= x.rank())
      return true;
    const auto along = types.has_input("along") ? *std::max_element(x.begin(), x.end())
                                                : x[static_cast<int>(this->axis)];
    return enough_lines(x.size() / along, along);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::integral + tenon::Types{tenon::f32, tenon::f64}>(
        call.input_type(0).dtype, [&]<class T>() {
          run(call, this->reverse, call.input<T>(0).data(), call.output<T>(0).data());
        });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(call.input_type(0).dtype, [&]<class T>() {
      const T* const dy = call.output_grad<T>(0).data();
      T* const dx = call.input_grad<T>(0).data();
      if constexpr (std::is_same_v<Op, Cumsum>) {
        run(call, !this->reverse, dy, dx);
      } else {
        const auto lines = this->lines_of(call, this->reverse);
        if (lines.count > 0)
          tenon::gpu::for_each(
              call, call.input_type(0).shape.size() / lines.count,
              ProductsBack<T>{lines, call.input<T>(0).data(), dy, dx, this->exclusive});
      }
    });
  }

 private:
  Lines lines_of(const tenon::Call& call, bool reverse) const {
    const auto x = call.input_type(0).shape;
    const auto along = this->axis_in(call);
    std::int64_t inner = 1;
    for (int a = along + 1; a < x.rank(); ++a) inner *= x[a];
    return {inner, x.size() == 0 ? 0 : x[along], reverse};
  }

  template <class T>
  void run(const tenon::Call& call, bool reverse, const T* from, T* to) const {
    const auto lines = lines_of(call, reverse);
    if (lines.count > 0)
      tenon::gpu::for_each(call, call.input_type(0).shape.size() / lines.count,
                           RunAlong<T, Rule>{lines, from, to, this->exclusive});
  }
};
using CumsumCuda = CumulativeCuda<Cumsum, AddUp>;
TENON_KERNEL(cumsum, cuda, CumsumCuda)
using CumprodCuda = CumulativeCuda<Cumprod, MultiplyUp>;
TENON_KERNEL(cumprod, cuda, CumprodCuda)

struct ProdCuda : Prod {
  static constexpr bool capturable = true;
  /// Axes from an input are supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    const auto x = types.input(0).shape, y = types.output(0).shape;
    if (types.has_input("axes") || !plain_numbers(types.input(0).dtype)) return false;
    return !x.known() || !y.known() || x.size() == 0 || enough_lines(y.size(), x.size() / y.size());
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    return x.known() ? FoldSpace(x, reduced(x.rank())).workspace() : 0;
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const FoldSpace space(type.shape, reduced(type.shape.rank()));
    tenon::visit<tenon::integral + tenon::Types{tenon::f32, tenon::f64}>(
        type.dtype, [&]<class T>() {
          using Out = std::conditional_t<std::is_floating_point_v<T>, T, std::int64_t>;
          using Acc = Product<Out>;
          fold<Times<Acc>>(call, space, Elements<T, Acc>{call.input<T>(0).data()},
                           PutProduct<Out, Acc>{call.output<Out>(0).data()},
                           fold_scratch(call, space));
        });
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const FoldSpace space(type.shape, reduced(type.shape.rank()));
    if (type.shape.size() == 0) return;
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(type.dtype, [&]<class T>() {
      tenon::gpu::for_each(
          call, space.results.count(),
          ProductOfOthersBackward<T>{space, call.input<T>(0).data(), call.output_grad<T>(0).data(),
                                     call.input_grad<T>(0).data()});
    });
  }
};
TENON_KERNEL(prod, cuda, ProdCuda)
