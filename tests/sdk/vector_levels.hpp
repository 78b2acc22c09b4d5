// The vector levels of this machine, for tests that run the same loops on each.
#pragma once

#include <functional>
#include <string>
#include <tenon/wide.hpp>
#include <vector>

#if defined(TENON_WIDE_LEVELS)
namespace by_hand {

using tenon::detail::VectorLevel;

inline std::vector<VectorLevel> vector_levels() {
  std::vector<VectorLevel> levels{VectorLevel::plain};
  for (const auto level : {VectorLevel::v3, VectorLevel::v4})
    if (level <= tenon::detail::vector_level_of_processor()) levels.push_back(level);
  return levels;
}

/// While it lives, the loops of this program run at `level`.
class AtLevel {
 public:
  explicit AtLevel(VectorLevel level) : before_(tenon::detail::vector_level.exchange(level)) {}
  AtLevel(const AtLevel&) = delete;
  AtLevel& operator=(const AtLevel&) = delete;
  ~AtLevel() { tenon::detail::vector_level = before_; }

 private:
  VectorLevel before_;
};

}  // namespace by_hand
#endif
