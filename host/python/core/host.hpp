// The host that functions use when nobody names one.
#pragma once
#include <memory>
#include <tenon/host/host.hpp>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// A Host for Python: closed, it gives errors.
struct HostHandle {
  std::shared_ptr<Host> host;
  bool isolated = false;     ///< its calls may wait for worker processes
  std::uint64_t number = 0;  ///< another one for each host of this process: an address may serve several, one after the other
  /// With the GIL. Whoever releases the GIL then needs this copy: another thread may close the host. Throws Failure (usage) where it is
  /// closed.
  std::shared_ptr<Host> use() const;
};

/// The default host, which is made when it is first asked for. A copy, since another thread may choose another one.
HostHandle current_host();

void bind_host(nb::module_& module);

}  // namespace tenon::python
