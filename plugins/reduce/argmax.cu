#include "../shared/fold_on_device.hpp"
#include "argmax.hpp"

namespace {

template <class A>
struct Candidate {
  A value;
  std::int64_t index;
};

/// The better element, or the first one among equal elements; an index of -1 marks an empty result.
template <class Rule, class A>
struct First {
  using Acc = Candidate<A>;
  TENON_FN static Acc identity() { return {A(), -1}; }
  TENON_FN static Acc merge(Acc l, Acc r) {
    if (r.index < 0) return l;
    if (l.index < 0 || Rule::better(r.value, l.value)) return r;
    return Rule::better(l.value, r.value) || l.index < r.index ? l : r;
  }
};

template <class T>
struct Candidates {
  const T* x;

  TENON_FN Candidate<Plain<T>> operator()(std::int64_t at, std::int64_t term, std::int64_t) const {
    return {static_cast<Plain<T>>(x[at]), term};
  }
};

template <class A>
struct PutIndex {
  std::int64_t* y;

  TENON_FN void operator()(std::int64_t result, Candidate<A> best) const { y[result] = best.index; }
};

}  // namespace

template <class Rule>
struct ChosenIndexCuda : ChosenIndex<Rule> {
  static constexpr bool capturable = true;
  /// Integer types added in 0.2 and the parameter `last` are supported on the CPU only.
  bool supports(const tenon::Infer& types) const {
    return !this->last && tenon::any_type.has(types.input(0).dtype);
  }

  std::size_t workspace(const tenon::Infer& io) const {
    const auto x = io.input(0).shape;
    return x.known() ? FoldSpace(x, this->reduced(x.rank())).workspace() : 0;
  }

  void forward(const tenon::Call& call) const {
    const auto type = call.input_type(0);
    const FoldSpace space(type.shape, this->reduced(type.shape.rank()));
    tenon::visit(type.dtype, [&]<class T>() {
      fold<First<Rule, Plain<T>>>(call, space, Candidates<T>{call.input<T>(0).data()},
                                  PutIndex<Plain<T>>{call.output<std::int64_t>(0).data()},
                                  fold_scratch(call, space));
    });
  }
};
TENON_KERNEL(argmax, cuda, ChosenIndexCuda<MaxRule>)
TENON_KERNEL(argmin, cuda, ChosenIndexCuda<MinRule>)
