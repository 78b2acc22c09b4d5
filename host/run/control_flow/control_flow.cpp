#include "run/control_flow/control_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tenon/host/udf.hpp>

#include "graph/inference/type.hpp"
#include "io/counted.hpp"
#include "plugin/operator_name.hpp"
#include "run/control_flow/owned_subgraph.hpp"
#include "tensor/add_elements.hpp"
#include "tensor/sparse/rows.hpp"

namespace tenon {
namespace {

using Positions = std::vector<std::size_t>;
using Values = std::vector<Gradient::Value>;

bool is_floating(const Gradient& g, Gradient::Value value) {
  return floating.has(g.type(value).dtype);
}

/// The floating-point inputs in [first, end), which have a gradient.
Positions floating_inputs(Gradient& g, std::size_t first, std::size_t end) {
  Positions found;
  for (auto i = first; i < end; ++i)
    if (is_floating(g, g.input(static_cast<int>(i)))) found.push_back(i);
  return found;
}

Positions floating_outputs(Gradient& g, std::size_t first, std::size_t end) {
  Positions found;
  for (auto i = first; i < end; ++i)
    if (g.has_output_grad(static_cast<int>(i)) && is_floating(g, g.output(static_cast<int>(i))))
      found.push_back(i);
  return found;
}

Positions subtract(Positions positions, std::size_t offset) {
  for (auto& position : positions) position -= offset;
  return positions;
}

struct If : TwoBranches {
  static constexpr void describe(auto& op) {
    op.doc(
        "runs one of two graphs: `then` if condition is true, otherwise `else` (ONNX If, "
        "torch.cond)");
    describe_branches(op,
                      "outputs of the graph that runs; both graphs must return equal dtypes and "
                      "shapes, unless condition is known before the run");
  }

  void infer(Infer& io) const {
    infer_branches(io, [](int i, tenon_type& type, const tenon_type& other) {
      const auto one = type;
      if (merge(type, other) == Merge::contradiction)
        throw Failure(FailureKind::usage,
                      fmt::format("output {} is {} in the graph 'then' but {} in the graph 'else'",
                                  i, to_string(one), to_string(other)));
    });
  }

  void forward(const Call& call) const {
    chosen(call)->run(call.training(), data_of(call),
                      tensors_at(call.raw().outputs, at(call.outputs())));
  }

  // An `if` of the gradients of both graphs.
  void gradient(Gradient& g) const {
    const auto wrt = floating_inputs(g, 1, at(g.inputs())),
               reached = floating_outputs(g, 0, at(g.outputs()));
    if (wrt.empty()) return;
    Values inputs;
    for (int i = 0; i < g.inputs(); ++i) inputs.push_back(g.input(i));
    for (const auto i : reached) inputs.push_back(g.output_grad(static_cast<int>(i)));
    const auto text = [&](const OwnedSubgraph& branch) {
      return gradient_of(*branch, reached, subtract(wrt, 1)).to_json();
    };
    const auto one = text(branches[0]), other = text(branches[1]);
    Values grads(wrt.size());
    g.add_outputs("tenon.if", inputs.data(), inputs.size(), grads.data(), grads.size(),
                  {{"then", std::string_view(one)},
                   {"else", std::string_view(other)},
                   {"outputs", wrt.size()}});
    for (std::size_t i = 0; i < wrt.size(); ++i)
      g.set_input_grad(static_cast<int>(wrt[i]), grads[i]);
  }
};

struct Fail : Operator {
  Text message;
  std::int32_t outputs = 1;

  static constexpr void describe(auto& op) {
    op.doc(
        "fails with `message` when it runs; replaces a branch that cannot run, in a graph that may "
        "never take this branch");
    op.output("output", "no value").count(&Fail::outputs);
    op.param("message", &Fail::message, "error message").required();
    op.param("outputs", &Fail::outputs, "number of outputs").at_least(1);
  }

  void infer(Infer&) const {}
  void forward(const Call&) const { throw Error(message); }
};

struct While : Operator {
  Text condition, body;
  std::int32_t outputs = 1;
  std::int64_t limit = INT64_MAX;
  Host::Impl* host = nullptr;
  OwnedSubgraph test, step;

  static constexpr void describe(auto& op) {
    op.doc(
        "runs `body` repeatedly on its own outputs while `condition` returns true for them "
        "(torch's while_loop)");
    op.input("data", "initial values, in the order of the inputs of both graphs")
        .types(storable)
        .variadic();
    op.output("output",
              "outputs of the last iteration, or data if no iteration ran; same dtypes and shapes "
              "as data")
        .count(&While::outputs);
    op.param("condition", &While::condition, "a graph that returns one boolean element").required();
    op.param("body", &While::body,
             "a graph with equal numbers, dtypes and shapes of inputs and outputs")
        .required();
    op.param("outputs", &While::outputs,
             "number of values that the loop carries, the inputs of both graphs")
        .at_least(1);
    op.param("limit", &While::limit, "maximum number of iterations; exceeding it is an error")
        .at_least(0);
  }

  void configure() {
    if (!host) return;
    test.emplace(*host, condition, "condition");
    step.emplace(*host, body, "body");
  }

  void infer(Infer& io) const {
    const auto count = at(io.inputs());
    io.require(count == at(io.outputs()), "there are ", count, " values but ", io.outputs(),
               " outputs");
    require_counts(*test, count, 1);
    require_counts(*step, count, count);
    const auto data = input_types(io, 0, count);
    require_condition(test->infer(data)[0], *test);
    const auto next = step->infer(data);
    for (int i = 0; i < io.outputs(); ++i) {
      auto type = data[at(i)];
      if (merge(type, next[at(i)]) == Merge::contradiction)
        throw Failure(
            FailureKind::usage,
            fmt::format(
                "value {} of the loop is {}, but its body returns {}: types must stay the same", i,
                to_string(data[at(i)]), to_string(next[at(i)])));
      set_output(io, i, type);
    }
  }

  void forward(const Call& call) const {
    const auto count = at(call.inputs());
    auto now = tensors_at(call.raw().inputs, count);
    std::vector<Tensor> sets[2];
    for (auto& set : sets)
      for (const auto& tensor : now) set.push_back(Tensor::empty(tensor.dtype(), tensor.shape()));
    for (std::int64_t runs = 0;; ++runs) {
      if (!is_true(test->run(call.training(), now))) break;
      if (runs == limit)
        throw Error("the loop reached its limit of ", limit,
                    " iterations and the condition is still true");
      if (call.cancelled()) throw Error("the run was stopped in the loop");
      step->run(call.training(), now, sets[runs % 2]);
      now = sets[runs % 2];
    }
    for (std::size_t i = 0; i < count; ++i) copy_elements(now[i], tensor_at(call.raw().outputs[i]));
  }

  void gradient(Gradient&) const {
    throw Error(
        "a while loop has no gradient: use scan if shapes determine the number of iterations");
  }
};

struct Scan : Operator {
  Text body;
  std::int32_t carries = 1, scanned = 1, outputs = 1;
  bool reverse = false;
  Host::Impl* host = nullptr;
  OwnedSubgraph step;

  static constexpr void describe(auto& op) {
    op.doc(
        "runs `body` for each slice of the scanned inputs along their first axis (ONNX Scan): the "
        "first `carries` outputs are inputs of the next iteration, the other outputs are stacked");
    op.input("data",
             "initial values of the `carries` carried values, then the scanned inputs [iterations, "
             "...], then the loop-invariant inputs")
        .types(storable)
        .variadic();
    op.output(
          "output",
          "the carried values after the last iteration, then the stacked outputs [iterations, ...]")
        .count(&Scan::outputs);
    op.param("body", &Scan::body,
             "a graph with the inputs carried values, one slice of each scanned input and "
             "loop-invariant inputs, and the outputs next carried values and values to stack")
        .required();
    op.param("carries", &Scan::carries, "number of carried values").at_least(0);
    op.param("scanned", &Scan::scanned,
             "number of scanned inputs; all have the same size along the first axis")
        .at_least(1);
    op.param("outputs", &Scan::outputs, "number of outputs of `body`").at_least(1);
    op.param("reverse", &Scan::reverse, "iterate from the last slice to the first");
  }

  // Both may have the largest value of their type.
  std::size_t data_inputs() const { return at(carries) + at(scanned); }

  void configure() {
    if (carries > outputs)
      throw Error("carries is ", carries, " but there are ", outputs, " outputs");
    if (host) step.emplace(*host, body, "body");
  }

  void infer(Infer& io) const {
    const auto count = at(io.inputs());
    io.require(count >= data_inputs(), "there are ", count, " inputs but carries and scanned need ",
               data_inputs());
    require_counts(*step, count, at(io.outputs()));
    const auto all = input_types(io, 0, count);
    std::vector<tenon_type> data(all.begin(), all.end());
    std::int64_t rows = unknown;
    for (auto i = at(carries); i < data_inputs(); ++i) {
      auto& type = data[i];
      if (type.rank < 0) continue;
      io.require(type.rank > 0, "data", i, " has no axis to take rows from");
      io.require(rows == unknown || type.dims[0] == unknown || rows == type.dims[0], "data", i,
                 " has ", type.dims[0], " rows, but another input has ", rows);
      rows = type.dims[0] == unknown ? rows : type.dims[0];
      const Shape whole = shape_of(type);
      const auto present = type.present;
      type = type_of(static_cast<DType>(type.dtype), Shape(whole.begin() + 1, whole.rank() - 1));
      type.present = present;
    }
    const auto made = step->infer(data);
    for (int i = 0; i < io.outputs(); ++i) {
      auto type = made[at(i)];
      if (i < carries && merge(type, data[at(i)]) == Merge::contradiction)
        throw Failure(
            FailureKind::usage,
            fmt::format("carried value {} is {}, but the body returns {}: types must stay the same",
                        i, to_string(data[at(i)]), to_string(type)));
      if (i >= carries && type.rank >= 0) {
        Shape stacked = Shape::of_rank(type.rank + 1);
        stacked.set(0, rows);
        for (int axis = 0; axis < type.rank; ++axis) stacked.set(axis + 1, type.dims[axis]);
        type = type_of(static_cast<DType>(type.dtype), stacked);
      }
      set_output(io, i, type);
    }
  }

  void forward(const Call& call) const {
    auto inputs = tensors_at(call.raw().inputs, at(call.inputs()));
    const auto outputs = tensors_at(call.raw().outputs, at(call.outputs()));
    const auto whole = inputs;
    const auto rows = inputs[at(carries)].shape()[0];
    std::vector<Tensor> sets[2];
    for (auto& set : sets)
      for (std::size_t i = 0; i < at(carries); ++i)
        set.push_back(Tensor::empty(inputs[i].dtype(), inputs[i].shape()));
    for (std::int64_t run = 0; run < rows; ++run) {
      if (call.cancelled()) throw Error("the run was stopped in the loop");
      const auto row = reverse ? rows - 1 - run : run;
      for (auto i = at(carries); i < data_inputs(); ++i) inputs[i] = row_of(whole[i], row);
      auto made = sets[run % 2];
      for (auto i = at(carries); i < outputs.size(); ++i) made.push_back(row_of(outputs[i], row));
      step->run(call.training(), inputs, made);
      std::copy_n(made.begin(), carries, inputs.begin());
    }
    for (std::size_t i = 0; i < at(carries); ++i) copy_elements(inputs[i], outputs[i]);
  }

  // The gradient is a scan in the opposite direction whose body is the gradient of this body. It
  // carries the gradients of the carried values and the sums of the gradients of the inputs that
  // stay the same. Its scanned inputs are the values carried into each iteration, the scanned
  // inputs, and the gradients of the outputs.
  void gradient(Gradient& g) const {
    const auto all = at(g.inputs()), first_invariant = data_inputs();
    const auto wrt = floating_inputs(g, 0, all);
    if (wrt.empty()) return;
    Positions carried, rows, summed;  // of wrt
    for (const auto i : wrt)
      (i < at(carries) ? carried : i < first_invariant ? rows : summed).push_back(i);
    const auto stacked = floating_outputs(g, at(carries), at(g.outputs()));
    auto reached = carried;
    reached.insert(reached.end(), stacked.begin(), stacked.end());

    Values inputs;
    for (const auto i : carried)
      inputs.push_back(g.has_output_grad(static_cast<int>(i))
                           ? g.output_grad(static_cast<int>(i))
                           : g.zeros_like(g.output(static_cast<int>(i))));
    for (const auto i : summed) inputs.push_back(g.zeros_like(g.input(static_cast<int>(i))));
    for (const auto value : carried_values(g)) inputs.push_back(value);
    for (auto i = at(carries); i < first_invariant; ++i)
      inputs.push_back(g.input(static_cast<int>(i)));
    for (const auto i : stacked) inputs.push_back(g.output_grad(static_cast<int>(i)));
    for (auto i = first_invariant; i < all; ++i) inputs.push_back(g.input(static_cast<int>(i)));

    const auto text = backward_body(carried, rows, summed, reached, all, first_invariant).to_json();
    Values grads(wrt.size());
    const auto carry_count = carried.size() + summed.size();
    g.add_outputs("tenon.scan", inputs.data(), inputs.size(), grads.data(), grads.size(),
                  {{"body", std::string_view(text)},
                   {"carries", carry_count},
                   {"scanned", first_invariant + stacked.size()},
                   {"outputs", grads.size()},
                   {"reverse", !reverse}});
    std::size_t next = 0;
    for (const auto* group : {&carried, &summed, &rows})
      for (const auto i : *group) g.set_input_grad(static_cast<int>(i), grads[next++]);
  }

 private:
  /// The carried values before each iteration, from a scan that also stacks them.
  Values carried_values(Gradient& g) const {
    if (carries == 0) return {};
    auto graph = step->graph();
    const auto inputs = graph.inputs();
    for (std::size_t i = 0; i < at(carries); ++i)
      graph.output(fmt::format("{} before", i), graph.find(inputs[i].name));
    const auto text = graph.to_json();
    Values arguments, made(at(outputs + carries));
    for (int i = 0; i < g.inputs(); ++i) arguments.push_back(g.input(i));
    g.add_outputs("scan", arguments.data(), arguments.size(), made.data(), made.size(),
                  {{"body", std::string_view(text)},
                   {"carries", carries},
                   {"scanned", scanned},
                   {"outputs", made.size()},
                   {"reverse", reverse}});
    return {made.begin() + outputs, made.end()};
  }

  Graph backward_body(const Positions& carried, const Positions& rows, const Positions& summed,
                      const Positions& reached, std::size_t all,
                      std::size_t first_invariant) const {
    Positions wrt = carried;
    wrt.insert(wrt.end(), summed.begin(), summed.end());
    wrt.insert(wrt.end(), rows.begin(), rows.end());
    auto graph = gradient_of(*step, reached, wrt);
    // gradient_of() appends one input per reached output to the body's; the running sums are added
    // here.
    const auto grads = graph.outputs();
    std::vector<Value> sums;
    for (std::size_t k = 0; k < summed.size(); ++k) {
      const auto grad = graph.find(grads[carried.size() + k].value);
      sums.push_back(graph.add(
          "tenon.add",
          {grad, graph.input(fmt::format("sum {}", k), graph.dtype(grad), graph.shape(grad))}));
    }
    graph = with_outputs(graph, grads, carried.size(), sums);
    Positions order;
    const auto add = [&](std::size_t first, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) order.push_back(first + i);
    };
    add(all, carried.size());
    add(all + reached.size(), summed.size());
    add(0, first_invariant);
    add(all + carried.size(), reached.size() - carried.size());
    add(first_invariant, all - first_invariant);
    reorder_inputs(graph, order);
    return graph;
  }

  // Replaces the outputs from `first` on.
  static Graph with_outputs(Graph graph, const std::vector<ValueInfo>& outputs, std::size_t first,
                            const std::vector<Value>& others) {
    std::vector<Value> values;
    values.reserve(outputs.size());
    for (const auto& output : outputs) values.push_back(graph.find(output.value));
    std::copy(others.begin(), others.end(), values.begin() + static_cast<std::ptrdiff_t>(first));
    set_outputs(graph, values);
    return graph;
  }
};

}  // namespace

void add_control_operators(Host::Impl& host) {
  add_flow_operator<If>(host, "if");
  host.plugin_set.add_builtin(std::as_bytes(std::span(std::string_view(manifest_of<Fail>("fail")))),
                              table_of<Fail>(), internal::factory_of<Fail>([] { return Fail(); }),
                              false);
  add_flow_operator<While>(host, "while");
  add_flow_operator<Scan>(host, "scan");
  add_dynamic_control_operators(host);
}

bool holds_host(const OperatorInfo& info) {
  static constexpr std::string_view names[] = {"if",     "while", "scan",
                                               "branch", "loop",  "onnx_node"};
  return info.space == bundled_space &&
         std::find(std::begin(names), std::end(names), info.name) != std::end(names);
}

}  // namespace tenon
