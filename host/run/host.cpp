#include <atomic>
#include <cstdlib>
#include <string>
#include <tenon/host/crash.hpp>
#include <tenon/host/host.hpp>

#include "device/devices.hpp"
#include "graph/operators/host_operators.hpp"
#include "plugin/library_location.hpp"
#include "run/builtin_operators.hpp"
#include "run/calls/eager_call.hpp"
#include "run/control_flow/control_flow.hpp"
#include "run/host_impl.hpp"
#include "run/impl_access.hpp"
#include "run/session/optimized_graph.hpp"

namespace tenon {
namespace {

PluginOptions plugin_options(const HostOptions& options, Warnings& warnings, int threads) {
  PluginOptions plugin;
  plugin.warn = [&warnings](const std::string& key, const std::string& sentence) {
    warnings.once(key, sentence);
  };
  plugin.cache = options.cache;
  plugin.trust_writable = options.trust_writable;
  plugin.trusted_only = options.trusted_only;
  plugin.config = options.config;
  plugin.prefer = options.prefer;
  const auto& isolate = options.isolate;
  plugin.isolation = {isolate.all,    isolate.plugins, isolate.call_seconds,
                      isolate.memory, threads,         {}};
  if (isolate.memory == 0 && (isolate.all || !isolate.plugins.empty()))
    plugin.isolation.memory = cpu_device().memory().total / 2;
  return plugin;
}

constexpr std::size_t max_idle_calls =
    256;  // bounds the cache, because every call may have new shapes

std::uint64_t next_host_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

Host::Impl::Impl(HostOptions user_options)
    : number(next_host_number()),
      options(std::move(user_options)),
      threads(options.threads),
      warnings(options.strict_storage, options.warn),
      plugin_set(plugin_options(options, warnings, threads.count()), host_table()),
      calls(std::make_unique<CallCache<EagerCall>>(max_idle_calls)),
      rules(std::make_unique<RuleCache>()),
      random(options.seed) {
  if (options.name_crashes) name_crashes();
  add_gradient_operators(plugin_set);
  add_storage_operators(plugin_set);
  add_control_operators(*this);
  BuiltinOperators::add_to(*this);
}

std::vector<BuiltinOperators::Add>& BuiltinOperators::all() {
  static std::vector<Add> all;
  return all;
}

Host::Impl::~Impl() = default;

// Scanned on first use. Plugins that the application adds take precedence, whether added before or
// after.
PluginSet& Host::Impl::plugins() {
  std::call_once(defaults_scanned, [this] {
    if (!options.search_defaults) return;
    plugin_set.scan_defaults(default_plugins());
  });
  return plugin_set;
}

PluginSet& plugins_of(Host& host) {
  return impl_of(host).plugins();
}

Threads& threads_of(Host& host) {
  return impl_of(host).threads;
}

Warnings& warnings_of(Host& host) {
  return impl_of(host).warnings;
}

Host::Host(HostOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}
Host::Host(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Host::~Host() = default;

void Host::add_plugins(const std::filesystem::path& folder_or_file) {
  if (std::filesystem::is_regular_file(folder_or_file))
    impl_->plugin_set.add_file(folder_or_file);
  else
    impl_->plugin_set.scan(folder_or_file);
}

Catalog Host::catalog() {
  return impl_->plugins().catalog();
}

std::uint64_t Host::generation() const {
  return impl_->plugin_set.generation();
}

HostVersion Host::version() const {
  return impl_->version();
}

void Host::seed(std::uint64_t seed) {
  impl_->random.start(seed);
}

std::string Host::add_operator(std::string_view manifest, const tenon_operator* table,
                               OperatorFactory make) {
  return impl_->plugin_set.add(std::as_bytes(std::span(manifest)), table, std::move(make));
}

int Host::threads() const {
  return impl_->threads.count();
}

}  // namespace tenon
