// Shared by the control-flow operators: owned subgraphs, and tensors and types of calls.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tenon/host/udf.hpp>
#include <utility>

#include "graph/inference/type.hpp"
#include "io/counted.hpp"
#include "run/control_flow/subgraph.hpp"
#include "tensor/sparse/rows.hpp"

namespace tenon {

/// Owns a T for an operator whose class describe() instantiates at compile time. A copy is empty:
/// its configure() creates its own T.
template <class T>
class Owned {
 public:
  constexpr Owned() = default;
  constexpr Owned(const Owned&) {}
  constexpr Owned(Owned&& other) noexcept : owned_(std::exchange(other.owned_, nullptr)) {}
  constexpr Owned& operator=(Owned&& other) noexcept {
    std::swap(owned_, other.owned_);
    return *this;
  }
  constexpr ~Owned() { delete owned_; }
  template <class... Arguments>
  void emplace(Host::Impl& host, const Text& text, const Arguments&... arguments) {
    delete std::exchange(owned_, new T(host, text, arguments...));
  }
  T& operator*() const { return *owned_; }
  T* operator->() const { return owned_; }

 private:
  T* owned_ = nullptr;
};

using OwnedSubgraph = Owned<Subgraph>;

inline std::size_t at(std::int64_t position) {
  return static_cast<std::size_t>(position);
}

inline std::span<const tenon_type> input_types(const Infer& io, std::size_t first,
                                               std::size_t count) {
  return {io.raw().inputs + first, count};
}

inline void set_output(Infer& io, int i, const tenon_type& type) {
  io.set_output(i, shape_of(type), static_cast<DType>(type.dtype));
  io.raw().outputs[i].layout = 1;  // without a dtype: not known yet
}

inline Tensor tensor_at(const tenon_tensor* tensor) {
  return Tensor::borrow(*tensor);
}

inline std::vector<Tensor> tensors_at(const tenon_tensor* const* tensors, std::size_t count) {
  std::vector<Tensor> found;
  for (std::size_t i = 0; i < count; ++i) found.push_back(tensor_at(tensors[i]));
  return found;
}

/// Row `row` of the first axis, without that axis.
inline Tensor row_of(const Tensor& tensor, std::int64_t row) {
  const auto whole = tensor.shape();
  return row_range(tensor, row, row + 1).reshape(Shape(whole.begin() + 1, whole.rank() - 1));
}

inline bool is_true(const Tensor& condition) {
  return *static_cast<const std::uint8_t*>(condition.data()) != 0;
}

inline void require_condition(const tenon_type& type, const Subgraph& graph) {
  const bool fits = (type.dtype == TENON_BOOLEAN || type.dtype == TENON_DTYPE_UNKNOWN) &&
                    (!is_known(type) || element_count(type) == 1);
  if (!fits) graph.refuse("returns " + to_string(type) + " but must return one boolean");
}

inline void require_counts(const Subgraph& graph, std::size_t inputs, std::size_t outputs) {
  if (graph.inputs() != inputs)
    graph.refuse(fmt::format("has {} but gets {}", counted(graph.inputs(), "input"),
                             counted(inputs, "value")));
  if (graph.outputs() != outputs)
    graph.refuse(fmt::format("has {} but needs {}", counted(graph.outputs(), "output"), outputs));
}

/// Base of `if` and `branch`, which differ in how the types of two outputs are merged, and in who
/// allocates outputs.
struct TwoBranches : Operator {
  Text then, otherwise;
  std::int32_t outputs = 1;
  Host::Impl* host = nullptr;
  OwnedSubgraph branches[2];

  void configure() {
    if (!host) return;
    branches[0].emplace(*host, then, "then");
    branches[1].emplace(*host, otherwise, "else");
  }

 protected:
  static constexpr void describe_branches(auto& op, const char* outputs_doc) {
    op.input("condition", "one element; true: `then` runs, false: `else`").types({boolean});
    op.input("data", "inputs of both graphs, in order").types(storable).variadic();
    op.output("output", outputs_doc).count(&TwoBranches::outputs);
    op.param("then", &TwoBranches::then, "a graph").required();
    op.param("else", &TwoBranches::otherwise, "a graph with the same number of inputs and outputs")
        .required();
    op.param("outputs", &TwoBranches::outputs, "number of outputs of the graphs").at_least(1);
  }

  /// If the condition is known, only the graph that runs is checked. Until then, a graph that does
  /// not accept these inputs counts as the one that does not run. join(output, type, other_type)
  /// merges other_type, of the other graph, into type.
  template <class Join>
  void infer_branches(Infer& io, const Join& join) const {
    const auto count = at(io.inputs()) - 1;
    for (const auto& branch : branches) require_counts(*branch, count, at(io.outputs()));
    io.require(!io.input(0).shape.known() || io.input(0).shape.size() == 1, "the condition is ",
               io.input(0).shape, " but needs one element");
    const auto data = input_types(io, 1, count);
    Types types[2] = {infer_branch(0, data), infer_branch(1, data)};
    auto& [one, other] = types;
    const auto* known = one.failure ? &other : other.failure ? &one : nullptr;
    if (known != nullptr || !same_types(one.list, other.list)) {
      if (const auto condition = io.values<bool>(0); condition.size() == 1)
        known = &types[condition[0] ? 0 : 1];
      else if (one.failure && other.failure)
        throw Failure(one.failure->kind(),
                      fmt::format("{}; {}", one.failure->what(), other.failure->what()),
                      one.failure->hint());
    }
    if (known == nullptr)
      for (int i = 0; i < io.outputs(); ++i) join(i, one.list[at(i)], other.list[at(i)]);
    else if (known->failure)
      throw *known->failure;
    for (int i = 0; i < io.outputs(); ++i)
      set_output(io, i, (known != nullptr ? *known : one).list[at(i)]);
  }

  const OwnedSubgraph& chosen(const Call& call) const {
    return branches[is_true(tensor_at(call.raw().inputs[0])) ? 0 : 1];
  }
  static std::vector<Tensor> data_of(const Call& call) {
    return tensors_at(call.raw().inputs + 1, at(call.inputs()) - 1);
  }

 private:
  struct Types {
    std::vector<tenon_type> list;
    std::optional<Failure> failure;  // the graph does not accept the inputs
  };
  Types infer_branch(int branch, std::span<const tenon_type> data) const {
    try {
      return {branches[branch]->infer(data), {}};
    } catch (const Failure& failure) {
      return {{}, failure};
    }
  }
  static bool same_types(const std::vector<tenon_type>& left,
                         const std::vector<tenon_type>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const tenon_type& one, const tenon_type& other) {
                        return one.dtype == other.dtype && one.rank == other.rank &&
                               std::equal(one.dims, one.dims + std::max(one.rank, 0), other.dims);
                      });
  }
};

template <class Op>
void add_flow_operator(Host::Impl& host, const char* name, bool allocates = false) {
  const auto make = internal::factory_of<Op>([&host] {
    Op op;
    op.host = &host;
    return op;
  });
  host.plugin_set.add_builtin(std::as_bytes(std::span(std::string_view(manifest_of<Op>(name)))),
                              table_of<Op>(), make, allocates);
}

}  // namespace tenon
