// The class Session.
#pragma once
#include <tenon/host/session.hpp>

#include "python/core/graph.hpp"
#include "python/core/interpreter.hpp"

namespace tenon::python {

struct SessionHandle : Closable<Session> {
  SessionHandle() : Closable("session") {}
};

void bind_session(nb::module_& module);

}  // namespace tenon::python
