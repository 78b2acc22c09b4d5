// libzip's archives.
#pragma once
#include <zip.h>

#include <memory>

namespace tenon {

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
/// Its changes are forgotten unless zip_close() was called on what release() gives.
using UnsavedArchive = std::unique_ptr<zip_t, DiscardArchive>;

}  // namespace tenon
