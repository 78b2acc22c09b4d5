// Optimizers: operators that compute one step for one weight.
#pragma once
#include <memory>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

#include "graph/operators/optimizer.hpp"

namespace tenon {

/// The optimizers of the catalog.
std::vector<std::string> optimizers(const Catalog& catalog);

}  // namespace tenon
