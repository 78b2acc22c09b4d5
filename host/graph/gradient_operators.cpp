#include "graph/gradient_operators.hpp"

#include <tenon/elementwise.hpp>
#include <tenon/operator.hpp>

namespace tenon {
namespace {

struct SumGradients : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left + right, two gradients of one value");
    op.input("left", "any shape");
    op.input("right", "same shape as left");
    op.output("output", "same shape as left");
  }
  template <class T>
  T operator()(T left, T right) const {
    return left + right;
  }
};

struct FillLike : Operator {
  double value = 0;

  static constexpr void describe(auto& op) {
    op.doc("value everywhere");
    op.input("like", "any shape; its elements are not looked at");
    op.output("output", "same shape as like");
    op.param("value", &FillLike::value, "every element");
    op.backward_reads();
    op.accumulates();
  }
  void forward(const Call& call) const {
    visit<floating>(call.output_type(0).dtype, [&]<class T>() {
      const auto number = static_cast<T>(static_cast<float>(value));
      for (auto& element : call.output<T>(0)) element = call.write(0) == Write::add ? static_cast<T>(element + number) : number;
    });
  }
  void gradient(Gradient&) const {}  // nothing changes it
};

struct StopGradient : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("its input; no gradient passes through it");
    op.input("data", "any shape");
    op.output("output", "same shape as data");
  }
  template <class T>
  T operator()(T x) const {
    return x;
  }
  void gradient(Gradient&) const {}
};

template <class Op>
void add(PluginSet& plugins, std::string_view name) {
  const auto manifest = manifest_of<Op>(name);
  plugins.add(std::as_bytes(std::span(manifest)), table_of<Op>());
}

}  // namespace

void add_gradient_operators(PluginSet& plugins) {
  add<SumGradients>(plugins, "sum_gradients");
  add<FillLike>(plugins, "fill_like");
  add<StopGradient>(plugins, "stop_gradient");
}

}  // namespace tenon
