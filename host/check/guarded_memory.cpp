#include "check/guarded_memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

namespace tenon::checks {
namespace {

constexpr std::size_t page = 4096;

// Signal handlers read these: fixed places, nothing allocated.
struct Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> forbidden{false};
  std::uintptr_t data = 0;  // of the first element
  std::size_t bytes = 0, element = 1;
  char name[96] = "";
};
Range ranges[256];

class Mapping {
 public:
  explicit Mapping(std::size_t bytes) : size_((bytes + page - 1) / page * page + 4 * page) {
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Mapping() {
    if (range_ != nullptr) range_->forbidden = false, range_->begin = range_->end = 0;
    munmap(memory_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// The first and the last page become guards of what lies between them.
  void protect(const std::byte* data, std::size_t bytes, std::size_t element, const std::string& name) {
    mprotect(memory_, page, PROT_NONE);
    mprotect(memory_ + size_ - page, page, PROT_NONE);
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
  std::byte* begin() const { return memory_ + page; }
  std::byte* end() const { return memory_ + size_ - page; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_;
  Range* range_ = nullptr;
};

std::byte* place_in(Mapping& mapping, std::size_t bytes, std::size_t element, Placement placement) {
  switch (placement) {
    case Placement::after_guard:
      return mapping.begin();
    case Placement::before_guard:
      return mapping.end() - bytes;
    case Placement::unaligned:
      return mapping.begin() + page / 2 + element;
    case Placement::apart:
      break;
  }
  return mapping.begin() + page / 2;
}

Range* range_around(std::uintptr_t address) {
  for (auto& range : ranges)
    if (address >= range.begin && address < range.end) return &range;
  return nullptr;
}

}  // namespace

Tensor guarded_tensor(DType dtype, const Shape& shape, Placement placement, std::uint8_t fill, const std::string& name) {
  const auto bytes = static_cast<std::size_t>(shape.size()) * size_of(dtype);
  auto mapping = std::make_shared<Mapping>(bytes);
  std::byte* data = place_in(*mapping, bytes, size_of(dtype), placement);
  std::memset(data, fill, bytes);
  const bool beside_guard = placement == Placement::after_guard || placement == Placement::before_guard;
  if (beside_guard) mapping->protect(data, bytes, size_of(dtype), name);
  return Tensor::borrow(data, dtype, shape, {}, mapping);
}

void forbid(const Tensor& tensor) {
  if (!tensor) return;
  const auto data = reinterpret_cast<std::uintptr_t>(tensor.data());
  auto* const range = range_around(data);
  if (range == nullptr) return;
  range->forbidden = true;
  mprotect(static_cast<std::byte*>(tensor.data()) - (data - range->begin), range->end - range->begin, PROT_NONE);
}

void count_elements_as(const Tensor& tensor, DType dtype) {
  if (auto* const range = range_around(reinterpret_cast<std::uintptr_t>(tensor.data()))) range->element = size_of(dtype);
}

// `writes element 24 of output 'y', which has 24 elements`
bool describe_guard_hit(std::uintptr_t address, Ending::Access access, ShortText& text) {
  const auto* const range = range_around(address);
  if (range == nullptr) return false;
  const auto element = static_cast<std::int64_t>(range->element), count = static_cast<std::int64_t>(range->bytes) / element;
  const auto bytes = static_cast<std::int64_t>(address - range->data);  // negative before the first
  text << (access == Ending::Access::write ? "writes " : access == Ending::Access::read ? "reads " : "touches ");
  if (range->name[0] == '\0')
    text << (range->forbidden ? "the descriptors" : "memory next to the descriptors of the call");
  else
    text << "element " << (bytes < 0 ? (bytes + 1) / element - 1 : bytes / element) << " of " << range->name;
  if (range->forbidden)
    text << " of an earlier call; call and tensors are gone when the call returns";
  else if (range->name[0] != '\0')
    text << ", which has " << count << (count == 1 ? " element" : " elements");
  return true;
}

}  // namespace tenon::checks
