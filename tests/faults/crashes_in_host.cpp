#include <dlfcn.h>

#include <csignal>

#include "doubling.hpp"

// Crashes next to the host's library, but not in the trial process.
__attribute__((constructor)) static void crash() {
  if (dlsym(RTLD_DEFAULT, "XXH3_64bits") != nullptr) raise(SIGSEGV);
}

struct CrashesInHost : Doubling {
  void forward(const tenon::Call& call) const { write(call, call.input<float>(0).size()); }
};
TENON_OPERATOR(crashes_in_host, CrashesInHost)
