// A graph as shared by its handle, its clones and its sessions.
#pragma once
#include <mutex>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/tensor.hpp>
#include <utility>
#include <vector>

#include "graph/binding.hpp"
#include "graph/model.hpp"
#include "tensor/read_constants.hpp"

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

/// The constants of a graph whose nodes are not bound yet that may have determined the types in its
/// file, as they were before the application could write to them. Thread-safe.
class ExposedConstants {
 public:
  ExposedConstants() = default;
  ExposedConstants(const ExposedConstants& other) : constants_(other.all()) {}
  ExposedConstants& operator=(const ExposedConstants&) = delete;

  template <class... Arguments>
  void add(Arguments&&... arguments) const {
    const std::lock_guard lock(mutex_);
    constants_.add(std::forward<Arguments>(arguments)...);
  }
  ReadConstants all() const {
    const std::lock_guard lock(mutex_);
    return constants_;
  }

 private:
  mutable std::mutex mutex_;
  mutable ReadConstants constants_;
};

/// Read-only once shared; a graph that is edited continues with its own copy.
struct GraphSnapshot {
  GraphModel model;
  Binding binding;
  KernelTensors tensors{};
  InferenceComplete inference_complete{};
  ExposedConstants exposed{};

  bool is_bound() const { return binding.nodes.size() == model.nodes.size(); }
  /// Whether types follow from the present elements of constants.
  bool is_up_to_date() const {
    return (is_bound() ? model.inferred_from.find_changed() : exposed.all().find_changed()).empty();
  }
};

}  // namespace tenon
