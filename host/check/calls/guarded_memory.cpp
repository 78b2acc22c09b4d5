#include "check/calls/guarded_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

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

/// Memory for a tensor with a guard on each side.
class Mapping {
 public:
  explicit Mapping(std::size_t bytes)
      : size_((bytes + page - 1) / page * page + 4 * page + 2 * guard) {
    void* memory =
        mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    if (mprotect(begin(), static_cast<std::size_t>(end() - begin()), PROT_READ | PROT_WRITE) == 0)
      return;
    munmap(memory_, size_);
    throw std::bad_alloc();
  }
  ~Mapping() {
    if (range_ != nullptr) range_->is_protected = false, range_->begin = range_->end = 0;
    munmap(memory_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Registers the tensor, so that accesses to the guards are reported with its name.
  void name_tensor(const std::byte* data, std::size_t bytes, std::size_t element,
                   const std::string& name) {
    for (auto& range : ranges) {
      std::uintptr_t nothing = 0;
      const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
      if (!range.begin.compare_exchange_strong(nothing, begin)) continue;
      range.data = reinterpret_cast<std::uintptr_t>(data);
      range.bytes = bytes;
      range.element = element;
      range.name[name.copy(range.name, sizeof range.name - 1)] = '\0';
      range.end = begin + size_;
      range_ = &range;
      return;
    }
  }
  std::byte* begin() const { return memory_ + guard; }
  std::byte* end() const { return memory_ + size_ - guard; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_;
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
