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
  Host& use() const;      ///< throws Failure (usage) where it is closed
};

/// The default host, which is made when it is first asked for.
const HostHandle& current_host();

void bind_host(nb::module_& module);

}  // namespace tenon::python
