// The host that functions use by default.
#pragma once
#include <memory>
#include <tenon/host/host.hpp>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// A Host for Python. Using a closed one throws.
struct HostHandle {
  std::shared_ptr<Host> host;
  bool isolated = false;  ///< plugins run in worker processes, which calls wait for
  bool searched = false;  ///< the default folders were read, which increments the host's version
  /// Needs the GIL. Callers that release the GIL must hold this copy, since another thread may
  /// close the host. Throws Failure (usage) if the host is closed.
  std::shared_ptr<Host> use() const;
};

/// The default host of this thread or task: that of the innermost `with` block, else the process's,
/// which is created when first needed. Returns a copy, since another thread may choose another
/// host.
HostHandle current_host();
/// The number of open `with` blocks in all threads. At 0, the default host is the process's. Needs
/// the GIL.
inline int open_blocks = 0;
/// The host of the innermost `with` block of this thread or task; for a thread that a host started,
/// of the thread that it works for. Null outside of blocks.
nb::object host_of_block();

void bind_host(nb::module_& module);

}  // namespace tenon::python
