#include "run/storage_notes.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <tenon/failure.hpp>

namespace tenon {

void StorageNotes::made_dense(const std::string& key, const std::string& what) {
  if (strict_)
    throw Failure(FailureKind::failed, what,
                  "give it dense tensors, put cast_storage before it where that is meant, or do without strict storage");
  tell(key, what);
}

void StorageNotes::tell(const std::string& key, const std::string& what) {
  {
    const std::scoped_lock lock(mutex_);
    if (!told_.insert(key).second) return;
  }
  if (warn_)
    warn_(what);
  else
    fmt::print(stderr, "warning: {}\n", what);
}

}  // namespace tenon
