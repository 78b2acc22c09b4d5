// A graph as shared by its handle, its clones and its sessions.
#pragma once
#include <mutex>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor.hpp>
#include <utility>
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
  const std::vector<Tensor>& of(const GraphModel& model) const {
    std::call_once(converted_, [&] {
      std::vector<Tensor> tensors(model.values.size());
      for (ValueId id = 0; id < tensors.size(); ++id) {
        if (model.values[id].tensor == none) continue;
        const auto& tensor = model.tensors[model.values[id].tensor];
        tensors[id] =
            tensor.storage() == Storage::dense ? tensor : cast_storage(tensor, tensor.storage());
      }
      tensors_ = std::move(tensors);
    });
    return tensors_;
  }

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
