// A graph as its handle, its clones and its sessions share it.
#pragma once
#include "graph/binding.hpp"
#include "graph/model.hpp"

namespace tenon {

/// Whoever shares one reads it only; a graph that is edited continues with a copy of its own.
struct GraphSnapshot {
  GraphModel model;
  Binding binding;
};

}  // namespace tenon
