// Tracks which plugin code each thread runs, to name it if the process crashes.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

/// An operator's code and its origin. Never freed, because plugin objects may outlive their host.
struct CodeOwner {
  const char* op;      ///< empty for the plugin as a whole
  const char* plugin;  ///< its path; empty for the application or the host itself
};

/// Returns the same object for the same names. Thread-safe.
const CodeOwner* code_owner(std::string_view op, std::string_view plugin);

enum class PluginFunction : std::uint8_t {
  none,
  load,
  get,
  create,
  destroy,
  infer,
  infer_storage,
  workspace,
  gradient,
  forward,
  backward,
  compose,
  supports,
  prepare,
  flops,
  trace,
  algorithm
};
/// Example: `forward()`.
const char* name_of(PluginFunction function);

/// A call into a plugin, while it lasts.
struct ActiveCall {
  const CodeOwner* owner = nullptr;
  const char* node = nullptr;  ///< null outside of graphs
  PluginFunction function = PluginFunction::none;
};

/// A thread's current call. Written only by its thread; read by signal handlers, other threads, and
/// a parent process after this one has died.
class CallSlot {
 public:
  /// Returns the calling thread's slot.
  static CallSlot& here() {
    auto* const slot = of_this_thread_;
    return slot != nullptr ? *slot : make();
  }
  /// Same, or null if the thread never called a plugin. Async-signal-safe: searches the slots of
  /// all threads.
  static CallSlot* here_if_any() noexcept;
  /// Returns the newest slot of all threads; next() returns the next older one. Slots are never
  /// freed.
  static CallSlot* newest() { return newest_->load(std::memory_order_acquire); }
  CallSlot* next() const { return next_; }
  using List = std::atomic<CallSlot*>;
  /// Stores the list's head in memory that a parent process can see. Call before any thread has a
  /// slot.
  static void store_list_in(List& list) { newest_ = &list; }

  const ActiveCall* current() const { return current_.load(std::memory_order_acquire); }
  /// Returns a number that changes with every enter() and leave().
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  /// Returns the owner of the code that ran last if none is running.
  const CodeOwner* last() const { return last_.load(std::memory_order_relaxed); }

  void enter(const ActiveCall* call) {
    current_.store(call, std::memory_order_release);
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Returns to the previous call.
  void leave(const ActiveCall* before) {
    if (const auto* call = current(); before == nullptr && call != nullptr)
      last_.store(call->owner, std::memory_order_relaxed);
    enter(before);
  }

  /// Sets the node at which further calls are made, null for none; returns the previous one.
  const char* at_node(const char* node) {
    const auto* const before = node_;
    node_ = node;
    return before;
  }
  const char* node() const { return node_; }

  /// For the thread that limits the duration of calls: the last value of changes(), and since when.
  struct Seen {
    std::uint64_t changes = 0;
    std::int64_t since = 0;
  };
  Seen seen{};

  static constexpr std::size_t max_frames = 6, max_node_bytes = 104;
  /// A call without a prepared record, with a copy of the node's name. Nested calls have a frame
  /// each; null if there are too many.
  struct Frame {
    ActiveCall call;
    char node[max_node_bytes];
  };
  Frame* push_frame() { return depth_++ < max_frames ? &frames_[depth_ - 1] : nullptr; }
  void pop_frame() { --depth_; }

 private:
  friend class SlotOfThread;
  static CallSlot& make();

  static inline thread_local constinit CallSlot* of_this_thread_ = nullptr;
  static inline List default_list_ = nullptr;
  static inline List* newest_ = &default_list_;

  std::atomic<const ActiveCall*> current_ = nullptr;
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<const CodeOwner*> last_ = nullptr;
  const char* node_ = nullptr;
  std::size_t depth_ = 0;
  Frame frames_[max_frames];
  CallSlot* next_ = nullptr;
  std::atomic<bool> in_use_ = false;
  std::atomic<pid_t> thread_ = 0;  ///< the slot's thread
};

/// Sets the node of a graph at which calls are made, for the lifetime of this object.
class AtNode {
 public:
  explicit AtNode(const char* node) : slot_(CallSlot::here()), before_(slot_.at_node(node)) {}
  ~AtNode() { slot_.at_node(before_); }
  AtNode(const AtNode&) = delete;
  AtNode& operator=(const AtNode&) = delete;

 private:
  CallSlot& slot_;
  const char* before_;
};

/// Wraps one call.
class CallScope {
 public:
  CallScope(const CodeOwner* owner, PluginFunction function);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  CallSlot& slot_;
  const ActiveCall* before_;
};

/// Wraps a sequence of calls that enter() names.
class CallSequenceScope {
 public:
  CallSequenceScope() : slot_(CallSlot::here()), before_(slot_.current()) {}
  ~CallSequenceScope() { slot_.leave(before_); }
  CallSequenceScope(const CallSequenceScope&) = delete;
  CallSequenceScope& operator=(const CallSequenceScope&) = delete;
  void enter(const ActiveCall* call) { slot_.enter(call); }

 private:
  CallSlot& slot_;
  const ActiveCall* before_;
};

/// Records of calls that are made repeatedly.
class CallRecords {
 public:
  /// `count` records and `name_bytes` bytes of NUL-terminated names.
  CallRecords(std::size_t count, std::size_t name_bytes);
  ~CallRecords();
  CallRecords(const CallRecords&) = delete;
  CallRecords& operator=(const CallRecords&) = delete;
  const ActiveCall* add(const CodeOwner* owner, std::string_view node, PluginFunction function);

 private:
  std::size_t bytes_;
  ActiveCall* next_;
  char* names_;
  void* memory_;
};

/// Must be called first in the copy: gives its threads new slots in private memory.
void detach_from_original() noexcept;

}  // namespace tenon
