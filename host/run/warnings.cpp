#include "run/warnings.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <tenon/host/failure.hpp>

#include "io/utf8.hpp"

namespace tenon {

void Warnings::densified(const std::string& key, const std::string& what) {
  if (strict_)
    throw Failure(FailureKind::failed, what,
                  "give it dense tensors, put cast_storage before it where that is meant, or do without strict storage");
  once(key, what);
}

void Warnings::once(const std::string& key, const std::string& what) {
  {
    const std::scoped_lock lock(mutex_);
    if (!given_.insert(key).second) return;
  }
  if (warn_)
    warn_(printable(what));
  else
    std::fputs(fmt::format("warning: {}\n", printable(what)).c_str(), stderr);  // which throws nothing where stderr is broken
}

}  // namespace tenon
