#include "check/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace tenon::checks {
namespace {

constexpr std::size_t page = 4096;

// The signal handler reads these: fixed places, nothing allocated.
struct Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> forbidden{false};
};
Range ranges[256];
volatile int report_pipe = -1;

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

  /// The first and the last page become guards.
  void protect() {
    mprotect(memory_, page, PROT_NONE);
    mprotect(memory_ + size_ - page, page, PROT_NONE);
    for (auto& range : ranges) {
      std::uintptr_t nothing = 0;
      const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
      if (!range.begin.compare_exchange_strong(nothing, begin)) continue;
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

void on_bad_access(int signal_number, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const auto& range : ranges) {
    if (address < range.begin || address >= range.end) continue;
    static constexpr char after[] = "3 touches memory right behind a tensor's last element\n";
    static constexpr char before[] = "3 touches memory right before a tensor's first element\n";
    static constexpr char earlier[] = "3 uses an earlier call or its tensors; they are gone when the call returns\n";
    const std::string_view text = range.forbidden ? earlier : address < range.begin + page ? before : after;
    [[maybe_unused]] const auto written = write(report_pipe, text.data(), text.size());
    _exit(0);
  }
  signal(signal_number, SIG_DFL);  // the access is repeated, and ends the process as it would have
}

}  // namespace

Tensor guarded_tensor(DType dtype, const Shape& shape, Placement placement, std::uint8_t fill) {
  const auto bytes = static_cast<std::size_t>(shape.size()) * size_of(dtype);
  auto mapping = std::make_shared<Mapping>(bytes);
  std::byte* data = place_in(*mapping, bytes, size_of(dtype), placement);
  std::memset(data, fill, bytes);
  if (placement == Placement::after_guard || placement == Placement::before_guard) mapping->protect();
  return Tensor::borrow(data, dtype, shape, {}, mapping);
}

void forbid(const Tensor& tensor) {
  if (!tensor) return;
  const auto data = reinterpret_cast<std::uintptr_t>(tensor.data());
  for (auto& range : ranges) {
    const auto begin = range.begin.load(), end = range.end.load();
    if (data < begin || data >= end) continue;
    range.forbidden = true;
    mprotect(static_cast<std::byte*>(tensor.data()) - (data - begin), end - begin, PROT_NONE);
  }
}

void report_guard_hits(int pipe) {
  report_pipe = pipe;
  struct sigaction action {};
  action.sa_sigaction = on_bad_access;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace tenon::checks
