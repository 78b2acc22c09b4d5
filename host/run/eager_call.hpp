// What an eager call leaves for the next one of its operator, parameters and types.
#pragma once
#include <string>
#include <string_view>

#include "run/prepared_call_impl.hpp"

namespace tenon {

struct EagerCall {
  template <class... Arguments>
  explicit EagerCall(std::string_view key, Arguments&&... arguments) : key(key), call(std::forward<Arguments>(arguments)...) {}
  const std::string key;
  PreparedCall::Impl call;
};

}  // namespace tenon
