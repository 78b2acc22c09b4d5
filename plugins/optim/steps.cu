// CUDA kernels of the optimizers.
#include "adagrad.hpp"
#include "adaptive_moments.hpp"
#include "heavy_ball.hpp"
#include "rmsprop.hpp"
#include "sgd.hpp"
#include "steps_on_device.hpp"

/// CUDA kernel of an optimizer whose step depends only on the learning rate.
template <class Op>
struct StepCuda : Op {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    Op::visit(call, [&]<class T>() { step<T>(call, this->template rule<T>(call)); });
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

 private:
  template <class T, class Rule>
  void step(const tenon::Call& call, const Rule& rule) const {
    step_on_device<T>(call, this->lazy_update,
                      AtRate<Rule>{rule, call.input<float>("learning_rate").data()});
  }
};

namespace {

/// Increments the step count and computes the coefficients once for all elements.
template <class Rule>
struct CountStep {
  Rule rule;
  const float* learning_rate;
  std::int64_t* steps;
  Rule* begun;

  TENON_FN void operator()(std::int64_t) const {
    Rule next = rule;
    next.begin(static_cast<double>(*learning_rate), static_cast<double>(++*steps));
    *begun = next;
  }
};

}  // namespace

template <class Op>
struct CountedStepCuda : Op {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer&) const { return sizeof(MomentsRule<double>); }

  void forward(const tenon::Call& call) const {
    Op::visit(call, [&]<class T>() { step<T>(call, this->template rule<T>(call)); });
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

 private:
  template <class T, class Rule>
  void step(const tenon::Call& call, const Rule& rule) const {
    Rule* const begun = call.workspace<Rule>(1);
    const float* const learning_rate = call.input<float>("learning_rate").data();
    tenon::gpu::for_each(
        call, 1,
        CountStep<Rule>{rule, learning_rate, call.state<std::int64_t>("steps").data(), begun});
    step_on_device<T>(call, this->lazy_update, Begun<Rule>{begun});
  }
};

TENON_KERNEL(sgd, cuda, StepCuda<Sgd>)
TENON_KERNEL(momentum, cuda, StepCuda<Momentum>)
TENON_KERNEL(nesterov, cuda, StepCuda<Nesterov>)
TENON_KERNEL(rmsprop, cuda, StepCuda<RmsProp>)
TENON_KERNEL(adagrad, cuda, StepCuda<AdaGrad>)
TENON_KERNEL(adam, cuda, CountedStepCuda<Adam>)
TENON_KERNEL(adamw, cuda, CountedStepCuda<AdamW>)
