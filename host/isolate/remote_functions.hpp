// Functions of an isolated table. Their instance is a RemoteObject.
#pragma once
#include <tenon/abi.h>

namespace tenon::remote {

/// Returns a table with every function that may run in a worker. Its create() always fails.
tenon_operator functions();

}  // namespace tenon::remote
