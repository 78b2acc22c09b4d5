// A worker that violates the protocol: the test program itself, started as a worker.
#pragma once
#include <fcntl.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "isolate/isolated_plugin.hpp"

/// During its lifetime, workers of plugin() tell that lie.
class LyingWorker {
 public:
  static constexpr const char *variable = "TENON_TEST_LIE", *program = "/proc/self/exe";

  explicit LyingWorker(const std::string& lie) { ::setenv(variable, lie.c_str(), 1); }
  ~LyingWorker() { ::unsetenv(variable); }
  LyingWorker(const LyingWorker&) = delete;
  LyingWorker& operator=(const LyingWorker&) = delete;

  std::shared_ptr<tenon::IsolatedPlugin> plugin() const {
    tenon::WorkerOptions options;
    options.program = program;
    return std::make_shared<tenon::IsolatedPlugin>(
        tenon::WorkerPlugin{"lies.so", ::open("/dev/null", O_RDONLY | O_CLOEXEC)}, options);
  }
};
