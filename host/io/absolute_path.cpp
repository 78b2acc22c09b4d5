#include "io/absolute_path.hpp"

#include <system_error>

namespace tenon {

namespace fs = std::filesystem;

fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return path;
  fs::path normal = whole.lexically_normal();
  const bool is_different_file = fs::exists(whole, error) && !fs::equivalent(whole, normal, error);
  return is_different_file ? whole : normal;
}

}  // namespace tenon
