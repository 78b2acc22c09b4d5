// Base of the recurrent operators: parameters and shape inference.
#pragma once
#include <string>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/fits.hpp"

enum class Direction { forward, reverse, bidirectional };

struct Recurrent : tenon::Operator {
  tenon::Texts activations;
  tenon::Floats activation_alpha, activation_beta;
  double clip = 0;
  Direction direction = Direction::forward;
  bool batch_first = false;

  static constexpr void describe_inputs(auto& op, const char* gates) {
    op.input("data",
             "[steps, batch, features], or [batch, steps, features] if `batch_first` is set");
    op.input("weight", gates);
    op.input("recurrent",
             "[directions, rows, hidden], where rows is the second size of weight; weights of the "
             "hidden state, rows in the order of weight");
    op.input("bias", "[directions, 2 * rows]; biases of weight, then of recurrent; default: 0")
        .optional();
    op.input("lengths",
             "[batch]; number of steps of each sample; output is 0 after them; default: all steps")
        .optional()
        .types({tenon::i32});
    op.input("initial_h",
             "[directions, batch, hidden], or [batch, directions, hidden] if `batch_first` is set; "
             "initial hidden state; default: 0")
        .optional();
  }

  static constexpr void describe_outputs(auto& op) {
    op.output("output",
              "[steps, directions, batch, hidden], or [batch, steps, directions, hidden] if "
              "`batch_first` is set; hidden states of all steps");
    op.output("last_h", "same shape as initial_h; final hidden state of each sample");
  }

  static constexpr void describe_parameters(auto& op) {
    op.param("direction", &Recurrent::direction,
             "order of the steps: forward, reverse (last step first) or both, with separate "
             "weights (bidirectional)")
        .one_of({{"forward", Direction::forward},
                 {"reverse", Direction::reverse},
                 {"bidirectional", Direction::bidirectional}});
    op.param("activations", &Recurrent::activations,
             "ONNX names of the functions in place of sigmoid and tanh, for each direction: Relu, "
             "Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, "
             "Softsign, Softplus; default: Sigmoid for gates, Tanh for the others");
    op.param("activation_alpha", &Recurrent::activation_alpha,
             "alpha of each activation function that has one, in order; default: as in ONNX");
    op.param("activation_beta", &Recurrent::activation_beta,
             "beta of each activation function that has one, in order; default: as in ONNX");
    op.param("clip", &Recurrent::clip,
             "bound of the arguments of the activation functions, which are clamped to [-clip, "
             "clip]; 0: no bound")
        .at_least(0);
    op.param("batch_first", &Recurrent::batch_first,
             "the first axis of data, output and the states is the batch, as ONNX's layout = 1; "
             "false: the batch follows steps or directions");
  }

  static constexpr void describe_onnx(auto&& form) {
    form.attribute("direction", "direction")
        .attribute("activations", "activations")
        .attribute("activation_alpha", "activation_alpha")
        .attribute("activation_beta", "activation_beta")
        .attribute("clip", "clip")
        .attribute("layout", "batch_first")
        .ignore("hidden_size");
  }

  int directions() const { return direction == Direction::bidirectional ? 2 : 1; }

  /// gates: number of rows of weight, in units of `hidden`.
  void infer_tensors(tenon::Infer& io, std::int64_t gates, int functions) const {
    for (const auto& name : activations)
      if (!known(name))
        io.param_error("activations", "has '", std::string_view(name),
                       "', which is not an activation function of ONNX");
    const auto needed = static_cast<std::size_t>(functions * directions());
    if (activations.size() > 0 &&
        (functions > 1 ? activations.size() != needed : activations.size() < needed))
      io.param_error("activations", "has ", activations.size(), " names, but ", needed,
                     " are required");
    const auto data = io.input("data").shape, weight = io.input("weight").shape,
               recurrent = io.input("recurrent").shape;
    const int step_axis = batch_first ? 1 : 0;
    io.require(!data.has_rank() || data.rank() == 3, "data is ", data,
               " but needs three dimensions: steps, batch and features");
    const auto any = tenon::unknown;
    const auto steps = data.has_rank() ? data[step_axis] : any,
               batch = data.has_rank() ? data[1 - step_axis] : any;
    const auto features = data.has_rank() ? data[2] : any;
    io.require(!recurrent.has_rank() || recurrent.rank() == 3, "recurrent is ", recurrent,
               " but needs 3 dimensions");
    io.require(!weight.has_rank() || weight.rank() == 3, "weight is ", weight,
               " but needs 3 dimensions");
    auto hidden = recurrent.has_rank() ? recurrent[2] : any;
    if (hidden == any && weight.has_rank() && weight[1] != any) hidden = weight[1] / gates;
    const auto rows = hidden == any ? any : gates * hidden;
    const std::int64_t num_directions = directions();
    require_fit(io, "weight", {num_directions, rows, features});
    require_fit(io, "recurrent", {num_directions, rows, hidden});
    if (io.has_input("bias"))
      require_fit(io, "bias", {num_directions, hidden == any ? any : 2 * rows});
    if (io.has_input("lengths")) require_fit(io, "lengths", {batch});
    const auto state = batch_first ? tenon::Shape{batch, num_directions, hidden}
                                   : tenon::Shape{num_directions, batch, hidden};
    if (io.has_input("initial_h")) require_fit(io, "initial_h", state);
    io.set_output(0, batch_first ? tenon::Shape{batch, steps, num_directions, hidden}
                                 : tenon::Shape{steps, num_directions, batch, hidden});
    io.set_output(1, state);
  }

  static void require_fit(tenon::Infer& io, const char* name, const tenon::Shape& needed) {
    const auto found = io.input(name).shape;
    io.require(fits(found, needed), name, " is ", found, " but needs ", needed);
    io.set_input(name, needed);
  }

  static bool known(std::string_view name);
};
