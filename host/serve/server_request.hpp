// Reads and answers requests of the server.
#pragma once
#include "serve/joined_run.hpp"
#include "serve/server_calls.hpp"

namespace tenon::serve {

/// Reads the inputs without copying; faults become the request's error. The memory belongs to the
/// server until the request is released.
Request read_request(ServerRequest* request, const Signature& signature, bool rows);

/// Sends the requested outputs, or the request's error. Returns false if an error was sent. Never
/// throws: if sending fails, it logs the failure.
bool answer(ServerRequest* request, const Signature& signature, const Request& from) noexcept;

}  // namespace tenon::serve
