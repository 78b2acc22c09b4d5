// Elements of an ONNX model's tensors.
#pragma once
#include <tenon/host/tensor.hpp>

#include "onnx/external_data.hpp"
#include "onnx/model.hpp"

namespace tenon::onnx {

/// Elements stay where they are, in the model's file or in mapped files beside it, if they are aligned; others are copied. The tensors keep
/// the files alive, may be written (no file changes), and share no bytes with each other. Those in mapped files are found by BackingFiles,
/// which tells whether they changed. What is copied is charged to the model's budget.
class TensorReader {
 public:
  /// The model must outlive this. `trust_links`: as of open_beneath.
  explicit TensorReader(const Model& model, bool trust_links = false) : model_(model), files_(model.path, trust_links) {}

  /// Throws Failure (file) that names the tensor: element types that Tenon has not (strings, 8-bit floats, 4 and 2 bits), more than 8
  /// dimensions, numbers that the element type cannot hold, files that may not be read. `name`: for messages, where it has none.
  Tensor read(const proto::Tensor& tensor, std::string_view name = {});
  /// csr, of a matrix; others are refused.
  Tensor read(const proto::SparseTensor& tensor, std::string_view name = {});

 private:
  struct Whose;
  Tensor typed(const Whose& whose);
  Tensor external(const Whose& whose);
  Tensor at(const Whose& whose, std::byte* bytes, const std::shared_ptr<const void>& owner, bool lent);
  Tensor empty(const Whose& whose);

  const Model& model_;
  ExternalFiles files_;
};

}  // namespace tenon::onnx
