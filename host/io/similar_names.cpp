#include <algorithm>
#include <tenon/host/catalog.hpp>

namespace tenon {
namespace {

constexpr std::size_t length_limit = 128;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Optimal string alignment distance: insertions, deletions, substitutions and transpositions of
/// neighbours cost 1 each; case is ignored.
std::size_t slips_between(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before, last(right.size() + 1), row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const bool same = lower(left[i - 1]) == lower(right[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(left[i - 1]) == lower(right[j - 2]) &&
                           lower(left[i - 2]) == lower(right[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[right.size()];
}

}  // namespace

std::vector<std::string> similar_names(std::string_view name,
                                       const std::vector<std::string>& names) {
  if (name.size() > length_limit) return {};
  const std::size_t tolerated = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string& candidate : names) {
    const std::size_t longer = std::max(candidate.size(), name.size()),
                      shorter = std::min(candidate.size(), name.size());
    if (longer > length_limit || longer - shorter > tolerated) continue;
    const std::size_t slips = slips_between(name, candidate);
    if (slips <= tolerated && slips < longer) found.emplace_back(slips, candidate);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, found.size()); ++i)
    nearest.emplace_back(found[i].second);
  return nearest;
}

}  // namespace tenon
