#include "io/mapped_range.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <tenon/host/mapped_files.hpp>

namespace tenon {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free &&
                  std::atomic<std::uint64_t>::is_always_lock_free,
              "a signal handler reads these atomics");

std::atomic<MappedRange*> MappedRange::first_ = nullptr;
std::atomic<std::size_t> MappedRange::count_ = 0;

static std::uintptr_t page_size() noexcept {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

void MappedRange::set(const Bounds& bounds) {
  ++version_;
  begin_ = bounds.begin;
  end_ = bounds.end;
  descriptor_ = bounds.descriptor;
  owner_ = bounds.owner;
  ++version_;
}

MappedRange::Bounds MappedRange::get() const noexcept {
  for (;;) {
    const auto version = version_.load();
    const Bounds bounds{begin_, end_, descriptor_, owner_};
    if (version % 2 == 0 && version == version_.load()) return bounds;
  }
}

MappedRange& MappedRange::acquire_free_range() {
  for (auto* range = first_.load(); range != nullptr; range = range->next_)
    if (bool free = false; range->in_use_.compare_exchange_strong(free, true)) return *range;
  auto* const added = new MappedRange;
  added->next_ = first_.load();
  while (!first_.compare_exchange_weak(added->next_, added)) {
  }
  return *added;
}

MappedRange& MappedRange::add(const void* begin, std::size_t size, int descriptor,
                              const void* owner) {
  page_size();  // cache it before any signal
  auto& range = acquire_free_range();
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  range.lost_ = false;
  range.set({address, address + size, descriptor, owner});
  ++count_;
  return range;
}

void MappedRange::remove() {
  set({});
  --count_;
  in_use_ = false;
}

MappedRange* MappedRange::find(const void* address, Bounds& bounds) noexcept {
  for (auto* range = first_.load(); range != nullptr; range = range->next_) {
    bounds = range->get();
    if (bounds.contains(reinterpret_cast<std::uintptr_t>(address))) return range;
  }
  return nullptr;
}

const void* MappedRange::owner_of(const void* address) {
  if (count() == 0) return nullptr;
  Bounds bounds;
  return find(address, bounds) == nullptr ? nullptr : bounds.owner;
}

// If the file was truncated, all pages past its end are replaced at once, because otherwise a large
// file would cost a signal per page.
bool MappedRange::repair(const void* address) noexcept {
  Bounds bounds;
  auto* const range = find(address, bounds);
  if (range == nullptr) return false;
  const auto position = reinterpret_cast<std::uintptr_t>(address),
             page = position / page_size() * page_size();
  auto end = page + page_size();
  struct stat status {};
  if (::fstat(bounds.descriptor, &status) == 0 &&
      static_cast<std::uintptr_t>(status.st_size) <= page - bounds.begin)
    end = (bounds.end + page_size() - 1) / page_size() * page_size();
  range->lost_ = true;  // before any thread can read a zero
  return ::mmap(static_cast<std::byte*>(const_cast<void*>(address)) - (position - page), end - page,
                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                0) != MAP_FAILED;
}

bool repair_mapping(const void* address) noexcept {
  const int error = errno;
  const bool repaired = MappedRange::repair(address);
  errno = error;
  return repaired;
}

static struct sigaction before;  // written once, before the handler is installed

// Acts as if there were no handler. A faulting access is repeated after returning; a signal that
// was sent is sent again and arrives after returning.
static void default_action(int signal, const siginfo_t& info) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  if (info.si_code <= 0) ::raise(signal);
}

static void on_bus_error(int signal, siginfo_t* info, void* context) {
  const bool from_the_system = info->si_code > 0;
  if (from_the_system && repair_mapping(info->si_addr)) return;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN && !from_the_system) return;
  if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)
    return default_action(signal, *info);
  before.sa_handler(signal);
}

void install_mapping_guard() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::sigaction(SIGBUS, nullptr, &before);
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

void guard_mapped_files() {
  install_mapping_guard();
}

}  // namespace tenon
