#include "plugin/loading/library.hpp"

#include <dlfcn.h>

#include <boost/dll/shared_library.hpp>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <utility>

#include "device/float_modes.hpp"
#include "io/crash/crash_handler.hpp"
#include "io/memory_file.hpp"
#include "io/utf8.hpp"
#include "plugin/loading/system_loader.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

namespace dll = boost::dll;

PluginError threw(const std::string& source, const char* what) {
  return {PluginStatus::crashed,
          "is broken: " + source + " threw" +
              (what ? ": " + printable(what) : std::string(" an unknown exception"))};
}

/// Keeps a library loaded for good: destroying the object would unload it.
const dll::shared_library* keep_loaded(dll::shared_library library) {
  static std::mutex mutex;
  static auto& libraries = *new std::list<dll::shared_library>;
  const std::lock_guard lock(mutex);
  return &libraries.emplace_back(std::move(library));
}

/// Restores the floating-point modes on destruction, and describes the ones it found.
class ModesGuard {
 public:
  explicit ModesGuard(std::string& left) : changed_(left) {}
  ~ModesGuard() {
    const auto now = FloatModes::after_call();
    if (now == before_) return;
    before_.set();
    changed_ = now.difference_from(before_);
  }
  ModesGuard(const ModesGuard&) = delete;
  ModesGuard& operator=(const ModesGuard&) = delete;

 private:
  std::string& changed_;
  FloatModes before_ = FloatModes::now();
};

const dll::shared_library* open_library(const std::filesystem::path& path, const CodeOwner* owner,
                                        std::string& changed_modes) {
  const ModesGuard around(changed_modes);
  const CallScope call(owner, PluginFunction::load);
  dll::shared_library library;
  std::error_code error;
  try {
    library.load(path, error, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  } catch (const std::exception& thrown) {
    throw threw("an initializer", thrown.what());
  } catch (...) {
    throw threw("an initializer", nullptr);
  }
  guard_exit();
  if (!error) return keep_loaded(std::move(library));
  const char* reason = dlerror();
  throw explain_loader_message(reason ? reason : "the system's loader gave no reason");
}

const tenon_operator* call(tenon_get_function get, const std::string& symbol,
                           const tenon_host& host, const CodeOwner* owner,
                           std::string& changed_modes) {
  const ModesGuard around(changed_modes);
  const CallScope call(owner, PluginFunction::get);
  try {
    return get(&host);
  } catch (const std::exception& thrown) {
    throw threw(symbol, thrown.what());
  } catch (...) {
    throw threw(symbol, nullptr);
  }
}

}  // namespace

Library::Library(const std::filesystem::path& path, const std::filesystem::path& file)
    : owner_(code_owner("", file.empty() ? path.native() : file.native())),
      library_(open_library(path, owner_, changed_modes_)) {
  if (!file.empty()) name_loaded_file(library_->native(), file.c_str());
}

const tenon_operator* Library::table(const std::string& symbol, TableRole role,
                                     const tenon_host& host) {
  if (!library_->has(symbol))
    throw PluginError(PluginStatus::broken_manifest,
                      "is broken: after loading, it lacks the function " + symbol);
  const auto get = reinterpret_cast<tenon_get_function>(
      &library_->get<const tenon_operator*(const tenon_host*)>(symbol));
  const tenon_operator* table = call(get, symbol, host, owner_, changed_modes_);
  const char* fault = table_fault(table, role);
  if (fault)
    throw PluginError(PluginStatus::broken_manifest,
                      "is broken: the table returned by " + symbol + " " + fault);
  return table;
}

}  // namespace tenon
