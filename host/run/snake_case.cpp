#include <cctype>
#include <tenon/host/udf.hpp>

namespace tenon::internal {

std::string snake_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !out.empty() && out.back() != '_') out += '_';
    out += upper ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : c;
  }
  return out;
}

}  // namespace tenon::internal
