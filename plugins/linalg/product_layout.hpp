// Memory layout of products of a csr and a dense matrix.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

namespace sparse {

/// A strided dense matrix: element (i, j) is data[i * row + j * column].
template <class T>
struct Dense {
  T* data;
  std::int64_t row, column;
};

/// Expresses both cases as rows * operand = product, where `rows` is the csr side. If that is b,
/// everything is transposed.
template <class T>
class ProductLayout {
 public:
  /// `side`: 0 if a is csr, 1 if b is. `transpose`: whether a and b are transposed.
  ProductLayout(const tenon::Call& call, int side, const bool (&transpose)[2])
      : matrix_(call.csr<T>(side)),
        right_(side == 1),
        transposed_(transpose[side] != right_),
        operand_transposed_(transpose[1 - side] != right_) {
    const auto shape = call.input_type(1 - side).shape;
    const bool vector = shape.rank() == 1;
    const auto rows = vector ? (right_ ? 1 : shape[0]) : shape[-2];
    operand_row_ = vector ? (right_ ? shape[0] : 1) : shape[-1];
    columns_ = operand_transposed_ ? rows : operand_row_;
    for (int axis = 0; axis < shape.rank() - 2; ++axis) count_ *= shape[axis];
    if (right_ &&
        operand_transposed_) {  // one csr matrix for all products: the batch adds rows to a
      columns_ *= count_;
      count_ = 1;
    }
    product_row_ = right_ ? (transposed_ ? matrix_.columns : matrix_.rows) : columns_;
  }

 protected:
  /// Strides of a matrix in elements, between rows and between columns.
  struct Layout {
    std::int64_t row, column;

    template <class Element>
    Dense<Element> at(Element* data) const {
      return {data, row, column};
    }
  };
  static Layout layout(std::int64_t row, bool transposed) {
    return transposed ? Layout{1, row} : Layout{row, 1};
  }
  Layout operand_view() const { return layout(operand_row_, operand_transposed_); }
  Layout product_view() const { return layout(product_row_, right_); }

  tenon::Csr<const T> matrix_;
  bool right_, transposed_, operand_transposed_;
  std::int64_t operand_row_ = 1, product_row_ = 1, columns_ = 1, count_ = 1;
};

}  // namespace sparse
