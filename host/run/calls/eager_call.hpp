// The cached call that the next eager call of the same operator, parameters and types reuses.
#pragma once
#include <string>
#include <string_view>

#include "run/calls/prepared_call_impl.hpp"

namespace tenon {

struct EagerCall {
  template <class... Arguments>
  explicit EagerCall(std::string_view key, Arguments&&... arguments)
      : key(key), call(std::forward<Arguments>(arguments)...) {}
  const std::string key;
  PreparedCall::Impl call;
};

}  // namespace tenon
