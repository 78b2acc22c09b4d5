// Shared by the importers of ai.onnx.ml: rows, lists of numbers as tensors, transforms of scores.
#pragma once
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

constexpr const char* ml_domain = "ai.onnx.ml";

/// Input 0 as a matrix: a vector is one row. Integers become float32, and so does float64 unless
/// `keep_double`.
Operand rows_of(NodeImport& node, bool keep_double = false);

/// A list of integers; null if the node has none.
const List<std::int64_t>* integers_of(NodeImport& node, std::string_view name);
/// A list of floating-point numbers: the attribute, or that of the same name and `_as_tensor`.
/// Empty if the node has neither. Error if it has both.
Tensor numbers_of(NodeImport& node, const std::string& name, DType dtype);
Tensor tensor_of(const List<std::int64_t>& list);

/// Labels of a classifier's classes: integers, or texts, which the classifier's operator gets as
/// their positions.
class ClassLabels {
 public:
  /// `integers`: the attribute with the integers; texts are those of 'classlabels_strings'. Error
  /// if the node has both, or a single text.
  ClassLabels(NodeImport& node, std::string_view integers);
  const Tensor& elements() const { return elements_; }  ///< int64 [classes]
  bool are_texts() const { return names_ != nullptr; }
  /// Makes `label` the node's output 0.
  void output(NodeImport& node, Operand label) const;

 private:
  Tensor elements_;
  std::vector<std::int64_t> indices_;  // of texts, in names_
  SharedNames names_;
};

/// ONNX's post_transform as a parameter.
std::string transform_of(NodeImport& node);

}  // namespace tenon::onnx
