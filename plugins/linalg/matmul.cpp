// numpy.matmul and its gradient on the CPU. All products of the batch are split into tiles, which
// the host's threads share. One of the two sides may be csr.
#include "matmul.hpp"

#include <string>

#include "../shared/product/multiply_bf16.hpp"
#include "complex_products.hpp"
#include "products.hpp"
#include "sparse_matmul.hpp"

/// `Arithmetic`: precision of f32 products.
template <class Arithmetic>
struct MatmulIn : MatmulShapes {
  /// Packs the matrices of a constant b; only for f32.
  void prepare(tenon::Prepare& io) const {
    if (io.raw().dispatch != TENON_FORWARD || io.input("b").dtype != tenon::f32 ||
        !io.is_constant("b"))
      return;
    const auto shape = oriented(io.input("b").shape, transpose_b);
    if (shape.rank() < 2 || shape[-1] == 1 || shape.size() == 0) return;
    const auto sizes = sizes_of(io.input("a").shape, io.input("b").shape);
    const auto count = sizes.count_b, depth = sizes.inner, columns = sizes.columns;
    const Arithmetic arithmetic({sizes.rows, columns, depth});
    const auto size = arithmetic.packed_size();
    const auto key = tenon::join(arithmetic.packing(), " of ", count, " x ", depth, " x ", columns,
                                 transpose_b ? ", transposed" : "");
    using Packed = typename Arithmetic::Packed;
    io.prepack(0, "b", key, sizeof(Packed) * static_cast<std::size_t>(count * size),
               [&](void* memory) {
                 const auto matrices =
                     batch::matrices(io.constant<float>("b").data(), depth, columns, transpose_b);
                 for (std::int64_t i = 0; i < count; ++i)
                   arithmetic.pack(matrices[i], static_cast<Packed*>(memory) + i * size);
               });
  }

  std::string algorithm(const tenon::Infer& io) const {
    const auto operands = sizes_of(io.input("a").shape, io.input("b").shape);
    return algorithm_of(io, {operands.rows, operands.columns, operands.inner});
  }
  std::string backward_algorithm(const tenon::Infer& io) const {
    const auto operands = sizes_of(io.input("a").shape, io.input("b").shape);
    const product::Size a{operands.rows, operands.inner, operands.columns},
        b{operands.inner, operands.columns, operands.rows};
    const auto swapped = [](const product::Size& size) {
      return product::Size{size.columns, size.rows, size.depth};
    };
    return "for a " + algorithm_of(io, transpose_a ? swapped(a) : a) + "; for b " +
           algorithm_of(io, transpose_b ? swapped(b) : b);
  }

  void forward(const tenon::Call& call) const {
    if (tenon::any_complex.has(call.input_type(0).dtype)) return complex_forward(call);
    call.input_type(0).dtype == tenon::f64 ? run<double>(call, &MatmulIn::template multiply<double>)
                                           : run<float>(call, &MatmulIn::template multiply<float>);
  }

  void backward(const tenon::Call& call) const {
    if (tenon::any_complex.has(call.input_type(0).dtype)) return complex_backward(call);
    call.input_type(0).dtype == tenon::f64
        ? run<double>(call, &MatmulIn::template gradients<double>)
        : run<float>(call, &MatmulIn::template gradients<float>);
  }

  void forward_sparse(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? multiply_sparse<double>(call)
                                           : multiply_sparse<float>(call);
  }

  void backward_sparse(const tenon::Call& call) const {
    call.input_type(0).dtype == tenon::f64 ? sparse_gradients<double>(call)
                                           : sparse_gradients<float>(call);
  }

 private:
  /// The algorithm that sum_products() uses for an unpacked dense product; packed ones have several
  /// columns.
  static std::string algorithm_of(const tenon::Infer& io, product::Size size) {
    const auto dtype = io.input("a").dtype;
    const auto& operands = product::choose_operands({dtype == tenon::f32, size, false});
    const bool swapped = operands.algorithm == product::OperandOrder::swapped;
    if (swapped) size = {1, size.rows, size.depth};
    const auto& chosen =
        product::choose(product::multiplies_of(dtype, Arithmetic::multiplies), size);
    return (swapped ? choice::text_of(operands) + "; " : std::string()) + choice::text_of(chosen);
  }

  /// Calls body(a, b, operands, members), with a and b in the orientation of the product.
  template <class Body>
  void with_complex(const tenon::Call& call, Body body) const {
    tenon::visit<tenon::any_complex>(call.input_type(0).dtype, [&]<class T>() {
      with_operands<T>(call, [&](const Operands<T>& operands, const Members& members) {
        using Matrices = complex_products::Matrices<T>;
        body(Matrices{operands.a, operands.rows, operands.inner, transpose_a},
             Matrices{operands.b, operands.inner, operands.columns, transpose_b}, operands,
             members);
      });
    });
  }

  void complex_forward(const tenon::Call& call) const {
    with_complex(call, [&]<class T>(const complex_products::Matrices<T>& a, const auto& b,
                                    const auto&, const Members& members) {
      sum_products(call, call.output<T>(0).data(),
                   static_cast<std::int64_t>(members.product.size()),
                   batch::terms(members.product, members.a, members.b), a, b, call.write(0));
    });
  }

  void complex_backward(const tenon::Call& call) const {
    with_complex(call, [&]<class T>(const complex_products::Matrices<T>& a, const auto& b,
                                    const auto& operands, const Members& members) {
      const complex_products::Matrices<T> dy{call.output_grad<T>(0).data(), operands.rows,
                                             operands.columns, false};
      if (call.write(0) != tenon::Write::none) {
        T* const da = call.input_grad<T>(0).data();
        if (transpose_a)  // da^T = conj(b) * dy^T
          sum_products(call, da, operands.count_a,
                       batch::terms(members.a, members.b, members.product), b.adjoint().transpose(),
                       dy.transpose(), call.write(0));
        else
          sum_products(call, da, operands.count_a,
                       batch::terms(members.a, members.product, members.b), dy, b.adjoint(),
                       call.write(0));
      }
      if (call.write(1) != tenon::Write::none) {
        T* const db = call.input_grad<T>(1).data();
        if (transpose_b)  // db^T = dy^T * conj(a)
          sum_products(call, db, operands.count_b,
                       batch::terms(members.b, members.product, members.a), dy.transpose(),
                       a.adjoint().transpose(), call.write(1));
        else
          sum_products(call, db, operands.count_b,
                       batch::terms(members.b, members.a, members.product), a.adjoint(), dy,
                       call.write(1));
      }
    });
  }

  template <class T>
  void run(const tenon::Call& call, void (MatmulIn::*body)(const tenon::Call&, const Operands<T>&,
                                                           const Members&) const) const {
    with_operands<T>(call, [&](const Operands<T>& operands, const Members& members) {
      (this->*body)(call, operands, members);
    });
  }

  template <class T>
  void multiply(const tenon::Call& call, const Operands<T>& operands,
                const Members& members) const {
    const auto count = static_cast<std::int64_t>(members.product.size());
    batch::sum_products<Arithmetic>(
        call, {call.output<T>(0).data(), count, operands.rows, operands.columns, call.write(0)},
        operands.inner, batch::terms(members.product, members.a, members.b),
        batch::matrices(operands.a, operands.rows, operands.inner, transpose_a),
        batch::matrices(operands.b, operands.inner, operands.columns, transpose_b),
        static_cast<const typename Arithmetic::Packed*>(call.prepacked(0)));
  }

  template <class T>
  void gradients(const tenon::Call& call, const Operands<T>& operands,
                 const Members& members) const {
    gradient_a(call, operands, members);
    gradient_b(call, operands, members);
  }

  /// da = dy * b^T, or its transpose if a is transposed.
  template <class T>
  void gradient_a(const tenon::Call& call, const Operands<T>& operands,
                  const Members& members) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto dy =
        batch::matrices(call.output_grad<T>(0).data(), operands.rows, operands.columns, false);
    const auto b = batch::matrices(operands.b, operands.inner, operands.columns, transpose_b);
    const auto da = call.input_grad<T>(0).data();
    if (transpose_a)
      batch::sum_products<Arithmetic>(
          call, {da, operands.count_a, operands.inner, operands.rows, call.write(0)},
          operands.columns, batch::terms(members.a, members.b, members.product), b, dy.transpose());
    else
      batch::sum_products<Arithmetic>(
          call, {da, operands.count_a, operands.rows, operands.inner, call.write(0)},
          operands.columns, batch::terms(members.a, members.product, members.b), dy, b.transpose());
  }

  /// db = a^T * dy, or its transpose if b is transposed.
  template <class T>
  void gradient_b(const tenon::Call& call, const Operands<T>& operands,
                  const Members& members) const {
    if (call.write(1) == tenon::Write::none) return;
    const auto dy =
        batch::matrices(call.output_grad<T>(0).data(), operands.rows, operands.columns, false);
    const auto a = batch::matrices(operands.a, operands.rows, operands.inner, transpose_a);
    const auto db = call.input_grad<T>(1).data();
    if (transpose_b)
      batch::sum_products<Arithmetic>(
          call, {db, operands.count_b, operands.columns, operands.inner, call.write(1)},
          operands.rows, batch::terms(members.b, members.product, members.a), dy.transpose(), a);
    else
      batch::sum_products<Arithmetic>(
          call, {db, operands.count_b, operands.inner, operands.columns, call.write(1)},
          operands.rows, batch::terms(members.b, members.a, members.product), a.transpose(), dy);
  }

  template <class T>
  sparse::Matmul<T> sparse_product(const tenon::Call& call) const {
    return {call, call.storage(0) == tenon::Storage::csr ? 0 : 1, {transpose_a, transpose_b}};
  }

  template <class T>
  void multiply_sparse(const tenon::Call& call) const {
    if (call.write(0) != tenon::Write::none) sparse_product<T>(call).forward();
  }

  template <class T>
  void sparse_gradients(const tenon::Call& call) const {
    const int csr = call.storage(0) == tenon::Storage::csr ? 0 : 1;
    if (call.write(1 - csr) != tenon::Write::none) sparse_product<T>(call).operand_gradient();
    if (csr == 0)
      run<T>(call, &MatmulIn::template gradient_a<T>);
    else
      run<T>(call, &MatmulIn::template gradient_b<T>);
  }
};

struct Matmul : MatmulIn<product::F32Arithmetic> {};
TENON_OPERATOR(matmul, Matmul)

#if defined(TENON_WIDE_LEVELS)
struct MatmulInBf16 : MatmulIn<product::bf16::Bf16Arithmetic> {
  static constexpr int priority = 1;
  bool supports(const tenon::Infer& types) const {
    return product::bf16::Bf16Arithmetic::supports(types);
  }
};
TENON_KERNEL_VARIANT(matmul, cpu, MatmulInBf16)
#endif
