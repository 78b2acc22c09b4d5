// A host for tests that need operators but no plugin.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <vector>

/// Has the operators of application_operators.hpp and no plugin folders. They are registered in one
/// source, because compiling them takes longer than any test.
struct ApplicationHost : tenon::Host {
  ApplicationHost() : ApplicationHost(2) {}
  explicit ApplicationHost(int threads) : ApplicationHost(options(threads)) {}
  explicit ApplicationHost(tenon::HostOptions options);
  static tenon::HostOptions options(int threads);
  /// Appends warnings to this list, which must outlive the host.
  static tenon::HostOptions options(int threads, std::vector<std::string>& warnings);
};
