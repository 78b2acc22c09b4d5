// A value of a model during import.
#pragma once
#include <string_view>
#include <tenon/host/tensor.hpp>

#include "graph/model.hpp"

namespace tenon::onnx {

/// A value of the graph under construction, elements that no node has needed yet, or both. Cheap to
/// copy.
struct Operand {
  ValueId value = none;
  Tensor elements{};               ///< set if they are known and small, or of an initializer
  std::string_view initializer{};  ///< name of the initializer, which the graph's value gets

  bool empty() const { return value == none && !elements; }
  bool known() const { return static_cast<bool>(elements); }
};

}  // namespace tenon::onnx
