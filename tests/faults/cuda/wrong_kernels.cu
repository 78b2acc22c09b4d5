// CUDA kernels for twice x that are wrong, each in its own way, next to right CPU kernels; and a
// right one.
#include <tenon/gpu/launch.hpp>
#include <tenon/operator.hpp>

struct Twice : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("twice x");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.inplace("x", "y");
    op.backward_inplace("y", "x");
    op.accumulates();
    op.takes_strides();
  }
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      put(call.write(0), call.input<T>(0), call.output<T>(0));
    });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      put(call.write(0), call.output_grad<T>(0), call.input_grad<T>(0));
    });
  }

 private:
  template <class T>
  static void put(tenon::Write write, tenon::View<const T> from, tenon::View<T> to) {
    for (std::int64_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<T>(from[i] + from[i] + (write == tenon::Write::add ? to[i] : T(0)));
  }
};

enum class Fault {
  none,
  ignores_strides,
  ignores_add,
  ignores_add_in_backward,
  needs_alignment,
  stops_early,
  writes_before,
  writes_behind,
  wrong_in_double,
  wrong_for_negative,
  wrong_in_place,
  wrong_gradient,
  wrong_gradient_in_place
};

template <class T>
struct TwiceBody {
  const T* from;
  T* to;
  bool add;
  T factor, factor_of_negative;
  int rank;
  std::int64_t dims[tenon::max_rank], strides[tenon::max_rank];

  TENON_FN void operator()(std::int64_t i) const {
    std::int64_t place = 0, rest = i;
    for (int axis = rank; axis-- > 0; rest /= dims[axis])
      place += rest % dims[axis] * strides[axis];
    const T x = from[rank == 0 ? i : place];
    to[i] = (x < 0 ? factor_of_negative : factor) * x + (add ? to[i] : T(0));
  }
};

template <Fault fault>
struct TwiceCuda : Twice {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const bool wrong =
          (fault == Fault::wrong_in_double && sizeof(T) == 8) ||
          (fault == Fault::wrong_in_place && call.input<T>(0).data() == call.output<T>(0).data());
      launch<T>(call, call.input<T>(0), call.output<T>(0), fault == Fault::ignores_add,
                wrong ? T(2.001) : T(2), fault == Fault::wrong_for_negative ? T(1) : T(2));
    });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const bool in_place = call.output_grad<T>(0).data() == call.input_grad<T>(0).data();
      const T factor =
          fault == Fault::wrong_gradient || (fault == Fault::wrong_gradient_in_place && in_place)
              ? 1
              : 2;
      launch<T>(call, call.output_grad<T>(0), call.input_grad<T>(0),
                fault == Fault::ignores_add_in_backward, factor, factor);
    });
  }

 private:
  template <class T>
  static void launch(const tenon::Call& call, tenon::View<const T> from, tenon::View<T> to,
                     bool ignores_add, T factor, T factor_of_negative) {
    TwiceBody<T> body{from.data(),
                      to.data(),
                      call.write(0) == tenon::Write::add && !ignores_add,
                      factor,
                      factor_of_negative,
                      0,
                      {},
                      {}};
    if (fault == Fault::needs_alignment)
      body.from -= reinterpret_cast<std::uintptr_t>(body.from) % 64 / sizeof(T);
    if (!from.contiguous() && fault != Fault::ignores_strides) {
      body.rank = from.rank();
      for (int axis = 0; axis < from.rank(); ++axis) {
        body.dims[axis] = from.dim(axis);
        body.strides[axis] = from.stride(axis);
      }
    }
    auto count = to.size();
    if (fault == Fault::stops_early)
      count = count / 256 * 256 + (count < 256 ? count : 0);  // one block too few
    if (fault == Fault::writes_before && count > 0) --body.to;
    if (fault == Fault::writes_behind && count > 0) ++count;
    tenon::gpu::for_each(call, count, body);
  }
};

// Same for csr: the stored values change, their positions stay.
struct TwiceOfCsr : Twice {
  void infer_storage(tenon::InferStorage& io) const {
    if (io.input(0) != tenon::Storage::csr) return;
    io.set_output(0, tenon::Storage::csr);
    io.sparse_kernel();
  }
  void forward_sparse(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto y = call.allocate_csr<T>(0, x.nnz);
      for (std::int64_t row = 0; row <= x.rows; ++row) y.row_starts[row] = x.row_starts[row];
      for (std::int64_t i = 0; i < x.nnz; ++i) {
        y.columns_of[i] = x.columns_of[i];
        y.values[i] = x.values[i] + x.values[i];
      }
    });
  }
};

struct TwiceOfCsrCuda : TwiceOfCsr {
  void forward(const tenon::Call& call) const { TwiceCuda<Fault::none>().forward(call); }
  void backward(const tenon::Call& call) const { TwiceCuda<Fault::none>().backward(call); }
  void forward_sparse(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.csr<T>(0);
      const auto y = call.allocate_csr<T>(0, x.nnz);
      const auto copy = [&](void* to, const void* from, std::int64_t count, std::size_t size) {
        tenon::gpu::copy(call, to, from, static_cast<std::size_t>(count) * size);
      };
      copy(y.row_starts, x.row_starts, x.rows + 1, sizeof(std::int64_t));
      copy(y.columns_of, x.columns_of, x.nnz, sizeof(std::int64_t));
      copy(y.values, x.values, x.nnz, sizeof(T));  // x instead of twice x
    });
  }
};

TENON_OPERATOR(twice, Twice)
TENON_OPERATOR(ignores_strides, Twice)
TENON_OPERATOR(ignores_add, Twice)
TENON_OPERATOR(needs_alignment, Twice)
TENON_OPERATOR(stops_early, Twice)
TENON_OPERATOR(writes_before, Twice)
TENON_OPERATOR(writes_behind, Twice)
TENON_OPERATOR(wrong_in_double, Twice)
TENON_OPERATOR(wrong_gradient_there, Twice)
TENON_OPERATOR(ignores_add_in_backward, Twice)
TENON_OPERATOR(wrong_for_negative_there, Twice)
TENON_OPERATOR(wrong_in_place_there, Twice)
TENON_OPERATOR(wrong_gradient_in_place, Twice)
TENON_OPERATOR(wrong_csr, TwiceOfCsr)
TENON_KERNEL(wrong_csr, cuda, TwiceOfCsrCuda)
TENON_KERNEL(twice, cuda, TwiceCuda<Fault::none>)
TENON_KERNEL(ignores_strides, cuda, TwiceCuda<Fault::ignores_strides>)
TENON_KERNEL(ignores_add, cuda, TwiceCuda<Fault::ignores_add>)
TENON_KERNEL(needs_alignment, cuda, TwiceCuda<Fault::needs_alignment>)
TENON_KERNEL(stops_early, cuda, TwiceCuda<Fault::stops_early>)
TENON_KERNEL(writes_before, cuda, TwiceCuda<Fault::writes_before>)
TENON_KERNEL(writes_behind, cuda, TwiceCuda<Fault::writes_behind>)
TENON_KERNEL(wrong_in_double, cuda, TwiceCuda<Fault::wrong_in_double>)
TENON_KERNEL(wrong_gradient_there, cuda, TwiceCuda<Fault::wrong_gradient>)
TENON_KERNEL(ignores_add_in_backward, cuda, TwiceCuda<Fault::ignores_add_in_backward>)
TENON_KERNEL(wrong_for_negative_there, cuda, TwiceCuda<Fault::wrong_for_negative>)
TENON_KERNEL(wrong_in_place_there, cuda, TwiceCuda<Fault::wrong_in_place>)
TENON_KERNEL(wrong_gradient_in_place, cuda, TwiceCuda<Fault::wrong_gradient_in_place>)
