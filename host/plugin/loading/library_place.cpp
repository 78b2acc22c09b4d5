#include "plugin/loading/library_place.hpp"

#include <dlfcn.h>

#include <system_error>

namespace tenon {

namespace fs = std::filesystem;

fs::path find_beside_library(const fs::path& name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_beside_library), &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  if (error) return {};
  for (const fs::path& place : {library.parent_path() / "tenon" / name, library.parent_path() / name}) {
    if (fs::exists(place, error)) return place;
  }
  return {};
}

}  // namespace tenon
