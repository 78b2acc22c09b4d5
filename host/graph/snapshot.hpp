// A graph as its handle, its clones and its sessions share it.
#pragma once
#include <mutex>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "graph/binding.hpp"
#include "graph/model.hpp"

namespace tenon {

/// A graph's elements as kernels read them, with int64 indices: made once, for all sessions. Threads: any.
class KernelTensors {
 public:
  KernelTensors() = default;
  KernelTensors(const KernelTensors&) {}  // a copy of a graph is made to be edited
  KernelTensors& operator=(const KernelTensors&) = delete;

  /// By value; empty where a value has none. `model`: the same each time.
  const std::vector<Tensor>& of(const GraphModel& model) const;

 private:
  mutable std::once_flag made_;
  mutable std::vector<Tensor> tensors_;
};

/// Whether inference has nothing to add to the types of a graph's values.
struct Settled {
  Settled() = default;
  Settled(const Settled&) {}  // a copy of a graph is made to be edited
  Settled& operator=(const Settled&) = delete;
  bool now = false;
};

/// Whoever shares one reads it only; a graph that is edited continues with a copy of its own.
struct GraphSnapshot {
  GraphModel model;
  Binding binding;
  KernelTensors tensors{};
  Settled settled{};
};

}  // namespace tenon
