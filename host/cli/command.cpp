#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/host/devices.hpp>

#include "cli/print/parameter_text.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

std::vector<Command>& list() {
  static std::vector<Command> commands;
  return commands;
}

[[noreturn]] void refuse(const Option& option, const std::string& text, const std::string& needed,
                         const std::string& hint = {}) {
  throw Failure(FailureKind::usage,
                fmt::format("--{} is '{}' but must be {}", option.name, text, needed), hint);
}

/// Returns the values as a phrase: `constant, step or cosine`.
std::string values_of(const Choice& choice) {
  const auto& values = choice.values;
  return fmt::format("{} or {}", fmt::join(values.begin(), values.end() - 1, ", "), values.back());
}

// Parse and check an option's value; they return the number for numeric types, else 0.
int read(const Text&, const Option&, const std::string&) {
  return 0;
}

// Returns whether it is TABLE.csv or TABLE.csv[BEGIN:END].
bool is_table_name(const std::string& text) {
  const auto end = text.ends_with(']') ? text.rfind('[') : text.size();
  return text.find('=') == std::string::npos && text.substr(0, end).ends_with(".csv");
}

int read(const Named& type, const Option& option, const std::string& text) {
  if (type.allows_table && is_table_name(text)) return 0;
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    refuse(option, text, option.value,
           fmt::format("for example --{} {}", option.name, type.example));
  return 0;
}

std::int64_t read(const Integer& type, const Option& option, const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < type.min || *number > type.max)
    refuse(option, text, fmt::format("an integer from {} to {}", type.min, type.max));
  return *number;
}

double read(const Real& type, const Option& option, const std::string& text) {
  const auto number = parse_number<double>(text);
  const bool bounded = type.min != Real().min;
  if (type.or_zero && number == 0.0) return 0;
  if (!number || *number < type.min)
    refuse(option, text,
           (type.or_zero ? "0 or " : "") +
               (bounded ? fmt::format("a number of at least {}", type.min) : "a number"));
  return *number;
}

std::int64_t read(const Bytes&, const Option& option, const std::string& text) {
  const auto unit = text.empty() ? std::string::npos : std::string_view("KMG").find(text.back());
  const bool has_unit = unit != std::string::npos;
  const auto number = parse_number<double>(has_unit ? text.substr(0, text.size() - 1) : text);
  const double bytes = number.value_or(-1) *
                       static_cast<double>(std::int64_t{1} << (has_unit ? 10 * (unit + 1) : 0));
  if (!(bytes >= 0 && bytes < 1e18)) refuse(option, text, "a number of bytes such as 64M");
  return static_cast<std::int64_t>(bytes);
}

std::int64_t read(const Choice& type, const Option& option, const std::string& text) {
  const auto found = std::find(type.values.begin(), type.values.end(), text);
  if (found == type.values.end()) refuse(option, text, values_of(type));
  return found - type.values.begin();
}

}  // namespace

bool add_command(Command command) {
  if (command.plugins == Plugins::runs)
    command.options.push_back(
        {"timeout", "SECONDS",
         "end the program if a single operator call takes longer, and report the operator",
         Real{0.001}});
  auto& all = list();
  const auto position =
      std::lower_bound(all.begin(), all.end(), command.name,
                       [](const Command& c, const auto& name) { return c.name < name; });
  all.insert(position, std::move(command));
  return true;
}

const std::vector<Command>& commands() {
  return list();
}

const std::vector<Option>& global_options() {
  static const std::vector<Option> options{
      {"plugins", "DIR",
       "plugin folder or plugin file; its operators replace those with the same full name from "
       "TENON_PLUGIN_PATH, the installed folder "
       "and earlier --plugins",
       Text{true}},
      {"prefer", "PLUGIN",
       "resolve ambiguous short operator names to this plugin (name or file) or namespace",
       Text{true}},
      {"json", "", "print results as JSON"},
      {"threads", "N", "number of kernel threads; 0: all CPUs available to this process",
       Integer{0, max_threads}, "0"},
      {"device", "D", "default device for nodes without one: cpu, cuda, cuda:1 ...", Text{}, "cpu"},
      {"memory-limit", "BYTES",
       "limit on the program's memory, for example 2G: runs whose values and outputs would exceed "
       "it are refused; use ulimit -v or "
       "--isolate-memory to limit what kernels allocate themselves",
       Bytes{}},
      {"trust-writable", "", "load plugins even if other users can write to their file or folder"},
      {"trusted-only", "",
       "load only installed plugins, plugins on your trust list, and plugins signed with a trusted "
       "key (see tenon trust)"},
      {"trust", "HASH", "SHA-256 of the pack GRAPH, as printed by tenon pack"},
      {"trust-links", "",
       "follow symbolic links out of an ONNX model's folder when reading its weights"},
      {"strict-storage", "", "fail instead of warning when a sparse tensor is converted to dense"},
      {"isolate", "PLUGIN",
       "run this plugin (name or file) in a sandboxed worker process without access to files, "
       "network or this process's memory; all: every "
       "plugin",
       Text{true}},
      {"isolate-timeout", "SECONDS", "time limit for a call of an isolated plugin; 0: no limit",
       Real{0.001, true}, "0"},
      {"isolate-memory", "BYTES",
       "memory limit of an isolated plugin, for example 2G; 0: half of this machine's memory",
       Bytes{}, "0"},
  };
  return options;
}

bool Option::repeatable() const {
  if (const auto* named = std::get_if<Named>(&type)) return named->repeatable;
  const auto* text = std::get_if<Text>(&type);
  return text != nullptr && text->repeatable;
}

std::string Option::help() const {
  const auto* choice = std::get_if<Choice>(&type);
  return doc + (choice == nullptr ? "" : ": " + values_of(*choice)) +
         (default_value.empty() ? "" : fmt::format(" (default: {})", default_value)) +
         (repeatable() ? "; may be given more than once" : "");
}

const Option* Arguments::find(const std::string& name) const {
  const auto found = std::find_if(options_->begin(), options_->end(),
                                  [&](const auto& option) { return option.name == name; });
  return found == options_->end() ? nullptr : &*found;
}

void Arguments::add(const Option& option, std::string value) {
  std::visit([&](const auto& type) { read(type, option, value); }, option.type);
  values_[option.name].push_back(output_file(std::move(value)));
}

std::string Arguments::get(const std::string& name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second.back();
  const auto* option = find(name);
  return option == nullptr ? "" : option->default_value;
}

std::int64_t Arguments::integer(const std::string& name) const {
  const auto text = get(name);
  if (text.empty()) return 0;
  const auto& option = *find(name);
  return std::visit(
      [&](const auto& type) { return static_cast<std::int64_t>(read(type, option, text)); },
      option.type);
}

double Arguments::real(const std::string& name) const {
  const auto text = get(name);
  if (text.empty()) return 0;
  const auto& option = *find(name);
  return read(std::get<Real>(option.type), option, text);
}

std::map<std::string, std::string> Arguments::named(const std::string& name) const {
  std::map<std::string, std::string> values;
  for (const auto& text : all(name)) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) continue;  // see tables()
    if (!values.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw Failure(FailureKind::usage,
                    fmt::format("--{} names '{}' twice", name, text.substr(0, equals)));
  }
  return values;
}

std::vector<std::string> Arguments::tables(const std::string& name) const {
  std::vector<std::string> found;
  for (const auto& text : all(name))
    if (text.find('=') == std::string::npos) found.push_back(text);
  return found;
}

const std::vector<std::string>& Arguments::all(const std::string& name) const {
  static const std::vector<std::string> nothing;
  const auto found = values_.find(name);
  return found == values_.end() ? nothing : found->second;
}

std::string Context::device() const {
  return global_.has("device") ? device_name(global_.get("device")) : "";
}

static Isolation isolation(const Arguments& global) {
  Isolation isolation;
  for (const auto& name : global.all("isolate"))
    name == "all" ? void(isolation.all = true) : isolation.plugins.push_back(name);
  isolation.call_seconds = global.real("isolate-timeout");
  isolation.memory = global.count("isolate-memory");
  return isolation;
}

/// Rejects names that match no plugin: isolating or preferring nothing is not what the user meant.
static void require_plugins(const char* option, const Catalog& catalog,
                            const std::vector<std::string>& requested, bool spaces) {
  std::vector<std::string> names;
  for (const auto& file : catalog.files()) names.push_back(file.path.stem().string());
  for (const auto& name : requested) {
    const auto has_name = [&](const PluginFile& file) { return is_called(file, name); };
    const auto has_space = [&](const CatalogOperator& op) {
      return spaces && op.info.space == name;
    };
    if (std::none_of(catalog.files().begin(), catalog.files().end(), has_name) &&
        std::none_of(catalog.operators().begin(), catalog.operators().end(), has_space))
      throw Failure(FailureKind::usage, fmt::format("--{}: there is no plugin '{}'", option, name),
                    did_you_mean(similar_names(name, names), "tenon list shows the plugins"));
  }
}

Host& Context::host() {
  return host([](const Failure& failure) { throw Failure(failure); });
}

Host& Context::host(const std::function<void(const Failure&)>& report) {
  if (host_) return *host_;
  const auto try_to = [&](const auto& work) {
    try {
      work();
    } catch (const Failure& failure) {
      report(failure);
    }
  };
  try_to([&] { device(); });  // initialize CUDA before the first plugin is loaded
  HostOptions options;
  options.threads = static_cast<int>(global_.integer("threads"));
  options.memory_limit = global_.count("memory-limit");
  options.trust_writable = global_.has("trust-writable");
  options.trusted_only = global_.has("trusted-only");
  options.strict_storage = global_.has("strict-storage");
  options.isolate = isolation(global_);
  options.prefer = global_.all("prefer");
  options.warn = [](const std::string& what) { write_message("warning: {}\n", what); };
  auto host = std::make_unique<Host>(options);
  for (const auto& position : global_.all("plugins")) try_to([&] { host->add_plugins(position); });
  if (!options.isolate.plugins.empty())
    try_to([&] { require_plugins("isolate", host->catalog(), options.isolate.plugins, false); });
  if (!options.prefer.empty())
    try_to([&] { require_plugins("prefer", host->catalog(), options.prefer, true); });
  host_ = std::move(host);
  return *host_;
}

}  // namespace tenon::cli
