// matmul where one side is csr and the other dense: forward, and the gradient of the dense side.
#pragma once
#include "sparse_product.hpp"

namespace sparse {

/// Both are computed as rows * operand = product, where rows stand for the csr side: where that is b, everything is transposed.
template <class T>
class Matmul {
 public:
  /// `side`: 0 where a is csr, 1 where b is. `transpose`: of a and of b.
  Matmul(const tenon::Call& call, int side, const bool (&transpose)[2])
      : call_(call),
        matrix_(call.csr<T>(side)),
        right_(side == 1),
        transposed_(transpose[side] != right_),
        operand_transposed_(transpose[1 - side] != right_) {
    const auto shape = call.input_type(1 - side).shape;
    const bool vector = shape.rank() == 1;
    const auto rows = vector ? (right_ ? 1 : shape[0]) : shape[-2];
    operand_row_ = vector ? (right_ ? shape[0] : 1) : shape[-1];
    columns_ = operand_transposed_ ? rows : operand_row_;
    for (int axis = 0; axis < shape.rank() - 2; ++axis) count_ *= shape[axis];
    if (right_ && operand_transposed_) {  // one csr matrix for all: the batch is just more rows of a
      columns_ *= count_;
      count_ = 1;
    }
    product_row_ = right_ ? (transposed_ ? matrix_.columns : matrix_.rows) : columns_;
  }

  void forward() const {
    const auto rows = rows_of(call_, matrix_, transposed_);
    const auto* const operand = call_.input<T>(right_ ? 0 : 1).data();
    run(rows, 0, [&](const Rows<T>& of, T* out, std::int64_t i) {
      multiply<T>(call_, of, operand_view(operand + i * of.inner * columns_), columns_, product_view(out));
    });
  }

  /// operand' = rows^T * product'
  void operand_gradient() const {
    const auto rows = rows_of(call_, matrix_, !transposed_);
    const auto* const product = call_.output_grad<T>(0).data();
    run(rows, right_ ? 0 : 1, [&](const Rows<T>& of, T* out, std::int64_t i) {
      multiply<T>(call_, of, product_view(product + i * of.inner * columns_), columns_, operand_view(out));
    });
  }

 private:
  template <class Element>
  Dense<Element> operand_view(Element* data) const {
    return dense(data, operand_row_, operand_transposed_);
  }
  template <class Element>
  Dense<Element> product_view(Element* data) const {
    return dense(data, product_row_, right_);
  }

  /// One product for each member of the batch. Of a row_sparse result the rows listed, all of them where its rows are a batch.
  template <class Body>
  void run(const Rows<T>& rows, int output, Body body) const {
    if (call_.output_storage(output) != tenon::Storage::row_sparse) {
      T* const out = call_.backward() ? call_.input_grad<T>(output).data() : call_.output<T>(output).data();
      for (std::int64_t i = 0; i < count_; ++i) body(rows, out + i * rows.total * columns_, i);
      return;
    }
    const auto shape = (call_.backward() ? call_.input_type(output) : call_.output_type(output)).shape;
    const bool batch = shape.rank() > 2;
    const auto listed = batch ? rows : compact(rows);
    const auto stored = batch ? shape[0] : rows.count();
    const auto out = call_.allocate_row_sparse<T>(output, stored);
    if (batch) {
      std::iota(out.row_ids, out.row_ids + stored, 0);
    } else {
      std::copy(rows.ids.begin(), rows.ids.end(), out.row_ids);
    }
    for (std::int64_t i = 0; i < count_; ++i) body(listed, out.values + i * listed.total * columns_, i);
  }

  const tenon::Call& call_;
  tenon::Csr<const T> matrix_;
  bool right_, transposed_, operand_transposed_;
  std::int64_t operand_row_ = 1, product_row_ = 1, columns_ = 1, count_ = 1;
};

}  // namespace sparse
