// tenon doctor: reports this machine's devices and tools, and what could keep Tenon from working.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/abi.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <tenon/host/devices.hpp>
#include <tenon/host/isolation.hpp>
#include <tenon/host/launcher.hpp>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

struct Finding {
  std::string what, found;
  bool error = false;
};

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  const std::string list = path == nullptr ? "" : path;
  for (std::size_t begin = 0; begin < list.size();) {
    const auto end = std::min(list.find(':', begin), list.size());
    if (access((fs::path(list.substr(begin, end - begin)) / program).c_str(), X_OK) == 0)
      return true;
    begin = end + 1;
  }
  return false;
}

Finding cuda() {
  const auto state = cuda_info();
  if (state.status == CudaStatus::usable) {
    return {"CUDA", fmt::format("runtime {}, driver for CUDA {}", cuda_version_text(state.runtime),
                                cuda_version_text(state.driver))};
  }
  const bool error = state.status == CudaStatus::broken || state.status == CudaStatus::old_driver;
  return {"CUDA",
          fmt::format("{}; everything runs on the CPU{}", state.reason,
                      state.hint.empty() ? "" : " (" + state.hint + ")"),
          error};
}

Finding look_at(const DeviceInfo& device) {
  if (!device.error.empty()) return {device.name, device.error, true};
  const auto capability =
      device.name == "cpu" ? ""
                           : fmt::format(", compute capability {}.{}", device.major, device.minor);
  return {device.name, fmt::format("{}, {}{}, {} of {} free", device.model,
                                   counted(device.processors, "processor"), capability,
                                   readable_bytes(device.free), readable_bytes(device.total))};
}

Finding isolation() {
  const auto info = isolation_info();
  if (!info.error.empty()) return {"isolation", info.error + "; plugins cannot be isolated", true};
  const bool all = info.limits.find("seccomp") != std::string::npos;
  return {"isolation",
          info.limits +
              (all ? "" : "; without seccomp, isolated plugins can open network connections")};
}

/// Reports this process's rank and the plugins that can reach the other processes.
Finding processes(const Catalog& catalog) {
  std::set<std::string> transports;
  if (const auto* op = catalog.find("tenon.all_reduce"))
    for (const auto& variant : op->variants)
      transports.insert(
          catalog.files()[static_cast<std::size_t>(variant.file)].path.filename().string());
  const auto reach =
      transports.empty()
          ? std::string("no plugin for communication between processes (such as tenon_comm_mpi.so)")
          : fmt::format("{}", fmt::join(transports, ", "));
  const auto started = launcher();
  if (started.size == 1) return {"processes", fmt::format("one, without a launcher; {}", reach)};
  return {
      "processes",
      fmt::format("rank {} of {}, by {}; {}", started.rank, started.size, started.name(), reach),
      transports.empty()};
}

std::vector<Finding> examine(Context& context) {
  std::vector<Finding> findings, refused;
  auto& host = context.host([&](const Failure& failure) {
    refused.push_back({"option", failure.what(), true});
  });
  findings.push_back(
      {"tenon", fmt::format("{}, ABI {}.{}", TENON_VERSION, TENON_ABI_MAJOR, TENON_ABI_MINOR)});
  findings.push_back(
      {"threads", fmt::format("{} in use; {}", host.threads(), describe(usable_cores()))});
  findings.push_back(cuda());
  for (const auto& device : list_devices()) findings.push_back(look_at(device));
  findings.push_back(isolation());
  for (const auto* program : {"g++", "clang++", "nvcc", "cmake"})
    findings.push_back(
        {program, in_path(program) ? "found" : "not in PATH; only needed to build plugins"});
  findings.push_back({"dot", in_path("dot")
                                 ? "found"
                                 : "not in PATH; tenon show --svg needs it (package graphviz)"});
  std::size_t usable = 0;
  const auto catalog = host.catalog();
  for (const auto& folder : catalog.searched())
    findings.push_back({"plugin folder", folder.string()});
  for (const auto& sentence : catalog.not_searched())
    findings.push_back({"plugin folder", sentence, true});
  findings.insert(findings.end(), refused.begin(), refused.end());
  if (catalog.searched().empty())
    findings.push_back(
        {"plugin folder", "none; add one with --plugins or TENON_PLUGIN_PATH", true});
  for (const auto& file : catalog.files()) {
    if (file.usable())
      ++usable;
    else
      findings.push_back(
          {"plugin",
           fmt::format("{}: {}: {}", file.path.string(), name_of(file.status), file.reason), true});
  }
  findings.push_back(processes(catalog));
  findings.push_back({"plugins", counted(usable, "usable file") + ", " +
                                     counted(catalog.operators().size(), "operator")});
  return findings;
}

int run_doctor(Context& context, const Arguments&) {
  bool error = false;
  std::vector<JsonItem> items;
  for (const auto& finding : examine(context)) {
    error = error || finding.error;
    if (!context.json())
      write_result("{:<14} {}{}\n", finding.what, finding.found,
                   finding.error ? "   <-- look here" : "");
    items.push_back(
        json_object("what", finding.what, "found", finding.found, "error", finding.error));
  }
  if (context.json()) print(json_list(items));
  return error ? static_cast<int>(FailureKind::failed) : 0;
}

const bool added_doctor =
    add_command({.name = "doctor",
                 .doc = "report this machine's devices, tools and plugins, and any problems",
                 .details = "The exit code is 1 if there is a problem.",
                 .positionals = {},
                 .options = {},
                 .run = run_doctor});

}  // namespace
}  // namespace tenon::cli
