// A graph as shared by its handle, its clones and its sessions.
#pragma once
#include <mutex>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "graph/binding.hpp"
#include "graph/model.hpp"

namespace tenon {

/// A graph's tensors in the form that kernels read, with int64 indices; converted once for all
/// sessions. Thread-safe.
class KernelTensors {
 public:
  KernelTensors() = default;
  KernelTensors(const KernelTensors&) {}  // a copied graph is about to be edited
  KernelTensors& operator=(const KernelTensors&) = delete;

  /// Indexed by value; empty for values without elements. Pass the same `model` every time.
  const std::vector<Tensor>& of(const GraphModel& model) const;

 private:
  mutable std::once_flag converted_;
  mutable std::vector<Tensor> tensors_;
};

/// Whether inference has nothing to add to the types of the graph's values.
struct InferenceComplete {
  InferenceComplete() = default;
  InferenceComplete(const InferenceComplete&) {}  // a copied graph is about to be edited
  InferenceComplete& operator=(const InferenceComplete&) = delete;
  bool value = false;
};

/// Read-only once shared; a graph that is edited continues with its own copy.
struct GraphSnapshot {
  GraphModel model;
  Binding binding;
  KernelTensors tensors{};
  InferenceComplete inference_complete{};
};

}  // namespace tenon
