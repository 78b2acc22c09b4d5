// Errors about operators that are missing or cannot be used.
#pragma once
#include <span>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>

namespace tenon {

struct MissingOperator {
  std::string name, use;  ///< use: text that follows the name, such as "of node 'a'"; may be empty
};

/// Returns one Failure (plugin) for all of them: why each cannot be used, or else the folders that
/// were searched, with similar names in the hint.
Failure missing_operators(const Catalog& catalog, std::span<const MissingOperator> missing);

}  // namespace tenon
