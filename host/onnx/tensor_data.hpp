// Reads the elements of an ONNX model's tensors.
#pragma once
#include <tenon/host/tensor.hpp>

#include "onnx/external_data.hpp"
#include "onnx/model.hpp"

namespace tenon::onnx {

/// Aligned elements are used in place, in the model's file or in mapped external data files; others
/// are copied, and copies are charged to the model's budget. The tensors keep the files alive, may
/// be written to (no file changes), and share no bytes with each other. BackingFiles tracks the
/// mapped files and detects changes to them.
class TensorReader {
 public:
  /// The model must outlive this. `trust_links`: see open_beneath().
  explicit TensorReader(const Model& model, bool trust_links = false)
      : model_(model), files_(model.path, trust_links) {}

  /// Throws Failure (file) naming the tensor for element types that Tenon does not support
  /// (strings and 6-bit floats), more than 8 dimensions, numbers out of range for the element type,
  /// and files that may not be read. `name` is used in messages if the tensor has no name.
  Tensor read(const proto::Tensor& tensor, std::string_view name = {});
  /// Returns a csr matrix; sparse tensors of other ranks are rejected.
  Tensor read(const proto::SparseTensor& tensor, std::string_view name = {});

 private:
  struct SourceTensor;
  Tensor typed(const SourceTensor& source);
  Tensor typed_bytes(const SourceTensor& source);
  Tensor external(const SourceTensor& source);
  Tensor at(const SourceTensor& source, std::byte* bytes, const std::shared_ptr<const void>& owner,
            bool lent);
  Tensor empty(const SourceTensor& source);

  const Model& model_;
  ExternalFiles files_;
};

}  // namespace tenon::onnx
