// Drops root's privileges, so that permission tests are meaningful when root runs them.
#pragma once
#include <unistd.h>

class WithoutRights {
 public:
  WithoutRights() : user_(::geteuid()), lowered_(user_ == 0 && ::seteuid(65534) == 0) {}
  ~WithoutRights() {
    if (lowered_ && ::seteuid(user_) != 0) ::_exit(97);
  }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  uid_t user_;
  bool lowered_;
};
