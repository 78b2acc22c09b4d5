// The class Session.
#pragma once
#include <optional>
#include <tenon/host/session.hpp>

#include "python/core/graph.hpp"
#include "python/core/interpreter.hpp"

namespace tenon::python {

struct SessionHandle {
  std::optional<Session> session;
  OneAtATime alone;

  template <class Work>
  decltype(auto) use(Work&& work) {
    if (!session) throw Failure(FailureKind::usage, "the session is closed");
    return alone("session", [&]() -> decltype(auto) { return work(*session); });
  }
};

void bind_session(nb::module_& module);

}  // namespace tenon::python
