// A request of the server, read and answered.
#pragma once
#include "serve/joined_run.hpp"
#include "serve/server_calls.hpp"

namespace tenon::serve {

/// Where its inputs lie; what is wrong with them is the result's error. They stay the server's until the request is released.
Request read_request(ServerRequest* request, const Signature& signature, bool rows);

/// Sends the outputs that it asks for, or its error. False where it got an error. Throws nothing: where not even that can be sent, the log
/// says so.
bool answer(ServerRequest* request, const Signature& signature, const Request& from) noexcept;

}  // namespace tenon::serve
