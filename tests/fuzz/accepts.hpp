// Accepted results of a reader of arbitrary bytes: it returns something, or throws a Failure of the
// expected kind.
#pragma once
#include <cstdlib>
#include <tenon/host/failure.hpp>

template <class Read>
void accepts(Read&& read, tenon::FailureKind kind = tenon::FailureKind::file) {
  try {
    read();
  } catch (const tenon::Failure& failure) {
    if (failure.kind() != kind || *failure.what() == '\0') std::abort();
  }
}
