#include "run/warnings.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <tenon/host/failure.hpp>

#include "io/utf8.hpp"

namespace tenon {

void Warnings::densified(const std::string& key, const std::string& what) {
  if (strict_)
    throw Failure(FailureKind::failed, what,
                  "pass dense tensors, insert cast_storage if the conversion is intended, or "
                  "disable strict storage");
  once(key, what);
}

void Warnings::once(const std::string& key, const std::string& what) {
  {
    const std::scoped_lock lock(mutex_);
    if (!issued_.insert(key).second) return;
  }
  if (warn_)
    warn_(printable(what));
  else
    std::fputs(fmt::format("warning: {}\n", printable(what)).c_str(),
               stderr);  // unlike streams, never throws
}

}  // namespace tenon
