// The host that functions use when nobody names one.
#pragma once
#include <memory>
#include <tenon/host/host.hpp>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// A Host for Python: closed, it gives errors.
struct HostHandle {
  std::shared_ptr<Host> host;
  bool isolated = false;  ///< its calls may wait for worker processes
  bool searched = false;  ///< the default folders, for sure: versions before and after that differ
  /// With the GIL. Whoever releases the GIL then needs this copy: another thread may close the host. Throws Failure (usage) where it is
  /// closed.
  std::shared_ptr<Host> use() const;
};

/// The default host of this thread of control: that of the innermost `with` block, else the process's, which is made when it is first
/// needed. A copy, since another thread may choose another one.
HostHandle current_host();
/// The number of open `with` blocks in all threads; at 0, the default host is the process's. With the GIL.
inline int open_blocks = 0;
/// The host of the innermost `with` block that this thread of control is in. For a thread of a host, the caller's. Null outside of blocks.
nb::object host_of_block();

void bind_host(nb::module_& module);

}  // namespace tenon::python
