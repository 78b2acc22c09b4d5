#include <exception>
#include <tenon/host/failure.hpp>
#include <tenon/host/isolation.hpp>

#include "io/child.hpp"
#include "plugin/library_location.hpp"

namespace tenon {

IsolationInfo isolation_info() {
  const auto program = find_next_to_library("tenon-worker");
  if (program.empty())
    return {{}, "the program tenon-worker is not in the folder of Tenon's library"};
  try {
    Child child({program.string(), "limits"}, {Child::dev_null, Child::report, Child::dev_null},
                {"cannot start " + program.string(), ""});
    const auto outcome = child.watch(10000);
    if (outcome.line) return {*outcome.line, {}};
    return {
        {},
        program.string() + (outcome.timed_out ? " does not respond" : " ends without a response")};
  } catch (const std::exception& error) {
    return {{}, error.what()};
  }
}

}  // namespace tenon
