// A value of a model while it is imported.
#pragma once
#include <string_view>
#include <tenon/host/tensor.hpp>

#include "graph/model.hpp"

namespace tenon::onnx {

/// Of the graph that is being built, or elements that no node of it has needed yet, or both. Cheap to copy.
struct Operand {
  ValueId value = none;
  Tensor elements{};               ///< where they are known and small, or of an initializer
  std::string_view initializer{};  ///< its name, where it is one: the graph's value has that name

  bool empty() const { return value == none && !elements; }
  bool known() const { return static_cast<bool>(elements); }
};

}  // namespace tenon::onnx
