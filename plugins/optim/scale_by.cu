#include "scale_by.hpp"
#include "sum_on_device.hpp"

namespace {

template <class T, class Wide>
struct Scaled {
  const T* from;
  const float* factor;
  T* to;

  TENON_FN void operator()(std::int64_t i) const { to[i] = static_cast<T>(static_cast<Wide>(from[i]) * static_cast<Wide>(*factor)); }
};

template <class T>
struct Product {
  const T *left, *right;

  TENON_FN double operator()(std::int64_t i) const { return static_cast<double>(left[i]) * static_cast<double>(right[i]); }
};

struct PutNumber {
  float* to;

  TENON_FN void operator()(double number) const { *to = static_cast<float>(number); }
};

}  // namespace

struct ScaleByCuda : ScaleBy {
  static constexpr bool capturable = true;

  std::size_t backward_workspace(const tenon::Infer&) const { return sum_parts * sizeof(double); }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>("data");
      scale(call, data.data(), data.size(), call.output<T>(0).data());
    });
  }

  void forward_sparse(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      if (call.storage(0) == tenon::Storage::csr) return scale_csr<T>(call);
      const auto data = call.row_sparse<T>(0);
      const auto out = call.allocate_row_sparse<T>(0, data.rows);
      copy_indices(call, out.row_ids, data.row_ids, data.rows);
      scale(call, data.values, data.rows * data.row_size, out.values);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto dy = call.output_grad<T>(0);
      if (call.write(1) != tenon::Write::none) {  // first: the other one may overwrite dy
        double* const parts = call.workspace<double>(sum_parts);
        const auto count = sum_by_parts(call, dy.size(), Product<T>{call.input<T>("data").data(), dy.data()}, parts);
        put_sum(call, parts, count, PutNumber{call.input_grad<float>("factor").data()});
      }
      if (call.write(0) != tenon::Write::none) scale(call, dy.data(), dy.size(), call.input_grad<T>("data").data());
    });
  }

 private:
  static void copy_indices(const tenon::Call& call, std::int64_t* to, const std::int64_t* from, std::int64_t count) {
    tenon::gpu::copy(call, to, from, static_cast<std::size_t>(count) * sizeof(std::int64_t));
  }

  template <class T>
  static void scale_csr(const tenon::Call& call) {
    const auto data = call.csr<T>(0);
    const auto out = call.allocate_csr<T>(0, data.nnz);
    copy_indices(call, out.columns_of, data.columns_of, data.nnz);
    copy_indices(call, out.row_starts, data.row_starts, data.rows + 1);
    scale(call, data.values, data.nnz, out.values);
  }

  template <class T>
  static void scale(const tenon::Call& call, const T* from, std::int64_t size, T* to) {
    tenon::gpu::for_each(call, size, Scaled<T, Wide<T>>{from, call.input<float>("factor").data(), to});
  }
};
TENON_KERNEL(scale_by, cuda, ScaleByCuda)
