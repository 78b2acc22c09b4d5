#include "onnx/export/body_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/visit.hpp>

#include "graph/composed/recording.hpp"
#include "graph/composition.hpp"
#include "graph/inference/operator_inference.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon::onnx {
namespace {

std::unique_ptr<BodyGraph> with_inputs(const LoadedOperator& op, const ExportedNode& node) {
  auto body = std::make_unique<BodyGraph>(*op.plugins);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    body->inputs.push_back(
        node.inputs[i].empty()
            ? none
            : body->builder.input(free_name(body->model, name_of_input(node.info, i)),
                                  node.types[i]));
  return body;
}

/// Writes the recorded steps of an elementwise function as nodes of Tenon operators. Numbers become
/// scalars, so that the nodes broadcast like the operator.
class StepWriter {
 public:
  StepWriter(BodyGraph& body, const Recording& recording, const std::string& name, DType dtype)
      : body_(body),
        recording_(recording),
        name_(name),
        dtype_(dtype),
        values_(recording.inputs + recording.steps.size(), none) {}

  ValueId write(DType result) {
    mark_needed();
    for (std::uint32_t i = 0; i < recording_.inputs; ++i)
      if (needed_[i]) values_[i] = as(body_.inputs[i], dtype_);
    for (std::size_t i = recording_.inputs; i < values_.size(); ++i)
      if (needed_[i]) values_[i] = step(recording_.steps[i - recording_.inputs]);
    return as(shaped(values_[recording_.result]), result);
  }

 private:
  void mark_needed() {
    needed_.assign(values_.size(), false);
    needed_[recording_.result] = true;
    for (auto i = values_.size(); i-- > recording_.inputs;)
      if (needed_[i])
        for (const auto operand : recording_.steps[i - recording_.inputs].operands)
          needed_[operand] = true;
  }

  std::string free_name_of(std::string_view suffix) {
    const auto base_name = fmt::format("{}/{}", name_, suffix);
    return free_name(body_.model, base_name, last_numbers_[base_name]);
  }
  ValueId add(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes = {}) {
    const auto full = fmt::format("tenon.{}", op), name = free_name_of(op);
    const NodeSpec spec{.op = full,
                        .name = name,
                        .inputs = std::move(inputs),
                        .named_inputs = {},
                        .attributes = attributes,
                        .implicit_variables = false};
    return body_.model.nodes[body_.builder.node(spec)].first_output;
  }
  ValueId number(double value, DType dtype) {
    auto scalar = Tensor::empty(dtype, Shape::scalar());
    visit<every_type>(dtype,
                      [&]<class T>() { *static_cast<T*>(scalar.data()) = static_cast<T>(value); });
    return body_.builder.tensor(free_name_of("number"), Role::constant, scalar);
  }
  ValueId as(ValueId value, DType dtype) {
    if (dtype_of(value) == dtype) return value;
    return add("cast", {value}, {{"dtype", std::string(name_of(dtype))}});
  }
  DType dtype_of(ValueId value) const {
    return static_cast<DType>(body_.model.values[value].type.dtype);
  }

  ValueId step(const Recording::Step& step) {
    std::vector<ValueId> operands;
    for (const auto operand : step.operands) operands.push_back(values_[operand]);
    if (step.operation == "number") return number(step.number, step.dtype);
    if (step.operation == "cast") return as(operands[0], step.dtype);
    if (step.operation == "expm1") return expm1(operands[0]);
    if (step.operation == "log1p") return log1p(operands[0]);
    if (step.operation == "normal_cdf") return normal_cdf(operands[0]);
    return add(step.operation, std::move(operands));
  }
  // tanh(x / 2) = (e^x - 1) / (e^x + 1), which is accurate near 0.
  ValueId expm1(ValueId x) {
    const auto dtype = dtype_of(x);
    const auto half = add("tanh", {add("mul", {x, number(0.5, dtype)})});
    return add("mul", {half, add("add", {add("exp", {x}), number(1, dtype)})});
  }
  // Kahan's log1p: with u = 1 + x rounded, log(u) x / (u - 1) cancels the rounding error of u. If u
  // is 1, the result is x.
  ValueId log1p(ValueId x) {
    const auto one = number(1, dtype_of(x));
    const auto u = add("add", {x, one}), back = add("sub", {u, one}), log = add("log", {u});
    const auto mended = add("mul", {log, add("div", {x, back})});
    return add("where",
               {add("equal", {u, one}), x, add("where", {add("equal", {back, x}), log, mended})});
  }
  // ONNX has no function that is accurate for large negative x; this result is accurate relative to
  // 1.
  ValueId normal_cdf(ValueId x) {
    const auto dtype = dtype_of(x);
    const auto erf = add("erf", {add("mul", {x, number(0.70710678118654752, dtype)})});
    return add("mul", {add("add", {erf, number(1, dtype)}), number(0.5, dtype)});
  }

  // The output has the broadcast shape of all inputs, including those that the value does not
  // depend on.
  ValueId shaped(ValueId value) {
    if (std::all_of(needed_.begin(), needed_.begin() + recording_.inputs,
                    [](bool reached) { return reached; }))
      return value;
    auto like = as(body_.inputs[0], dtype_);
    for (std::uint32_t i = 1; i < recording_.inputs; ++i)
      like = add("add", {like, as(body_.inputs[i], dtype_)});
    return add("broadcast_like", {as(value, dtype_), like});
  }

  BodyGraph& body_;
  const Recording& recording_;
  const std::string& name_;
  DType dtype_;
  std::vector<ValueId> values_;  // of the inputs, then of the steps
  std::vector<bool> needed_;
  std::map<std::string, std::uint64_t> last_numbers_;
};

/// The dtype in which the kernel computes.
DType computed_in(const ExportedNode& node) {
  const auto& inputs = node.info.inputs;
  const auto shared =
      static_cast<std::size_t>(std::find_if(inputs.begin(), inputs.end(),
                                            [](const InputInfo& input) { return !input.types; }) -
                               inputs.begin());
  const bool optional = std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [](const std::string& input) { return input.empty(); });
  if (shared >= node.types.size() || optional || node.info.variadic())
    throw Failure(FailureKind::failed, "it is not a function of one element of each input");
  const auto dtype = static_cast<DType>(node.types[shared].dtype);
  if (dtype == f64) return f64;
  if (!floating.has(dtype))
    throw Failure(FailureKind::failed,
                  fmt::format("it computes in {}; only floating-point functions are supported",
                              name_of(dtype)));
  return f32;
}

std::unique_ptr<BodyGraph> from_function(const LoadedOperator& op, const void* object,
                                         const ExportedNode& node) {
  const auto dtype = computed_in(node);
  auto body = with_inputs(op, node);
  const auto recording = record(op, object, static_cast<std::uint32_t>(node.inputs.size()), dtype);
  body->outputs = {StepWriter(*body, recording, node.info.name, dtype)
                       .write(static_cast<DType>(node.output_types[0].dtype))};
  return body;
}

const char* why_not_traced(const LoadedOperator& op) {
  if (op.isolated_plugin() != nullptr) return "its plugin runs in a worker process";
  if (!may_be_traced(*op.table))
    return "its plugin was built with an SDK that does not support tracing";
  return "its class defines its own gradient, types or kernels, or its function is noexcept: see "
         "op.traced()";
}

}  // namespace

std::unique_ptr<BodyGraph> body_of(const LoadedOperator& op, const void* object,
                                   const ExportedNode& node, std::string& reason) {
  if (is_composed(op)) {
    auto body = with_inputs(op, node);
    body->outputs = compose(body->builder, {op,
                                            object,
                                            op.info->name,
                                            {},
                                            body->inputs,
                                            static_cast<std::uint32_t>(node.outputs.size())});
    return body;
  }
  if (!op.info->elementwise || op.table == nullptr || op.plugins == nullptr) return nullptr;
  try {
    if (is_traced(*op.table)) return from_function(op, object, node);
    reason = why_not_traced(op);
  } catch (const Failure& failure) {
    reason = failure.what();
  }
  return nullptr;
}

}  // namespace tenon::onnx
