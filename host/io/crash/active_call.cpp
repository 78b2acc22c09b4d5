#include "io/crash/active_call.hpp"

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

namespace tenon {
namespace {

const char* copy_text(std::string_view text) {
  auto* const copy = static_cast<char*>(allocate_crash_memory(text.size() + 1));
  std::copy(text.begin(), text.end(), copy);
  return copy;
}

}  // namespace

const CodeOwner* code_owner(std::string_view op, std::string_view plugin) {
  static std::mutex keeping;
  static auto& all =
      *new std::map<std::pair<std::string, std::string>, const CodeOwner*, std::less<>>;
  const std::lock_guard lock(keeping);
  auto& owner = all[{std::string(op), std::string(plugin)}];
  if (owner == nullptr)
    owner =
        new (allocate_crash_memory(sizeof(CodeOwner))) CodeOwner{copy_text(op), copy_text(plugin)};
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
    if (slot == nullptr || slot->current() != nullptr) return;
    CallSlot::of_this_thread_ = nullptr;
    slot->thread_.store(0, std::memory_order_relaxed);
    slot->in_use_.store(false, std::memory_order_release);
  }
  static void forget_all() {
    CallSlot::of_this_thread_ = nullptr;
    CallSlot::default_list_ = nullptr;
    CallSlot::newest_ = &CallSlot::default_list_;
  }
  CallSlot* slot = nullptr;
};

void detach_from_original() noexcept {
  detach_crash_memory();
  SlotOfThread::forget_all();
}

// Does not use the thread-local variable, whose first use in a thread allocates.
CallSlot* CallSlot::here_if_any() noexcept {
  const auto thread = gettid();
  auto* slot = newest();
  while (slot != nullptr && slot->thread_.load(std::memory_order_acquire) != thread)
    slot = slot->next_;
  return slot;
}

CallSlot& CallSlot::make() {
  thread_local SlotOfThread owned;
  CallSlot* slot = newest();
  for (bool free = false; slot != nullptr && !slot->in_use_.compare_exchange_strong(free, true);
       free = false)
    slot = slot->next_;
  if (slot == nullptr) {
    slot = new (allocate_crash_memory(sizeof(CallSlot))) CallSlot;
    slot->in_use_ = true;
    slot->next_ = newest();
    while (!newest_->compare_exchange_weak(slot->next_, slot)) continue;
  }
  slot->thread_.store(gettid(), std::memory_order_release);
  of_this_thread_ = owned.slot = slot;
  install_thread_signal_stack();
  return *slot;
}

CallScope::CallScope(const CodeOwner* owner, PluginFunction function)
    : slot_(CallSlot::here()), before_(slot_.current()) {
  auto* const frame = slot_.push_frame();
  if (frame == nullptr) return;
  frame->call = {owner, nullptr, function};
  if (const auto* node = slot_.node(); node != nullptr) {
    const auto size = std::min(std::strlen(node), sizeof frame->node - 1);
    std::memcpy(frame->node, node, size);
    frame->node[size] = '\0';
    frame->call.node = frame->node;
  }
  slot_.enter(&frame->call);
}

CallScope::~CallScope() {
  slot_.leave(before_);
  slot_.pop_frame();
}

CallRecords::CallRecords(std::size_t count, std::size_t name_bytes)
    : bytes_(count * sizeof(ActiveCall) + name_bytes), memory_(allocate_crash_memory(bytes_)) {
  next_ = static_cast<ActiveCall*>(memory_);
  names_ = reinterpret_cast<char*>(next_ + count);
}

CallRecords::~CallRecords() {
  free_crash_memory(memory_, bytes_);
}

const ActiveCall* CallRecords::add(const CodeOwner* owner, std::string_view node,
                                   PluginFunction function) {
  auto* const call = new (next_++) ActiveCall{owner, nullptr, function};
  if (node.empty()) return call;
  call->node = names_;
  names_ = std::copy(node.begin(), node.end(), names_);
  *names_++ = '\0';
  return call;
}

}  // namespace tenon
