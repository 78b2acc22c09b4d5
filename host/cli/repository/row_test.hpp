// Tests whether requests can be batched: a graph may combine rows, for example in a sum over the
// batch, which shapes do not show.
#pragma once
#include <string>
#include <tenon/host/session.hpp>

#include "serve/signature.hpp"

namespace tenon::cli {

struct RowTest {
  std::string dependent;  ///< why rows cannot be batched; empty if no dependence was found
  std::string untried;    ///< why the test could not run; usually empty
};

/// Runs three random rows together and each one separately, and compares the results. The signature
/// must have rows.
RowTest try_rows(Session& session, const serve::Signature& signature);

}  // namespace tenon::cli
