#include "matmul.hpp"
#include "products_on_device.hpp"
#include "sparse_matmul_on_device.hpp"

/// `bf16`: products of dense f32 tensors round their factors to bfloat16. Dense products run
/// asynchronously on the stream; sparse kernels wait for sizes, and cannot be captured in CUDA
/// graphs.
template <bool bf16>
struct MatmulOnDevice : MatmulShapes {
  static constexpr bool capturable = true;
  /// Complex products run on the CPU only.
  bool supports(const tenon::Infer& types) const {
    return tenon::floating.has(types.input(0).dtype);
  }

  std::size_t workspace(const tenon::Infer&) const { return device_gemm::workspace_bytes; }
  std::size_t backward_workspace(const tenon::Infer&) const { return device_gemm::workspace_bytes; }

  void forward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    call.input_type(0).dtype == tenon::f64 ? multiply<double>(call) : multiply<float>(call);
  }
  void backward(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? gradients<double>(call) : gradients<float>(call);
  }
  void forward_sparse(const tenon::Call& call) {
    if (call.write(0) == tenon::Write::none) return;
    call.input_type(0).dtype == tenon::f64 ? sparse_product<double>(call).forward()
                                           : sparse_product<float>(call).forward();
  }
  void backward_sparse(const tenon::Call& call) {
    call.input_type(0).dtype == tenon::f64 ? sparse_gradients<double>(call)
                                           : sparse_gradients<float>(call);
  }

 private:
  template <class T>
  void multiply(const tenon::Call& call) const {
    with_operands<T>(call, [&](const Operands<T>& operands, const Members& members) {
      const auto count = static_cast<std::int64_t>(members.product.size());
      batch::sum_products_on_device<T>(
          call,
          {call.output<T>(0).data(), count, operands.rows, operands.columns,
           call.write(0) == tenon::Write::add, bf16},
          operands.inner, batch::terms(members.product, members.a, members.b),
          batch::device_matrices(operands.a, operands.rows, operands.inner, transpose_a),
          batch::device_matrices(operands.b, operands.inner, operands.columns, transpose_b));
    });
  }

  template <class T>
  void gradients(const tenon::Call& call) const {
    with_operands<T>(call, [&](const Operands<T>& operands, const Members& members) {
      gradient_a(call, operands, members);
      gradient_b(call, operands, members);
    });
  }

  /// da = dy * b^T, or its transpose if a is transposed.
  template <class T>
  void gradient_a(const tenon::Call& call, const Operands<T>& operands,
                  const Members& members) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto dy = batch::device_matrices(call.output_grad<T>(0).data(), operands.rows,
                                           operands.columns, false);
    const auto b =
        batch::device_matrices(operands.b, operands.inner, operands.columns, transpose_b);
    T* const da = call.input_grad<T>(0).data();
    const bool add = call.write(0) == tenon::Write::add;
    if (transpose_a)
      batch::sum_products_on_device<T>(
          call, {da, operands.count_a, operands.inner, operands.rows, add, bf16}, operands.columns,
          batch::terms(members.a, members.b, members.product), b, dy.transpose());
    else
      batch::sum_products_on_device<T>(
          call, {da, operands.count_a, operands.rows, operands.inner, add, bf16}, operands.columns,
          batch::terms(members.a, members.product, members.b), dy, b.transpose());
  }

  /// db = a^T * dy, or its transpose if b is transposed.
  template <class T>
  void gradient_b(const tenon::Call& call, const Operands<T>& operands,
                  const Members& members) const {
    if (call.write(1) == tenon::Write::none) return;
    const auto dy = batch::device_matrices(call.output_grad<T>(0).data(), operands.rows,
                                           operands.columns, false);
    const auto a = batch::device_matrices(operands.a, operands.rows, operands.inner, transpose_a);
    T* const db = call.input_grad<T>(1).data();
    const bool add = call.write(1) == tenon::Write::add;
    if (transpose_b)
      batch::sum_products_on_device<T>(
          call, {db, operands.count_b, operands.columns, operands.inner, add, bf16}, operands.rows,
          batch::terms(members.b, members.product, members.a), dy.transpose(), a);
    else
      batch::sum_products_on_device<T>(
          call, {db, operands.count_b, operands.inner, operands.columns, add, bf16}, operands.rows,
          batch::terms(members.b, members.a, members.product), a.transpose(), dy);
  }

  template <class T>
  sparse::MatmulOnDevice<T> sparse_product(const tenon::Call& call) {
    return {
        call, call.storage(0) == tenon::Storage::csr ? 0 : 1, {transpose_a, transpose_b}, library_};
  }

  template <class T>
  void sparse_gradients(const tenon::Call& call) {
    const int csr = call.storage(0) == tenon::Storage::csr ? 0 : 1;
    if (call.write(1 - csr) != tenon::Write::none) sparse_product<T>(call).operand_gradient();
    with_operands<T>(call, [&](const Operands<T>& operands, const Members& members) {
      csr == 0 ? gradient_a(call, operands, members) : gradient_b(call, operands, members);
    });
  }

  device_spmm::Library library_;
};

struct MatmulCuda : MatmulOnDevice<false> {};
TENON_KERNEL(matmul, cuda, MatmulCuda)

struct MatmulCudaInBf16 : MatmulOnDevice<true> {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const {
    return types.precision() == tenon::bf16 && types.input(0).dtype == tenon::f32;
  }
};
TENON_KERNEL_VARIANT(matmul, cuda, MatmulCudaInBf16)
