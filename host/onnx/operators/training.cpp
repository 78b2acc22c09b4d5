// ai.onnx.preview.training: optimizer steps per parameter.
#include <fmt/format.h>

#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

constexpr const char* training = "ai.onnx.preview.training";

/// Inputs of an optimizer: learning rate, step number, then groups of tensors with one tensor per
/// parameter.
class Steps {
 public:
  Steps(NodeImport& at, std::size_t groups)
      : node(at), rate(at.input(0)), count((at.inputs() - 2) / groups) {
    node.require(node.inputs() >= 2 + groups && (node.inputs() - 2) % groups == 0,
                 fmt::format("it needs {} inputs per parameter", groups));
    step = node.cast(node.input(1), node.dtype(rate));
  }
  Operand add(const Operand& left, const Operand& right) {
    return node.add("tenon.add", std::vector{left, right});
  }
  Operand sub(const Operand& left, const Operand& right) {
    return node.add("tenon.sub", std::vector{left, right});
  }
  Operand mul(const Operand& left, const Operand& right) {
    return node.add("tenon.mul", std::vector{left, right});
  }
  Operand div(const Operand& left, const Operand& right) {
    return node.add("tenon.div", std::vector{left, right});
  }
  Operand sqrt(const Operand& x) { return node.add("tenon.sqrt", std::vector{x}); }
  Operand times(const Operand& x, double factor) { return mul(x, node.scalar(factor, x)); }
  Operand plus(const Operand& x, double term) { return add(x, node.scalar(term, x)); }
  /// Selects `yes` after the first step, else `no`.
  Operand later(const Operand& yes, const Operand& no) {
    return node.add(
        "tenon.where",
        std::vector{node.add("tenon.greater", std::vector{step, node.scalar(0, step)}), yes, no});
  }
  Operand input(std::size_t group, std::size_t i) { return node.input(2 + group * count + i); }
  void output(std::size_t group, std::size_t i, const Operand& x) {
    node.output(group * count + i, x);
  }
  /// The gradient including the regularization term.
  Operand gradient(std::size_t i) {
    return add(times(input(0, i), node.real("norm_coefficient", 0)), input(1, i));
  }

  NodeImport& node;
  Operand rate, step{};
  std::size_t count;
};

void adagrad(NodeImport& node) {
  Steps at(node, 3);
  const auto rate = at.div(at.rate, at.plus(at.times(at.step, node.real("decay_factor", 0)), 1));
  for (std::size_t i = 0; i < at.count; ++i) {
    const auto g = at.gradient(i), squares = at.add(at.input(2, i), at.mul(g, g));
    const auto root = at.plus(at.sqrt(squares), node.real("epsilon", 1e-6));
    at.output(0, i, at.sub(at.input(0, i), at.div(at.mul(rate, g), root)));
    at.output(1, i, squares);
  }
}

void adam(NodeImport& node) {
  Steps at(node, 4);
  const auto alpha = node.real("alpha", 0.9), beta = node.real("beta", 0.999);
  const auto one_less = [&](double base) {
    const auto power = node.add("tenon.pow", std::vector{node.scalar(base, at.step), at.step});
    return at.sub(node.scalar(1, at.step), power);
  };
  const auto rate =
      at.later(at.div(at.mul(at.rate, at.sqrt(one_less(beta))), one_less(alpha)), at.rate);
  for (std::size_t i = 0; i < at.count; ++i) {
    const auto g = at.gradient(i);
    const auto first = at.add(at.times(at.input(2, i), alpha), at.times(g, 1 - alpha));
    const auto second = at.add(at.times(at.input(3, i), beta), at.times(at.mul(g, g), 1 - beta));
    const auto root = at.plus(at.sqrt(second), node.real("epsilon", 1e-6));
    const auto moved = at.sub(at.input(0, i), at.mul(rate, at.div(first, root)));
    at.output(0, i, at.times(moved, 1 - node.real("norm_coefficient_post", 0)));
    at.output(1, i, first);
    at.output(2, i, second);
  }
}

void momentum(NodeImport& node) {
  Steps at(node, 3);
  const auto alpha = node.real("alpha", 0), beta = node.real("beta", 0);
  const auto mode = node.text("mode", "standard");
  node.require(mode == "standard" || mode == "nesterov",
               fmt::format("its mode '{}' is unknown", mode));
  for (std::size_t i = 0; i < at.count; ++i) {
    const auto g = at.gradient(i);
    const auto share = at.later(node.scalar(beta, g), node.scalar(1, g));
    const auto speed = at.add(at.times(at.input(2, i), alpha), at.mul(share, g));
    const auto direction = mode == "standard" ? speed : at.add(g, at.times(speed, alpha));
    at.output(0, i, at.sub(at.input(0, i), at.mul(at.rate, direction)));
    at.output(1, i, speed);
  }
}

const Composition training_read[] = {{"Adagrad", adagrad, 1, training},
                                     {"Adam", adam, 1, training},
                                     {"Momentum", momentum, 1, training}};

}  // namespace
}  // namespace tenon::onnx
