// Prepared calls of one operator, kept for the next ones of their types.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

namespace tenon::python {

/// At most 64; those that are used often are found first. An entry that is `busy` runs without the GIL: it is neither found nor dropped.
/// With the GIL.
template <class Entry>
class KeptCalls {
 public:
  /// The first idle entry that fits; null where there is none.
  template <class Fits>
  Entry* find(Fits&& fits) {
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return !entry->busy && fits(*entry); });
    if (at == entries_.end()) return nullptr;
    if (at - entries_.begin() <= near) return at->get();
    std::rotate(entries_.begin(), at, at + 1);
    return entries_.front().get();
  }

  Entry* keep(std::unique_ptr<Entry> entry) {
    if (entries_.size() >= most) {
      const auto idle = std::find_if(entries_.rbegin(), entries_.rend(), [](const auto& one) { return !one->busy; });
      if (idle != entries_.rend()) entries_.erase(std::next(idle).base());
    }
    return entries_.insert(entries_.begin(), std::move(entry))->get();
  }

  bool any_busy() const {
    return std::any_of(entries_.begin(), entries_.end(), [](const auto& entry) { return entry->busy; });
  }
  void clear() { entries_.clear(); }

 private:
  static constexpr std::size_t most = 64;
  static constexpr std::ptrdiff_t near = 4;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace tenon::python
