// Lets no file grow beyond a size: a full disk that any user can have.
#pragma once
#include <signal.h>
#include <sys/resource.h>

#include <stdexcept>

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    if (::getrlimit(RLIMIT_FSIZE, &before_) != 0) throw std::runtime_error("the test cannot ask for the limit of files' sizes");
    const struct rlimit limit { bytes, before_.rlim_max };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("the test cannot limit files' sizes");
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
