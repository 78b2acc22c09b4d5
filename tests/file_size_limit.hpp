// Limits the size of files: simulates a full disk without root.
#pragma once
#include <signal.h>
#include <sys/resource.h>

#include <stdexcept>

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    if (::getrlimit(RLIMIT_FSIZE, &before_) != 0)
      throw std::runtime_error("the test cannot read the limit of file sizes");
    const struct rlimit limit { bytes, before_.rlim_max };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
      throw std::runtime_error("the test cannot set the limit of file sizes");
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  struct rlimit before_ {};
};
