#include "serve/server_calls.hpp"

#include <dlfcn.h>

namespace tenon::serve {

ServerCalls server;

// If the program loaded the server privately, as Python does for its modules, RTLD_DEFAULT does not
// find its symbols.
static void* find_symbol(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name); found != nullptr) return found;
  static void* const library = dlopen("libtritonserver.so", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

const char* ServerCalls::find() {
#define TENON_SERVER_CALL(result, name, parameters)            \
  name = reinterpret_cast<decltype(name)>(find_symbol(#name)); \
  if (name == nullptr) return #name;
  TENON_SERVER_CALLS(TENON_SERVER_CALL)
#undef TENON_SERVER_CALL
  return nullptr;
}

void log(int level, const std::string& text) {
  // logging itself failed, so the error cannot be reported
  if (auto* error = server.TRITONSERVER_LogMessage(level, "tenon", 0, text.c_str()))
    server.TRITONSERVER_ErrorDelete(error);
}

}  // namespace tenon::serve
