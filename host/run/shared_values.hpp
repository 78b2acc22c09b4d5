// Variables and states whose memory several sessions and graphs share, as training does.
#pragma once
#include <string>
#include <string_view>
#include <tenon/host/session.hpp>
#include <vector>

#include "run/execution/streams.hpp"
#include "run/inner.hpp"

namespace tenon {

/// A session's variables and states where they lie: runs of the session read and change them, and so may others between its runs. Addresses
/// stay for as long as the session trains. The session outlives this. Threads: one at a time, with the session.
class SharedValues {
 public:
  explicit SharedValues(const Session& session) : session_(impl_of(session)) {}

  const Graph& graph() const;
  /// The session's own memory. Throws Failure (usage) for a value that the session does not keep.
  const Tensor& tensor(std::string_view name) const;
  /// From here on `graph` has the session's memory for the values of these names.
  void share_with(Graph& graph, const std::vector<std::string>& names) const;

  struct State {
    std::string name;
    Tensor tensor;
    Stream stream;  ///< of the kernels that change it
  };
  /// All states, in the order of the graph's values.
  std::vector<State> states() const;

  /// Destinations that a run adds to keep what a run that fails has added: the caller drops them then.
  void keep_failed_sums();

 private:
  Session::Impl& session_;
};

}  // namespace tenon
