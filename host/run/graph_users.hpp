// Who uses a graph: threads that read it, or the one that changes it.
#pragma once
#include <atomic>
#include <tenon/host/failure.hpp>
#include <thread>

namespace tenon {

class GraphUsers {
 public:
  /// Held while one of the graph's functions runs. Throws Failure (usage) where another thread changes the graph. Within a change of the
  /// same thread it is part of that.
  class Reading {
   public:
    explicit Reading(GraphUsers& graph) : graph_(graph), counts_(!graph.is_own_change()) {
      if (!counts_) return;
      int readers = graph_.readers_.load();
      do {
        if (readers == change) refuse();
      } while (!graph_.readers_.compare_exchange_weak(readers, readers + 1));
    }
    ~Reading() {
      if (counts_) graph_.readers_.fetch_sub(1);
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    GraphUsers& graph_;
    const bool counts_;
  };

  /// The same for what changes the graph: nobody else may even read it.
  class Changing {
   public:
    explicit Changing(GraphUsers& graph) : graph_(graph), counts_(!graph.is_own_change()) {
      if (!counts_) return;
      if (int none = 0; !graph_.readers_.compare_exchange_strong(none, change)) refuse();
      graph_.changing_.store(std::this_thread::get_id());
    }
    ~Changing() {
      if (!counts_) return;
      graph_.changing_.store({});
      graph_.readers_.store(0);
    }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    GraphUsers& graph_;
    const bool counts_;
  };

 private:
  static constexpr int change = -1;  // instead of a number of readers

  bool is_own_change() const { return changing_.load() == std::this_thread::get_id(); }
  [[noreturn]] static void refuse() {
    throw Failure(FailureKind::usage, "the graph is in use by another thread",
                  "let one thread at a time use a graph that is being edited; clone() makes an independent one");
  }

  std::atomic<int> readers_ = 0;
  std::atomic<std::thread::id> changing_{};
};

}  // namespace tenon
