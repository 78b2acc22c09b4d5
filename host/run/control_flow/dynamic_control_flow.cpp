// branch and loop: control flow whose output shapes are only known at run time.
#include <algorithm>

#include "plugin/operator_name.hpp"
#include "run/control_flow/control_flow.hpp"
#include "run/control_flow/owned_subgraph.hpp"
#include "run/inference_budget.hpp"
#include "tensor/add_elements.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_inferred = 2000;  // inferences of the bodies of nested loops, per node

/// Widens `into` to a type that covers both: differing dimensions, ranks or dtypes become unknown.
/// Returns whether `into` changed.
bool generalize(tenon_type& into, const tenon_type& other) {
  const auto before = into;
  if (into.dtype != other.dtype) into.dtype = TENON_DTYPE_UNKNOWN;
  if (into.rank != other.rank) into.rank = -1;
  auto* const end = into.dims + std::max(into.rank, 0);
  std::transform(into.dims, end, other.dims, into.dims,
                 [](auto one, auto two) { return one == two ? one : unknown; });
  return into.dtype != before.dtype || into.rank != before.rank ||
         !std::equal(into.dims, end, before.dims);
}

/// Allocates output `i` of the call with this shape.
Tensor allocated(const Call& call, std::size_t i, DType dtype, const Shape& shape) {
  visit<storable>(dtype, [&]<class T>() { call.allocate<T>(static_cast<int>(i), shape); });
  return tensor_at(call.raw().outputs[i]);
}

void write_output(const Call& call, std::size_t i, const Tensor& tensor) {
  const auto& planned = *call.raw().outputs[i];
  if (planned.dtype != static_cast<std::uint8_t>(tensor.dtype()))
    throw Error("output ", i, " is ", tensor.dtype(), " ", tensor.shape(), ", but was inferred as ",
                static_cast<DType>(planned.dtype));
  copy_elements(tensor, allocated(call, i, tensor.dtype(), tensor.shape()));
}

struct Branch : TwoBranches {
  static constexpr void describe(auto& op) {
    op.doc(
        "runs one of two graphs, whose outputs may differ in shape: `then` if condition is true, "
        "otherwise `else` (ONNX If); the shapes of the outputs are known only after the run");
    describe_branches(op, "outputs of the graph that runs; both graphs must return equal dtypes");
  }

  void infer(Infer& io) const {
    infer_branches(io,
                   [](int, tenon_type& type, const tenon_type& other) { generalize(type, other); });
  }

  void forward(const Call& call) const {
    const auto made = chosen(call)->run_all(call.training(), data_of(call));
    for (std::size_t i = 0; i < made.size(); ++i) write_output(call, i, made[i]);
  }

  void gradient(Gradient&) const {
    throw Error("a branch has no gradient: use if, whose graphs return the same shapes");
  }
};

struct Loop : Operator {
  Text body;
  std::int32_t carries = 0, outputs = 1;
  Host::Impl* host = nullptr;
  OwnedSubgraph step;

  static constexpr void describe(auto& op) {
    op.doc(
        "runs `body` at most limit times, while its first output is true (ONNX Loop): the next "
        "`carries` outputs are inputs of the next iteration, the other outputs are stacked. Shapes "
        "of carried values may change between iterations");
    op.input("limit", "one element; maximum number of iterations").types({i64});
    op.input("condition", "one element; false: no iteration runs").types({boolean});
    op.input("data",
             "initial values of the `carries` carried values, then the loop-invariant inputs")
        .types(storable)
        .variadic();
    op.output(
          "output",
          "the carried values after the last iteration, then the stacked outputs [iterations, ...]")
        .count(&Loop::outputs);
    op.param("body", &Loop::body,
             "a graph with the inputs iteration index (int64 []), condition (bool []), carried "
             "values and loop-invariant inputs, and the outputs next condition (bool), next "
             "carried values and values to stack")
        .required();
    op.param("carries", &Loop::carries, "number of carried values").at_least(0);
    op.param("outputs", &Loop::outputs, "number of outputs of `body` without the condition")
        .at_least(1);
  }

  void configure() {
    if (carries > outputs)
      throw Error("carries is ", carries, " but there are ", outputs, " outputs");
    if (host) step.emplace(*host, body, "body");
  }

  void infer(Infer& io) const {
    const auto count = at(io.inputs()) - 2;
    io.require(count >= at(carries), "there are ", count, " inputs but carries needs ", carries);
    for (int i = 0; i < 2; ++i)
      io.require(!io.input(i).shape.known() || io.input(i).shape.size() == 1,
                 i == 0 ? "the limit is " : "the condition is ", io.input(i).shape,
                 " but needs one element");
    require_counts(*step, count + 2, at(io.outputs()) + 1);
    std::vector<tenon_type> data{type_of(i64, Shape::scalar()), type_of(boolean, Shape::scalar())};
    const auto all = input_types(io, 2, count);
    data.insert(data.end(), all.begin(), all.end());
    const InferenceBudget budget(max_inferred);
    const auto inferred = [&] {
      InferenceBudget::charge();
      return step->infer(data);
    };
    auto made = inferred();
    while (generalize_carried(data, made)) made = inferred();
    require_condition(made[0], *step);
    for (int i = 0; i < io.outputs(); ++i) {
      if (i < carries) {
        set_output(io, i, data[at(i) + 2]);
        continue;
      }
      auto type = made[at(i) + 1];
      if (type.rank >= 0) {
        io.require(type.rank < max_rank, "the body's output ", i + 1, " has ", type.rank,
                   " dimensions and cannot be stacked");
        Shape stacked = Shape::of_rank(type.rank + 1);
        for (int axis = 0; axis < type.rank; ++axis) stacked.set(axis + 1, type.dims[axis]);
        type = type_of(static_cast<DType>(type.dtype), stacked);
      }
      set_output(io, i, type);
    }
  }

  void forward(const Call& call) const {
    const auto limit = *static_cast<const std::int64_t*>(tensor_at(call.raw().inputs[0]).data());
    const auto count = at(call.inputs());
    std::vector<Tensor> inputs{Tensor::from({std::int64_t{0}}, Shape::scalar()),
                               tensor_at(call.raw().inputs[1]).reshape(Shape::scalar())};
    for (std::size_t i = 2; i < count; ++i) inputs.push_back(tensor_at(call.raw().inputs[i]));
    std::vector<std::vector<Tensor>> rows(at(outputs - carries));
    for (std::int64_t run = 0; run < limit && is_true(inputs[1]); ++run) {
      if (call.cancelled()) throw Error("the run was stopped in the loop");
      inputs[0] = Tensor::from({run}, Shape::scalar());
      auto made = step->run_all(call.training(), inputs);
      inputs[1] = made[0].reshape(Shape::scalar());
      std::copy_n(made.begin() + 1, carries, inputs.begin() + 2);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(made[at(carries) + 1 + i]);
    }
    for (std::size_t i = 0; i < at(carries); ++i) write_output(call, i, inputs[i + 2]);
    for (std::size_t i = 0; i < rows.size(); ++i) stack(call, at(carries) + i, rows[i]);
  }

  void gradient(Gradient&) const {
    throw Error("a loop has no gradient: use scan if shapes determine the number of iterations");
  }

 private:
  // Types only become wider, so this terminates.
  bool generalize_carried(std::vector<tenon_type>& data,
                          const std::vector<tenon_type>& made) const {
    bool changed = false;
    for (std::size_t i = 0; i < at(carries); ++i) {
      auto& type = data[i + 2];
      if (type.dtype != TENON_DTYPE_UNKNOWN && made[i + 1].dtype != TENON_DTYPE_UNKNOWN &&
          type.dtype != made[i + 1].dtype)
        throw Failure(
            FailureKind::usage,
            fmt::format(
                "carried value {} is {}, but the body returns {}: dtypes must stay the same", i,
                to_string(type), to_string(made[i + 1])));
      auto other = made[i + 1];
      other.dtype = type.dtype;
      changed = generalize(type, other) || changed;
    }
    return changed;
  }

  static void stack(const Call& call, std::size_t i, const std::vector<Tensor>& rows) {
    const auto& planned = *call.raw().outputs[i];
    const int rank =
        planned.dense.ndim >= 0 || rows.empty() ? planned.dense.ndim : rows[0].shape().rank() + 1;
    if (rank < 0)
      throw Error("output ", i, " has no iterations to stack, and its rank is unknown without one");
    Shape shape = Shape::of_rank(rank);
    shape.set(0, static_cast<std::int64_t>(rows.size()));
    for (int axis = 1; axis < rank; ++axis) {
      const auto known = planned.dense.ndim < 0 ? 0
                                                : std::max<std::int64_t>(planned.dense.shape[axis],
                                                                         0);  // without iterations
      shape.set(axis, rows.empty()                     ? known
                      : axis <= rows[0].shape().rank() ? rows[0].shape()[axis - 1]
                                                       : 0);
    }
    for (std::size_t run = 0; run < rows.size(); ++run)
      if (rows[run].shape() != rows[0].shape() || rows[run].shape().rank() != rank - 1)
        throw Error("output ", i, " stacks values of equal shape, but gets ", rows[run].shape(),
                    " in iteration ", run, " and ", rows[0].shape(), " in iteration 0");
    const auto whole = allocated(call, i, static_cast<DType>(planned.dtype), shape);
    for (std::size_t run = 0; run < rows.size(); ++run)
      copy_elements(rows[run], row_of(whole, static_cast<std::int64_t>(run)));
  }
};

}  // namespace

void add_dynamic_control_operators(Host::Impl& host) {
  add_flow_operator<Branch>(host, "branch", true);
  add_flow_operator<Loop>(host, "loop", true);
}

}  // namespace tenon
