// What a Graph consists of.
#pragma once
#include <tenon/graph.hpp>

#include "graph/builder.hpp"
#include "run/host_impl.hpp"

namespace tenon {

struct Graph::Impl {
  explicit Impl(Host& owner) : host(&owner) {}
  GraphBuilder builder() { return {model, binding, host->impl().plugins()}; }

  Host* host;
  GraphModel model;
  Binding binding;
};

}  // namespace tenon
