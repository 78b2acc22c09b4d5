// The failure of a call, as text to compare.
#pragma once
#include <string>
#include <tenon/host/failure.hpp>

struct FailureText {
  int kind = 0;  // 0: no failure
  std::string message, hint;
};

template <class Call>
FailureText failure_of(Call&& call) {
  try {
    call();
    return {};
  } catch (const tenon::Failure& failure) {
    return {static_cast<int>(failure.kind()), failure.what(), failure.hint()};
  }
}
