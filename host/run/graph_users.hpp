// Tracks the threads that use a graph: many that read it, or one that changes it.
#pragma once
#include <atomic>
#include <tenon/host/failure.hpp>
#include <thread>

namespace tenon {

class GraphUsers {
 public:
  /// Held while a function reads the graph. Throws Failure (usage) if another thread changes the
  /// graph. Inside a change by the same thread it is part of that change.
  class ReadGuard {
   public:
    explicit ReadGuard(GraphUsers& graph) : graph_(graph), outermost_(!graph.is_own_change()) {
      if (!outermost_) return;
      int readers = graph_.readers_.load();
      do {
        if (readers == change) refuse();
      } while (!graph_.readers_.compare_exchange_weak(readers, readers + 1));
    }
    ~ReadGuard() {
      if (outermost_) graph_.readers_.fetch_sub(1);
    }
    ReadGuard(const ReadGuard&) = delete;
    ReadGuard& operator=(const ReadGuard&) = delete;

   private:
    GraphUsers& graph_;
    const bool outermost_;
  };

  /// Like ReadGuard, for functions that change the graph: no other thread may read it meanwhile.
  class WriteGuard {
   public:
    explicit WriteGuard(GraphUsers& graph) : graph_(graph), outermost_(!graph.is_own_change()) {
      if (!outermost_) return;
      if (int none = 0; !graph_.readers_.compare_exchange_strong(none, change)) refuse();
      graph_.changing_.store(std::this_thread::get_id());
    }
    ~WriteGuard() {
      if (!outermost_) return;
      graph_.changing_.store({});
      graph_.readers_.store(0);
    }
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

   private:
    GraphUsers& graph_;
    const bool outermost_;
  };

 private:
  static constexpr int change = -1;  // stored instead of a number of readers

  bool is_own_change() const { return changing_.load() == std::this_thread::get_id(); }
  [[noreturn]] static void refuse() {
    throw Failure(FailureKind::usage, "the graph is in use by another thread",
                  "use a graph that is being edited from one thread at a time; clone() makes an "
                  "independent copy");
  }

  std::atomic<int> readers_ = 0;
  std::atomic<std::thread::id> changing_{};
};

}  // namespace tenon
