// CUDA kernels of sum and mean.
#include "csr_sums_on_device.hpp"
#include "mean.hpp"
#include "spread_on_device.hpp"
#include "sum.hpp"

namespace {

/// Floating point numbers are added in double: a thread's chain of additions is longer than on the CPU.
template <class Out>
using Acc = std::conditional_t<std::is_integral_v<Out>, std::uint64_t, double>;

template <class Out>
struct PutSum {
  Out* y;
  bool add;

  TENON_FN void operator()(std::int64_t i, Acc<Out> sum) const {
    const auto value = add ? static_cast<Acc<Out>>(static_cast<Plain<Out>>(y[i])) + sum : sum;
    y[i] = static_cast<Out>(static_cast<Plain<Out>>(value));
  }
};

template <class Out>
struct PutMean {
  Out* y;
  bool add;
  double count;

  TENON_FN void operator()(std::int64_t i, double sum) const {
    const auto mean = sum / count;
    y[i] = static_cast<Out>(static_cast<Plain<Out>>(add ? static_cast<double>(static_cast<Plain<Out>>(y[i])) + mean : mean));
  }
};

/// Op: Sum or Mean, with put<T>(call) for what takes the sums.
template <class Op>
struct SumsCuda : Op {
  static constexpr bool capturable = true;

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
    tenon::visit(type.dtype, [&]<class T>() { fold_all<T>(call, space, this->template put<T>(call)); });
  }
  void forward_sparse(const tenon::Call& call) const {
    tenon::visit(call.input_type(0).dtype, [&]<class T>() { sum_csr<T>(call, this->template put<T>(call)); });
  }

 private:
  template <class T, class Put>
  void fold_all(const tenon::Call& call, const FoldSpace& space, const Put& put) const {
    using Sum = typename Op::template AccOf<T>;
    fold<Plus<Sum>>(call, space, Elements<T, Sum>{call.input<T>(0).data()}, put, fold_scratch(call, space));
  }
  template <class T, class Put>
  void sum_csr(const tenon::Call& call, const Put& put) const {
    reduce_csr_on_device<T, typename Op::template AccOf<T>>(call, this->reduced(2), put);
  }
};

struct PuttingSum : Sum {
  template <class T>
  using Out = std::conditional_t<is_floating<T>, T, std::int64_t>;
  template <class T>
  using AccOf = Acc<Out<T>>;

  template <class T>
  PutSum<Out<T>> put(const tenon::Call& call) const {
    return {call.output<Out<T>>(0).data(), call.write(0) == tenon::Write::add};
  }
};

struct PuttingMean : Mean {
  template <class T>
  using Out = std::conditional_t<is_floating<T>, T, double>;
  template <class T>
  using AccOf = double;

  template <class T>
  PutMean<Out<T>> put(const tenon::Call& call) const {
    return {call.output<Out<T>>(0).data(), call.write(0) == tenon::Write::add, static_cast<double>(averaged(call.input_type(0).shape))};
  }
};

}  // namespace

struct SumCuda : SumsCuda<PuttingSum> {
  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating>(type.dtype, [&]<class T>() { spread_on_device<T>(call, reduced(type.shape.rank()), 1); });
  }
};

struct MeanCuda : SumsCuda<PuttingMean> {
  void backward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    tenon::visit<tenon::floating>(type.dtype,
                                  [&]<class T>() { spread_on_device<T>(call, reduced(type.shape.rank()), averaged(type.shape)); });
  }
};

TENON_KERNEL(sum, cuda, SumCuda)
TENON_KERNEL(mean, cuda, MeanCuda)
