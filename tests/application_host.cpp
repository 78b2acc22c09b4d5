#include "application_host.hpp"

#include "application_operators.hpp"

tenon::HostOptions ApplicationHost::options(int threads) {
  tenon::HostOptions options;
  options.threads = threads;
  options.search_defaults = false;
  return options;
}

tenon::HostOptions ApplicationHost::options(int threads, std::vector<std::string>& warnings) {
  auto host_options = options(threads);
  host_options.warn = [&warnings](const std::string& text) { warnings.push_back(text); };
  return host_options;
}

ApplicationHost::ApplicationHost(tenon::HostOptions options) : tenon::Host(std::move(options)) {
  add<Quadratic>();
  add<Cosine>();
  add<Dropout>();
  add<FullyConnected>();
  add<TestAdd>();
  add<Halves>();
  add<Counter>();
  add<Reverse>();
}
