// Whether requests may be joined: a graph may look at all rows of its input, as a sum over the batch does, and no shape says so.
#pragma once
#include <string>
#include <tenon/host/session.hpp>

#include "serve/signature.hpp"

namespace tenon::cli {

struct RowTrial {
  std::string dependent;  ///< why rows cannot be joined, a sentence; empty: nothing was found
  std::string untried;    ///< why it could not be tried, a sentence; mostly empty
};

/// Runs three rows of random numbers together, and each by itself, and compares. The signature must have rows.
RowTrial try_rows(Session& session, const serve::Signature& signature);

}  // namespace tenon::cli
