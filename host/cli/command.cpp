#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "device/devices.hpp"
#include "device/threads.hpp"

namespace tenon::cli {
namespace {

std::vector<Command>& list() {
  static std::vector<Command> commands;
  return commands;
}

}  // namespace

bool add_command(Command command) {
  auto& all = list();
  const auto place =
      std::lower_bound(all.begin(), all.end(), command.name, [](const Command& c, const auto& name) { return c.name < name; });
  all.insert(place, std::move(command));
  return true;
}

const std::vector<Command>& commands() {
  return list();
}

const std::vector<Option>& global_options() {
  static const std::vector<Option> options{
      {"plugins", "DIR", "a folder of plugins, or one plugin file; searched before TENON_PLUGIN_PATH and the installed folder", true},
      {"json", "", "print results as JSON", false},
      {"threads", "N", "threads for kernels (default, and 0: as many as this process may use)", false},
      {"device", "D", "where nodes run that name no device of their own: cpu, cuda, cuda:1 ...; cpu where left out", false},
      {"trust-writable", "", "accept plugins in files or folders that other users may write to", false},
      {"strict-storage", "", "fail where a sparse tensor would be made dense for want of a kernel, instead of warning", false},
  };
  return options;
}

std::string Arguments::get(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second.back();
}

std::int64_t Arguments::get_number(const std::string& name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
  if (!has(name)) return otherwise;
  const auto text = get(name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    throw Failure(FailureKind::usage, fmt::format("--{} is '{}' but must be a whole number from {} to {}", name, text, least, most));
  return number;
}

const std::vector<std::string>& Arguments::all(const std::string& name) const {
  static const std::vector<std::string> nothing;
  const auto found = values_.find(name);
  return found == values_.end() ? nothing : found->second;
}

std::string Context::device() const {
  return global_.has("device") ? find_device(global_.get("device")).name() : "";
}

Host& Context::host() {
  if (host_) return *host_;
  device();  // CUDA starts before the first plugin is loaded
  HostOptions options;
  options.threads = static_cast<int>(global_.get_number("threads", 0, 0, most_threads));
  options.trust_writable = global_.has("trust-writable");
  options.strict_storage = global_.has("strict-storage");
  host_ = std::make_unique<Host>(options);
  for (const auto& folder : global_.all("plugins")) host_->add_plugins(folder);
  return *host_;
}

}  // namespace tenon::cli
