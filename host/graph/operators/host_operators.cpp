#include "graph/operators/host_operators.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <tenon/detail/host_operators.hpp>
#include <tenon/elementwise.hpp>
#include <tenon/host/cast_storage.hpp>
#include <tenon/operator.hpp>
#include <vector>

#include "tensor/number_fits.hpp"
#include "tensor/sparse/storage_kernels.hpp"

namespace tenon {
namespace {

template <class T>
void copy(const T* from, T* to, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

struct CastStorage : detail::CastStorage {
  void infer(Infer& io) const {
    const auto shape = io.input(0).shape;
    io.set_output(0, shape);
    io.set_input(0, io.output(0).shape);
    if (shape.has_rank()) {
      io.require(storage != Storage::csr || shape.rank() == 2, "csr needs two dimensions");
      io.require(storage != Storage::row_sparse || shape.rank() > 0,
                 "row_sparse needs at least one dimension");
    }
  }

  void forward(const Call& call) const {
    visit<every_type>(call.input_type(0).dtype, [&]<class T>() {
      const auto from = call.input<T>(0);
      auto to = call.output<T>(0);
      std::copy(from.begin(), from.end(), to.begin());
    });
  }
  void forward_sparse(const Call& call) const {
    const auto from = call.storage(0);
    visit<every_type>(call.input_type(0).dtype, [&]<class T>() {
      if (storage == Storage::dense) return to_dense<T>(call);
      if (from == Storage::dense) return from_dense<T>(call);
      write<T>(call, cast_storage(Tensor::borrow(*call.raw().inputs[0]), storage));
    });
  }

  // The gradient of each element passes through unchanged.
  void gradient(Gradient& g) const { g.set_input_grad(0, g.output_grad(0)); }

 private:
  static auto parallel_for_of(const Call& call) {
    return [&call](std::int64_t count, std::int64_t grain, auto&& work) {
      call.parallel_for(count, grain, work);
    };
  }
  template <class T>
  static void to_dense(const Call& call) {
    auto* const to = call.output<T>(0).data();
    if (call.storage(0) == Storage::csr)
      casts::dense_from_csr(call.csr<T>(0), to, parallel_for_of(call));
    else
      casts::dense_from_rows(call.row_sparse<T>(0), to, parallel_for_of(call));
  }
  template <class T>
  void from_dense(const Call& call) const {
    const auto from = call.input<T>(0);
    const auto rows = from.dim(0), size = rows == 0 ? 0 : from.size() / rows;
    if (storage == Storage::csr)
      casts::csr_from_dense(from.data(), rows, size, parallel_for_of(call),
                            [&](std::int64_t count) { return call.allocate_csr<T>(0, count); });
    else
      casts::rows_from_dense(
          from.data(), rows, size, parallel_for_of(call),
          [&](std::int64_t count) { return call.allocate_row_sparse<T>(0, count); });
  }
  template <class T>
  static void write(const Call& call, const Tensor& result) {
    const auto values = result.stored_values();
    if (result.storage() == Storage::csr) {
      const auto out = call.allocate_csr<T>(0, result.stored());
      copy(values.data<T>(), out.values, values.size());
      copy(result.columns().data<std::int64_t>(), out.columns_of, result.stored());
      copy(result.row_starts().data<std::int64_t>(), out.row_starts, result.row_starts().size());
    } else {
      const auto out = call.allocate_row_sparse<T>(0, result.stored());
      copy(values.data<T>(), out.values, values.size());
      copy(result.row_ids().data<std::int64_t>(), out.row_ids, result.stored());
    }
  }
};

}  // namespace

void add_storage_operators(PluginSet& plugins) {
  const auto manifest = manifest_of<CastStorage>("cast_storage");
  plugins.add_builtin(std::as_bytes(std::span(manifest)), table_of<CastStorage>());
}

namespace {

struct SumGradients : detail::SumGradients {
  static constexpr bool blockwise = true;

  void forward(const Call& call) const {
    visit<floating + any_complex>(call.output_type(0).dtype, [&]<class T>() {
      const auto* left = call.input<T>(0).data();
      const auto* right = call.input<T>(1).data();
      auto* sum = call.output<T>(0).data();
      call.parallel_for(call.output<T>(0).size(), 16384, [=](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) sum[i] = static_cast<T>(left[i] + right[i]);
      });
    });
  }
  void forward_sparse(const Call& call) const {
    visit<floating + any_complex>(call.input_type(0).dtype, [&]<class T>() { merge<T>(call); });
  }
  void gradient(Gradient& g) const {
    for (const int i : {0, 1}) g.set_input_grad(i, g.output_grad(0));
  }

 private:
  // Calls visit(output row, row in left or -1, row in right or -1) for each row ID of either.
  // Returns the number of rows.
  template <class T, class Visit>
  static std::int64_t each_row(const RowSparse<const T>& left, const RowSparse<const T>& right,
                               Visit&& visit) {
    std::int64_t count = 0;
    for (std::int64_t l = 0, r = 0; l < left.rows || r < right.rows; ++count) {
      const bool from_left =
          r >= right.rows || (l < left.rows && left.row_ids[l] <= right.row_ids[r]);
      const bool from_right =
          l >= left.rows || (r < right.rows && right.row_ids[r] <= left.row_ids[l]);
      visit(count, from_left ? l : -1, from_right ? r : -1);
      l += from_left ? 1 : 0;
      r += from_right ? 1 : 0;
    }
    return count;
  }
  template <class T>
  static void merge(const Call& call) {
    const auto left = call.row_sparse<T>(0), right = call.row_sparse<T>(1);
    const auto out = call.allocate_row_sparse<T>(0, each_row(left, right, [](auto...) {}));
    const auto size = left.row_size;
    each_row(left, right, [&](std::int64_t row, std::int64_t l, std::int64_t r) {
      out.row_ids[row] = l >= 0 ? left.row_ids[l] : right.row_ids[r];
      const auto* a = l >= 0 ? left.values + l * size : right.values + r * size;
      const auto* b = l >= 0 && r >= 0 ? right.values + r * size : nullptr;
      auto* sum = out.values + row * size;
      for (std::int64_t i = 0; i < size; ++i)
        sum[i] = b == nullptr ? a[i] : static_cast<T>(a[i] + b[i]);
    });
  }
};

struct FillLike : detail::FillLike {
  void forward(const Call& call) const {
    visit<floating + any_complex>(call.output_type(0).dtype, [&]<class T>() {
      const auto number = number_as<T>(value);
      for (auto& element : call.output<T>(0))
        element = call.write(0) == Write::add ? static_cast<T>(element + number) : number;
    });
  }
  void forward_sparse(const Call& call) const { forward(call); }
  void gradient(Gradient&) const {}  // the output does not depend on the elements of the input
};

struct InTraining : Operator {
  static constexpr void describe(auto& op) {
    op.doc("1 in training, otherwise 0");
    op.input("like", "any shape; flag has its dtype; its elements are not read");
    op.output("flag", "scalar of the dtype of like");
    op.example({{"like", {2, 3}}});
  }
  void infer(Infer& io) const { io.set_output(0, Shape::scalar()); }
  void forward(const Call& call) const {
    visit<floating>(call.output_type(0).dtype, [&]<class T>() {
      *call.output<T>(0).data() = static_cast<T>(call.training() ? 1.0f : 0.0f);
    });
  }
  void gradient(Gradient&) const {}  // the output does not depend on the elements of the input
};

struct MulGradients : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left * right, a gradient times a factor, element by element");
    op.input("left", "any shape");
    op.input("right", "a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.linear("left", "right");
  }
  template <class T>
  T operator()(T left, T right) const {
    return left * right;
  }
};

struct BroadcastLike : Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("data broadcast to the shape of like (torch.expand_as)");
    op.input("data", "a shape that broadcasts to that of like");
    op.input("like", "any shape; its elements are not read");
    op.output("output", "same shape as like");
  }
  template <class T>
  T operator()(T data, T) const {
    return data;
  }
  void gradient(Gradient& g) const {
    g.set_input_grad(0, g.sum_like(g.output_grad(0), g.input(0)));
  }
};

struct SumLike : Operator {
  static constexpr void describe(auto& op) {
    op.doc(
        "data summed to the shape of like, over the axes along which like broadcasts to data "
        "(torch.sum_to_size)");
    op.input("data", "any shape");
    op.input("like", "a shape that broadcasts to that of data; its elements are not read");
    op.output("output", "same shape as like");
    op.example({{"data", {2, 3}}, {"like", {3}}});
  }
  void infer(Infer& io) const { io.set_output(0, io.input(1).shape); }

  void forward(const Call& call) const {
    const auto from = call.input_type(0).shape, to = call.output_type(0).shape;
    visit<floating>(call.output_type(0).dtype, [&]<class T>() {
      std::vector<double> sums(static_cast<std::size_t>(call.output<T>(0).size()));
      std::array<std::int64_t, max_rank> position{};
      for (const T value : call.input<T>(0)) {
        sums[static_cast<std::size_t>(offset(from, to, position))] += static_cast<double>(value);
        for (int axis = from.rank();
             axis-- > 0 && ++position[static_cast<std::size_t>(axis)] == from[axis];)
          position[static_cast<std::size_t>(axis)] = 0;
      }
      std::transform(sums.begin(), sums.end(), call.output<T>(0).begin(),
                     [](double sum) { return static_cast<T>(sum); });
    });
  }
  void gradient(Gradient& g) const {
    g.set_input_grad(0, g.add("broadcast_like", {g.output_grad(0), g.input(0)}));
  }

 private:
  static std::int64_t offset(const Shape& from, const Shape& to,
                             const std::array<std::int64_t, max_rank>& position) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < to.rank(); ++axis) {
      const int wide = axis + from.rank() - to.rank();
      offset = offset * to[axis] + (to[axis] == 1 ? 0 : position[static_cast<std::size_t>(wide)]);
    }
    return offset;
  }
};

template <class Op>
void add(PluginSet& plugins, std::string_view name) {
  const auto manifest = manifest_of<Op>(name);
  plugins.add_builtin(std::as_bytes(std::span(manifest)), table_of<Op>());
}

}  // namespace

void add_gradient_operators(PluginSet& plugins) {
  add<SumGradients>(plugins, "sum_gradients");
  add<FillLike>(plugins, "fill_like");
  add<detail::StopGradient>(plugins, "stop_gradient");
  add<InTraining>(plugins, "in_training");
  add<MulGradients>(plugins, "mul_gradients");
  add<BroadcastLike>(plugins, "broadcast_like");
  add<SumLike>(plugins, "sum_like");
}

}  // namespace tenon
