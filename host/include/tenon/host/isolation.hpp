// What isolated plugins are kept from on this machine.
#pragma once
#include <string>
#include <tenon/host/api.hpp>

namespace tenon {

struct IsolationInfo {
  std::string limits;  ///< in force in a worker that was started to ask: `seccomp, landlock, rlimits`
  std::string error;   ///< why no worker can be started; a sentence, mostly empty
};

/// Starts a worker without a plugin, which takes from itself what it can. Throws nothing. Threads: any.
TENON_API IsolationInfo isolation_info();

}  // namespace tenon
