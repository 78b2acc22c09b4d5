#include "run/execution/overlaps.hpp"

#include <algorithm>
#include <iterator>

namespace tenon {

Overlaps::Overlaps(const Execution& execution) : execution_(execution) {
  const auto& plan = execution.plan();
  const auto& values = plan.model().values;
  for (ValueId value = 0; value < plan.types().size(); ++value)
    if (value < values.size() && values[value].role != Role::output &&
        values[value].role != Role::input)
      add_range(stored_, value, false);
  std::sort(stored_.begin(), stored_.end(),
            [](const Range& one, const Range& other) { return one.begin < other.begin; });
}

void Overlaps::add_range(std::vector<Range>& ranges, ValueId value, bool written) const {
  const auto& tensor = execution_.tensor(value);
  const auto* begin = static_cast<const std::byte*>(tensor.dense.data);
  const auto& type = execution_.plan().types()[value];
  if (begin != nullptr && type.storage == TENON_DENSE)
    add_range(ranges, begin + tensor.dense.byte_offset, byte_count(type), written);
}

void Overlaps::add_range(std::vector<Range>& ranges, const void* data, std::int64_t bytes,
                         bool written) {
  const auto* begin = static_cast<const std::byte*>(data);
  if (bytes > 0) ranges.push_back({begin, begin + bytes, written});
}

bool Overlaps::any() {
  std::sort(bound_.begin(), bound_.end(),
            [](const Range& one, const Range& other) { return one.begin < other.begin; });
  const std::byte* written_to = nullptr;
  const std::byte* used_to = nullptr;
  for (const auto& range : bound_) {
    if (range.begin < written_to || (range.written && range.begin < used_to)) return true;
    used_to = std::max(used_to, range.end);
    if (!range.written) continue;
    written_to = std::max(written_to, range.end);
    const auto next =
        std::lower_bound(stored_.begin(), stored_.end(), range.end,
                         [](const Range& stored, auto end) { return stored.begin < end; });
    if (next != stored_.begin() && std::prev(next)->end > range.begin) return true;
  }
  return false;
}

}  // namespace tenon
