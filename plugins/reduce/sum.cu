// CUDA kernels of sum and mean. Floating-point numbers are added in double, because a thread adds
// more terms in sequence than on the CPU.
#include "broadcast_gradient_on_device.hpp"
#include "csr_sums_on_device.hpp"
#include "sum.hpp"

namespace {

template <class Out, class Rule>
struct Put {
  using Acc = CsrSum<Out>;
  Out* y;
  bool add;
  Finish<Rule, Acc> finish;

  TENON_FN void operator()(std::int64_t i, Acc sum) const {
    const auto value = finish(sum);
    y[i] = static_cast<Out>(add ? static_cast<Acc>(static_cast<Plain<Out>>(y[i])) + value : value);
  }
};

}  // namespace

template <class Rule>
struct SumCuda : Sum<Rule> {
  static constexpr bool capturable = true;
  /// Integer types added in 0.2, complex numbers and axes from an input are supported on the CPU
  /// only.
  bool supports(const tenon::Infer& types) const {
    return !types.has_input("axes") && tenon::any_type.has(types.input(0).dtype);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    if (!x.known()) return 0;
    const auto mask = this->reduced(x.rank());
    const auto dense = FoldSpace(x, mask).workspace();
    return x.rank() == 2 ? std::max(dense, CsrSumSpace(x).workspace(mask)) : dense;
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const FoldSpace space(type.shape, this->reduced(type.shape.rank()));
    tenon::visit(type.dtype, [&]<class T>() {
      const auto to = put<T>(call);
      using Acc = typename decltype(to)::Acc;
      fold<Plus<Acc>>(call, space, Elements<T, Acc>{call.input<T>(0).data()}, to,
                      fold_scratch(call, space));
    });
  }

  void forward_sparse(const tenon::Call& call) const {
    tenon::visit(call.input_type(0).dtype, [&]<class T>() {
      const auto to = put<T>(call);
      reduce_csr_on_device<T, typename decltype(to)::Acc>(call, this->reduced(2), to);
    });
  }

  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() {
      broadcast_gradient_on_device<T>(call, this->reduced(type.shape.rank()), this->divisor(call));
    });
  }

 private:
  template <class T>
  auto put(const tenon::Call& call) const {
    using Out = typename Sum<Rule>::template Out<T>;
    return Put<Out, Rule>{call.output<Out>(0).data(), call.write(0) == tenon::Write::add,
                          this->template finish<CsrSum<Out>>(call)};
  }
};
TENON_KERNEL(sum, cuda, SumCuda<Added>)
TENON_KERNEL(mean, cuda, SumCuda<Averaged>)
