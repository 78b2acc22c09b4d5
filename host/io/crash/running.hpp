// Who runs now: whose code each thread is in, for whoever must name it when the process dies of it.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

/// An operator's code and where it comes from. Kept for good, for objects of plugins outlive their hosts.
struct CodeOwner {
  const char* op;      ///< empty: the plugin as a whole
  const char* plugin;  ///< its path; empty: the application, or the host itself
};

/// The same object for the same names. Threads: any.
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
/// `forward()`
const char* name_of(PluginFunction function);

/// A call into a plugin, for as long as it lasts.
struct Running {
  const CodeOwner* owner = nullptr;
  const char* node = nullptr;  ///< null: outside of graphs
  PluginFunction function = PluginFunction::none;
};

/// What a thread is doing. Written by its thread alone; read by signal handlers, by other threads, and by a parent process after the
/// death of this one.
class RunningSlot {
 public:
  /// The calling thread's.
  static RunningSlot& here() {
    auto* const slot = own_;
    return slot != nullptr ? *slot : make();
  }
  /// The same, or null where the thread never ran any plugin. Async-signal-safe: it looks at all threads' slots.
  static RunningSlot* here_if_any() noexcept;
  /// The newest of all threads' slots, and the next older one. Slots are never freed.
  static RunningSlot* newest() { return newest_->load(std::memory_order_acquire); }
  RunningSlot* next() const { return next_; }
  using List = std::atomic<RunningSlot*>;
  /// Where the newest is kept from here on, in memory that a parent process sees; before any thread has a slot.
  static void keep_list_in(List& list) { newest_ = &list; }

  const Running* now() const { return now_.load(std::memory_order_acquire); }
  /// Another one after each enter() and leave().
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  /// Whose code ran last, where none runs now.
  const CodeOwner* last() const { return last_.load(std::memory_order_relaxed); }

  void enter(const Running* running) {
    now_.store(running, std::memory_order_release);
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Back to what ran before.
  void leave(const Running* before) {
    if (const auto* running = now(); before == nullptr && running != nullptr) last_.store(running->owner, std::memory_order_relaxed);
    enter(before);
  }

  /// At which node calls are made from here on, null for none; gives back what was said before.
  const char* at_node(const char* node) {
    const auto* const before = node_;
    node_ = node;
    return before;
  }
  const char* node() const { return node_; }

  /// For whoever watches how long calls take: what changes() was, and since when.
  struct Seen {
    std::uint64_t changes = 0;
    std::int64_t since = 0;
  };
  Seen seen{};

  static constexpr std::size_t most_frames = 6, most_node_bytes = 104;
  /// A call that was not prepared, with a copy of the node's name. Nested ones have a frame each; null: too many.
  struct Frame {
    Running running;
    char node[most_node_bytes];
  };
  Frame* push_frame() { return depth_++ < most_frames ? &frames_[depth_ - 1] : nullptr; }
  void pop_frame() { --depth_; }

 private:
  friend class SlotOfThread;
  static RunningSlot& make();

  static inline thread_local constinit RunningSlot* own_ = nullptr;
  static inline List own_list_ = nullptr;
  static inline List* newest_ = &own_list_;

  std::atomic<const Running*> now_ = nullptr;
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<const CodeOwner*> last_ = nullptr;
  const char* node_ = nullptr;
  std::size_t depth_ = 0;
  Frame frames_[most_frames];
  RunningSlot* next_ = nullptr;
  std::atomic<bool> taken_ = false;
  std::atomic<pid_t> thread_ = 0;  ///< whose slot it is
};

/// Calls from here on are made at that node of a graph.
class AtNode {
 public:
  explicit AtNode(const char* node) : slot_(RunningSlot::here()), before_(slot_.at_node(node)) {}
  ~AtNode() { slot_.at_node(before_); }
  AtNode(const AtNode&) = delete;
  AtNode& operator=(const AtNode&) = delete;

 private:
  RunningSlot& slot_;
  const char* before_;
};

/// Around one call.
class RunningCall {
 public:
  RunningCall(const CodeOwner* owner, PluginFunction function);
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  RunningSlot& slot_;
  const Running* before_;
};

/// Around calls that enter() names one after another.
class RunningCalls {
 public:
  RunningCalls() : slot_(RunningSlot::here()), before_(slot_.now()) {}
  ~RunningCalls() { slot_.leave(before_); }
  RunningCalls(const RunningCalls&) = delete;
  RunningCalls& operator=(const RunningCalls&) = delete;
  void enter(const Running* running) { slot_.enter(running); }

 private:
  RunningSlot& slot_;
  const Running* before_;
};

/// Calls that are made again and again, named once.
class RunningRecords {
 public:
  /// So many, with so many bytes of names, a zero after each.
  RunningRecords(std::size_t count, std::size_t name_bytes);
  ~RunningRecords();
  RunningRecords(const RunningRecords&) = delete;
  RunningRecords& operator=(const RunningRecords&) = delete;
  const Running* add(const CodeOwner* owner, std::string_view node, PluginFunction function);

 private:
  std::size_t bytes_;
  Running* next_;
  char* names_;
  void* memory_;
};

}  // namespace tenon
