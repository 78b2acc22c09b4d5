// Gives training access to variables and states whose memory several sessions and graphs share.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/session.hpp>
#include <vector>

#include "run/execution/streams.hpp"
#include "run/impl_access.hpp"

namespace tenon {

/// A session's variables and states in the session's memory: the session's runs read and change
/// them, and so may other code between its runs. Addresses stay valid while the session trains. The
/// session outlives this. Threads: one at a time, with the session.
class SharedValues {
 public:
  explicit SharedValues(const Session& session) : session_(impl_of(session)) {}

  const Graph& graph() const;
  /// The session's own memory. Throws Failure (usage) for a value that the session does not store.
  const Tensor& tensor(std::string_view name) const;
  /// Makes `graph` share the session's memory for the values of these names.
  void share_with(Graph& graph, const std::vector<std::string>& names) const;

  struct State {
    std::string name;
    Tensor tensor;
    Stream stream;  ///< of the kernels that change it
  };
  /// All states, in the order of the graph's values.
  std::vector<State> states() const;

  /// Failed runs no longer restore accumulating destinations: the caller drops them.
  void skip_sum_restore();

 private:
  Session::Impl& session_;
};

}  // namespace tenon
