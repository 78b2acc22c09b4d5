// The class Graph, and a base for objects that one thread may use at a time.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tenon/host/graph.hpp>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// Runs `work` without the GIL, for one thread at a time. A concurrent call gets a Failure (usage)
/// instead of waiting, since it may be nested in the first one.
class ExclusiveUse {
 public:
  template <class Work>
  decltype(auto) operator()(const char* what, Work&& work) {
    const Use use(*this, what);
    const Released released;
    return std::forward<Work>(work)();
  }

 private:
  struct Use {
    Use(ExclusiveUse& object, const char* what) : used(object.used_) {
      if (used.exchange(true))
        throw Failure(FailureKind::usage, std::string("the ") + what + " is in use by another call",
                      std::string("create one ") + what + " for each thread");
    }
    ~Use() { used = false; }
    std::atomic<bool>& used;
  };
  std::atomic<bool> used_ = false;
};

/// An object that its user may close. Using it afterwards is a Failure (usage).
template <class Object>
struct Closable {
  explicit Closable(const char* name) : what(name) {}
  template <class Work>
  decltype(auto) use(Work&& work) {
    return exclusive(what, [&]() -> decltype(auto) {
      if (!open) throw Failure(FailureKind::usage, std::string("the ") + what + " is closed");
      return work(*open);
    });
  }
  void close() {
    exclusive(what, [&] { open.reset(); });
  }
  const char* what;
  std::optional<Object> open;
  ExclusiveUse exclusive;
};

struct GraphHandle {
  explicit GraphHandle(Graph new_graph) : graph(std::move(new_graph)) {}
  template <class Work>
  decltype(auto) use(Work&& work) {
    return (*exclusive)("graph", [&]() -> decltype(auto) { return work(graph); });
  }
  Graph graph;
  std::shared_ptr<ExclusiveUse> exclusive = std::make_shared<ExclusiveUse>();
};

nb::dict value_to_python(const ValueInfo& value);
std::map<std::string, Shape> shapes_from(nb::dict items);
void bind_graph(nb::module_& module);

}  // namespace tenon::python
