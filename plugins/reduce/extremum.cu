// CUDA kernels of max and min.
#include "../shared/fold_on_device.hpp"
#include "broadcast_gradient_on_device.hpp"
#include "extremum.hpp"

namespace {

template <class T>
struct PutChosen {
  T* y;

  TENON_FN void operator()(std::int64_t i, Plain<T> chosen) const { y[i] = static_cast<T>(chosen); }
};

/// Counts the elements that equal a result.
template <class T>
struct Chosen {
  const T *x, *y;

  TENON_FN std::int64_t operator()(std::int64_t at, std::int64_t, std::int64_t result) const {
    return Plain<T>(x[at]) == Plain<T>(y[result]);
  }
};
struct PutCount {
  std::int64_t* ties;

  TENON_FN void operator()(std::int64_t result, std::int64_t count) const { ties[result] = count; }
};

/// dy goes to the chosen element, in equal parts if there are several.
template <class T>
struct Share {
  const T *x, *y, *dy;
  const std::int64_t* ties;
  T* dx;
  OffsetCalculator results;

  TENON_FN void operator()(std::int64_t i) const {
    const auto r = results.offset(i);
    const bool chosen = Plain<T>(x[i]) == Plain<T>(y[r]);
    dx[i] = static_cast<T>(chosen ? Plain<T>(dy[r]) / static_cast<Plain<T>>(ties[r]) : Plain<T>(0));
  }
};

}  // namespace

template <class Op, template <class> class Rule>
struct ExtremumCuda : Op {
  static constexpr bool capturable = true;
  /// Integer types added in 0.2, complex numbers and axes from an input are supported on the CPU
  /// only.
  bool supports(const tenon::Infer& types) const {
    return !types.has_input("axes") && tenon::any_type.has(types.input(0).dtype);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    return x.known() ? FoldSpace(x, this->reduced(x.rank())).workspace() : 0;
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (!x.known()) return 0;
    const FoldSpace space(x, this->reduced(x.rank()));
    return space.workspace() + tie_bytes(space);
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const FoldSpace space(type.shape, this->reduced(type.shape.rank()));
    tenon::visit(type.dtype, [&]<class T>() {
      fold<Rule<Plain<T>>>(call, space, Elements<T, Plain<T>>{call.input<T>(0).data()},
                           PutChosen<T>{call.output<T>(0).data()}, fold_scratch(call, space));
    });
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    if (type.shape.size() == 0) return;
    const auto mask = this->reduced(type.shape.rank());
    const FoldSpace space(type.shape, mask);
    auto* const scratch = call.workspace<std::byte>(space.workspace() + tie_bytes(space));
    auto* const ties = reinterpret_cast<std::int64_t*>(scratch + space.workspace());
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const T* const y = call.output_value<T>(0).data();
      fold<Plus<std::int64_t>>(call, space, Chosen<T>{x.data(), y}, PutCount{ties}, scratch);
      tenon::gpu::for_each(call, x.size(),
                           Share<T>{x.data(), y, call.output_grad<T>(0).data(), ties,
                                    call.input_grad<T>(0).data(), results_of(type.shape, mask)});
    });
  }

 private:
  static std::size_t tie_bytes(const FoldSpace& space) {
    return static_cast<std::size_t>(space.results.count()) * sizeof(std::int64_t);
  }
};

using MaxCuda = ExtremumCuda<Max, Larger>;
using MinCuda = ExtremumCuda<Min, Smaller>;
TENON_KERNEL(max, cuda, MaxCuda)
TENON_KERNEL(min, cuda, MinCuda)
