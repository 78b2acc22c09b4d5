// Limits the address space of this process for the lifetime of the object.
#pragma once
#include <sys/resource.h>

#include <cstdint>
#include <stdexcept>

class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::uint64_t bytes) {
    if (::getrlimit(RLIMIT_AS, &before_) != 0)
      throw std::runtime_error("the test cannot ask for the limit of the address space");
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    if (::setrlimit(RLIMIT_AS, &limit) != 0)
      throw std::runtime_error("the test cannot limit the address space");
  }
  ~AddressSpaceLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit before_{};
};
