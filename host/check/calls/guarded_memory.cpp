#include "check/calls/guarded_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace tenon::checks {
namespace {

// large enough to attribute accesses that are off by a few thousand elements
constexpr std::size_t page = 4096, guard = std::size_t{1} << 20;

// Read by signal handlers, hence at fixed addresses without allocation.
struct Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> is_protected{false};
  std::uintptr_t data = 0;  // address of the first element
  std::size_t bytes = 0, element = 1;
  char name[96] = "";
};
Range ranges[256];

/// Accessible memory between two guards.
struct Pages {
  std::byte* memory = nullptr;
  std::size_t size = 0;  // with the guards
};

Pages map_pages(std::size_t size) {
  void* const memory =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(static_cast<std::byte*>(memory) + guard, size - 2 * guard, PROT_READ | PROT_WRITE) ==
      0)
    return {static_cast<std::byte*>(memory), size};
  munmap(memory, size);
  throw std::bad_alloc();
}

/// Pages of tensors that are gone, for the next ones of their size: mapping them takes most of the
/// time of a small call. Thread-safe.
class FreePages {
 public:
  Pages take(std::size_t size) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(free_, size, &Pages::size);
      if (found != free_.end()) {
        const auto pages = *found;
        free_.erase(found);
        return pages;
      }
    }
    return map_pages(size);
  }
  /// Clears the pages, so that what is read beyond a tensor does not depend on earlier calls.
  void give(Pages pages) {
    const std::lock_guard lock(mutex_);
    if (free_.size() < most && pages.size < 3 * guard) {
      std::memset(pages.memory + guard, 0, pages.size - 2 * guard);
      return free_.push_back(pages);
    }
    munmap(pages.memory, pages.size);
  }

 private:
  static constexpr std::size_t most = 64;
  std::mutex mutex_;
  std::vector<Pages> free_;
};

FreePages& free_pages() {
  static auto* const pages = new FreePages;  // tensors may outlive static objects
  return *pages;
}

/// Memory for a tensor with a guard on each side.
class Mapping {
 public:
  explicit Mapping(std::size_t bytes)
      : pages_(free_pages().take((bytes + page - 1) / page * page + 4 * page + 2 * guard)) {}
  ~Mapping() {
    const bool is_protected = range_ != nullptr && range_->is_protected.exchange(false);
    if (range_ != nullptr) range_->begin = range_->end = 0;
    if (is_protected)
      munmap(pages_.memory, pages_.size);
    else
      free_pages().give(pages_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Registers the tensor, so that accesses to the guards are reported with its name.
  void name_tensor(const std::byte* data, std::size_t bytes, std::size_t element,
                   const std::string& name) {
    for (auto& range : ranges) {
      std::uintptr_t nothing = 0;
      const auto begin = reinterpret_cast<std::uintptr_t>(pages_.memory);
      if (!range.begin.compare_exchange_strong(nothing, begin)) continue;
      range.data = reinterpret_cast<std::uintptr_t>(data);
      range.bytes = bytes;
      range.element = element;
      range.name[name.copy(range.name, sizeof range.name - 1)] = '\0';
      range.end = begin + pages_.size;
      range_ = &range;
      return;
    }
  }
  std::byte* begin() const { return pages_.memory + guard; }
  std::byte* end() const { return pages_.memory + pages_.size - guard; }

 private:
  Pages pages_;
  Range* range_ = nullptr;
};

std::byte* address_in(Mapping& mapping, std::size_t bytes, std::size_t element, Placement placement,
                      std::size_t alignment) {
  switch (placement) {
    case Placement::after_guard:
      return mapping.begin();
    case Placement::before_guard:
      return mapping.end() - (bytes + alignment - 1) / alignment * alignment;
    case Placement::unaligned:
      return mapping.begin() + page + page / 2 + element;
    case Placement::aligned:
      break;
  }
  return mapping.begin() + page + page / 2;
}

Range* range_around(std::uintptr_t address) {
  for (auto& range : ranges)
    if (address >= range.begin && address < range.end) return &range;
  return nullptr;
}

}  // namespace

Tensor guarded_tensor(DType dtype, const Shape& shape, Placement placement, std::uint8_t fill,
                      const std::string& name, std::size_t alignment) {
  const auto bytes = static_cast<std::size_t>(shape.size()) * size_of(dtype);
  auto mapping = std::make_shared<Mapping>(bytes);
  std::byte* data = address_in(*mapping, bytes, size_of(dtype), placement, alignment);
  if (placement == Placement::after_guard || placement == Placement::before_guard) {
    std::memset(mapping->begin(), fill,
                static_cast<std::size_t>(mapping->end() - mapping->begin()));
    mapping->name_tensor(data, bytes, size_of(dtype), name);
  } else {
    std::memset(data, fill, bytes);
  }
  return Tensor::borrow(data, dtype, shape, {}, mapping);
}

std::string stray_write(const Tensor& tensor, std::uint8_t fill) {
  const auto* const range = range_around(reinterpret_cast<std::uintptr_t>(tensor.data()));
  if (range == nullptr) return {};
  const auto* const data = static_cast<const std::uint8_t*>(tensor.data());
  const auto bytes = static_cast<std::ptrdiff_t>(range->bytes);
  const auto first = static_cast<std::ptrdiff_t>(range->begin + guard - range->data);
  const auto end = static_cast<std::ptrdiff_t>(range->end - guard - range->data);
  for (auto i = first; i < end; ++i)
    if ((i < 0 || i >= bytes) && data[i] != fill)
      return fmt::format("writes element {} of {}, which has {} elements", i, range->name, bytes);
  return {};
}

void protect(const Tensor& tensor) {
  if (!tensor) return;
  const auto data = reinterpret_cast<std::uintptr_t>(tensor.data());
  auto* const range = range_around(data);
  if (range == nullptr) return;
  range->is_protected = true;
  mprotect(static_cast<std::byte*>(tensor.data()) - (data - range->begin),
           range->end - range->begin, PROT_NONE);
}

void count_elements_as(const Tensor& tensor, DType dtype) {
  if (auto* const range = range_around(reinterpret_cast<std::uintptr_t>(tensor.data())))
    range->element = size_of(dtype);
}

// Example: `writes element 24 of output 'y', which has 24 elements`.
bool describe_guard_hit(std::uintptr_t address, CrashReport::Access access, ShortText& text) {
  const auto* const range = range_around(address);
  if (range == nullptr) return false;
  // outside of the protected tensor
  if (range->is_protected && (address < range->begin + guard || address >= range->end - guard))
    return false;
  const auto element = static_cast<std::int64_t>(range->element),
             count = static_cast<std::int64_t>(range->bytes) / element;
  // negative before the first element
  const auto bytes = static_cast<std::int64_t>(address - range->data);
  text << (access == CrashReport::Access::write  ? "writes "
           : access == CrashReport::Access::read ? "reads "
                                                 : "touches ");
  if (range->name[0] == '\0')
    text << (range->is_protected ? "the descriptors"
                                 : "memory next to the descriptors of the call");
  else
    text << "element " << (bytes < 0 ? (bytes + 1) / element - 1 : bytes / element) << " of "
         << range->name;
  if (range->is_protected)
    text << " of an earlier call; a call and its tensors are invalid after it returns";
  else if (range->name[0] != '\0')
    text << ", which has " << count << (count == 1 ? " element" : " elements");
  return true;
}

}  // namespace tenon::checks
