// A host for random graphs that needs no plugin.
#pragma once
#include "application_host.hpp"
#include "random_graph.hpp"

struct RandomGraphHost : ApplicationHost {
  RandomGraphHost() {
    add<Mix>();
    add<Blend>();
  }
};
