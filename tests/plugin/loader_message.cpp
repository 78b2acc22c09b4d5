// Conversion of the system loader's messages.
#include <doctest/doctest.h>

#include "plugin/loading/system_loader.hpp"

using namespace tenon;

TEST_CASE("loader messages: become statuses and sentences") {
  struct Case {
    std::string message;
    PluginStatus status;
    std::string sentence;
  };
  const Case cases[] = {
      {"/proc/self/fd/3: undefined symbol: cblas_sgemm", PluginStatus::unresolved_symbol,
       "uses the symbol cblas_sgemm, which neither it nor its libraries define: link the library "
       "that defines it"},
      {"/proc/self/fd/3: undefined symbol: old, version LIB_2.0", PluginStatus::unresolved_symbol,
       "uses the symbol old, which neither it nor its libraries define: link the library that "
       "defines it"},
      {"libcudart.so.12: cannot open shared object file: No such file or directory",
       PluginStatus::not_loadable,
       "needs the library libcudart.so.12, which was not found: install it, or put it next to the "
       "plugin and link with "
       "-Wl,-rpath,'$ORIGIN'"},
      {"/proc/77/fd/9: cannot open shared object file: Too many open files",
       PluginStatus::not_loadable,
       "cannot be loaded: this process has too many open files (ulimit -n); each loaded plugin "
       "keeps one open"},
      {"/proc/77/fd/9: cannot allocate memory in static TLS block", PluginStatus::not_loadable,
       "cannot be loaded: cannot allocate memory in static TLS block"},
      {"/lib/libm.so.6: version `GLIBC_9.9' not found (required by /proc/self/fd/3)",
       PluginStatus::not_loadable,
       "cannot be loaded: /lib/libm.so.6: version `GLIBC_9.9' not found (required by the plugin)"},
      {"\x1b[31m", PluginStatus::not_loadable,
       "cannot be loaded: the loader's message is not plain text"},
  };
  for (const Case& c : cases) {
    const PluginError error = explain_loader_message(c.message);
    CHECK(error.status() == c.status);
    CHECK(std::string(error.what()) == c.sentence);
  }
}
