// The restrictions of isolated plugins on this machine.
#pragma once
#include <string>
#include <tenon/host/api.hpp>

namespace tenon {

struct IsolationInfo {
  std::string
      limits;         ///< in force in a worker started for this query: `seccomp, landlock, rlimits`
  std::string error;  ///< why no worker can be started; a sentence, usually empty
};

/// Starts a worker without a plugin, which restricts itself as far as the system allows. Does not
/// throw. Threads: any.
TENON_API IsolationInfo isolation_info();

}  // namespace tenon
