#include "io/crash/running.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "io/crash/crash_memory.hpp"
#include "io/crash/signal_stack.hpp"
#include "io/crash/slots_of_copy.hpp"

namespace tenon {
namespace {

const char* keep_text(std::string_view text) {
  auto* const kept = static_cast<char*>(take_crash_memory(text.size() + 1));
  std::copy(text.begin(), text.end(), kept);
  return kept;
}

}  // namespace

const CodeOwner* code_owner(std::string_view op, std::string_view plugin) {
  static std::mutex keeping;
  static auto& all =
      *new std::map<std::pair<std::string, std::string>, const CodeOwner*, std::less<>>;
  const std::lock_guard lock(keeping);
  auto& owner = all[{std::string(op), std::string(plugin)}];
  if (owner == nullptr)
    owner = new (take_crash_memory(sizeof(CodeOwner))) CodeOwner{keep_text(op), keep_text(plugin)};
  return owner;
}

const char* name_of(PluginFunction function) {
  constexpr const char* names[] = {"",
                                   "load",
                                   "its table's function",
                                   "create()",
                                   "destroy()",
                                   "infer()",
                                   "infer_storage()",
                                   "workspace()",
                                   "gradient()",
                                   "forward()",
                                   "backward()",
                                   "forward(Compose&)",
                                   "supports()",
                                   "prepare()",
                                   "flops()",
                                   "operator()",
                                   "algorithm()"};
  const auto number = static_cast<std::size_t>(function);
  return number < std::size(names) ? names[number] : "";
}

/// Releases the slot for another thread when its own thread ends.
class SlotOfThread {
 public:
  ~SlotOfThread() {
    // exit() within a call destroys thread-local objects first
    if (slot == nullptr || slot->now() != nullptr) return;
    RunningSlot::own_ = nullptr;
    slot->thread_.store(0, std::memory_order_relaxed);
    slot->taken_.store(false, std::memory_order_release);
  }
  static void forget_all() {
    RunningSlot::own_ = nullptr;
    RunningSlot::own_list_ = nullptr;
    RunningSlot::newest_ = &RunningSlot::own_list_;
  }
  RunningSlot* slot = nullptr;
};

void part_from_original() noexcept {
  leave_crash_memory();
  SlotOfThread::forget_all();
}

// Does not use the thread-local variable, whose first use in a thread allocates.
RunningSlot* RunningSlot::here_if_any() noexcept {
  const auto thread = gettid();
  auto* slot = newest();
  while (slot != nullptr && slot->thread_.load(std::memory_order_acquire) != thread)
    slot = slot->next_;
  return slot;
}

RunningSlot& RunningSlot::make() {
  thread_local SlotOfThread kept;
  RunningSlot* slot = newest();
  for (bool free = false; slot != nullptr && !slot->taken_.compare_exchange_strong(free, true);
       free = false)
    slot = slot->next_;
  if (slot == nullptr) {
    slot = new (take_crash_memory(sizeof(RunningSlot))) RunningSlot;
    slot->taken_ = true;
    slot->next_ = newest();
    while (!newest_->compare_exchange_weak(slot->next_, slot)) continue;
  }
  slot->thread_.store(gettid(), std::memory_order_release);
  own_ = kept.slot = slot;
  give_thread_signal_stack();
  return *slot;
}

RunningCall::RunningCall(const CodeOwner* owner, PluginFunction function)
    : slot_(RunningSlot::here()), before_(slot_.now()) {
  auto* const frame = slot_.push_frame();
  if (frame == nullptr) return;
  frame->running = {owner, nullptr, function};
  if (const auto* node = slot_.node(); node != nullptr) {
    const auto size = std::min(std::strlen(node), sizeof frame->node - 1);
    std::memcpy(frame->node, node, size);
    frame->node[size] = '\0';
    frame->running.node = frame->node;
  }
  slot_.enter(&frame->running);
}

RunningCall::~RunningCall() {
  slot_.leave(before_);
  slot_.pop_frame();
}

RunningRecords::RunningRecords(std::size_t count, std::size_t name_bytes)
    : bytes_(count * sizeof(Running) + name_bytes), memory_(take_crash_memory(bytes_)) {
  next_ = static_cast<Running*>(memory_);
  names_ = reinterpret_cast<char*>(next_ + count);
}

RunningRecords::~RunningRecords() {
  give_back_crash_memory(memory_, bytes_);
}

const Running* RunningRecords::add(const CodeOwner* owner, std::string_view node,
                                   PluginFunction function) {
  auto* const running = new (next_++) Running{owner, nullptr, function};
  if (node.empty()) return running;
  running->node = names_;
  names_ = std::copy(node.begin(), node.end(), names_);
  *names_++ = '\0';
  return running;
}

}  // namespace tenon
