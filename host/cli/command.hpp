// A command of the program tenon: its arguments and the function that runs it. The parser, help,
// man page and shell completion are all generated from these descriptions.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/host.hpp>
#include <variant>
#include <vector>

namespace tenon::cli {

struct Positional {
  std::string name, doc;
  bool required = true;
};
// Types of option values. Values are checked while the command line is parsed.
struct Text {
  bool repeatable = false;
};
struct Named {  ///< `NAME=VALUE`; Option::value is the placeholder shown to the user
  std::string example;
  bool repeatable = true;
  bool allows_table = false;  ///< also accepts `TABLE.csv` without a name
};
struct Integer {
  std::int64_t min = 0, max = std::numeric_limits<std::int64_t>::max();
};
struct Real {  ///< finite
  double min = std::numeric_limits<double>::lowest();
  bool or_zero = false;  ///< also accept 0 if it is below `min`
};
struct Bytes {};  ///< `1000`, `512K`, `64M`, `2G`
struct Choice {
  std::vector<std::string> values;
};

struct Option {
  std::string name;   ///< without dashes
  std::string value;  ///< placeholder for the value in the help; empty for a flag
  std::string doc;
  std::variant<Text, Named, Integer, Real, Bytes, Choice> type{};
  std::string default_value{};
  char letter = 0;      ///< one-letter alias; 0 if there is none
  std::string alias{};  ///< older name, without dashes; empty if there is none

  bool repeatable() const;
  /// `doc (default: default_value); may be given more than once`
  std::string help() const;
};

/// Arguments of a command, by name.
class Arguments {
 public:
  /// Throws Failure (usage) if the value does not match the option's type.
  void add(const Option& option, std::string value);
  void add(const Positional& positional, std::string value) {
    values_[positional.name].push_back(std::move(value));
  }
  /// Sets the command's options, whose defaults apply when they are not given.
  void set_options(const std::vector<Option>& options) { options_ = &options; }

  bool has(const std::string& name) const { return values_.contains(name); }
  /// Returns the last value, or the option's default if it was not given.
  std::string get(const std::string& name) const;
  /// Returns the value of an Integer or Bytes option, or the index of a Choice among its values; 0
  /// if there is neither a value nor a default.
  std::int64_t integer(const std::string& name) const;
  std::uint64_t count(const std::string& name) const {
    return static_cast<std::uint64_t>(integer(name));
  }
  double real(const std::string& name) const;
  const std::vector<std::string>& all(const std::string& name) const;
  /// Returns the values of a Named option without a name.
  std::vector<std::string> tables(const std::string& name) const;
  /// Returns the names and values of a Named option. Throws Failure (usage) if a name occurs twice.
  std::map<std::string, std::string> named(const std::string& name) const;

 private:
  const Option* find(const std::string& name) const;

  std::map<std::string, std::vector<std::string>> values_;
  const std::vector<Option>* options_ = nullptr;
};

/// The global options, and the host that is created from them on first use.
class Context {
 public:
  explicit Context(const Arguments& global) : global_(global) {}
  bool json() const { return global_.has("json"); }
  bool trust_writable() const { return global_.has("trust-writable"); }
  bool trusted_only() const { return global_.has("trusted-only"); }
  /// Returns the device's full name, or an empty string if none was requested. Throws Failure
  /// (usage) if this machine has no such device.
  std::string device() const;
  const Arguments& global() const { return global_; }
  Host& host();
  /// Like host(), but passes errors in --plugins, --isolate and --prefer to `report` and ignores
  /// those values.
  Host& host(const std::function<void(const Failure&)>& report);

 private:
  const Arguments& global_;
  std::unique_ptr<Host> host_;
};

/// Whether a command runs code of plugins in its own process.
enum class Plugins : std::uint8_t {
  apart,
  loads,  ///< runs in a child process; the parent reports how a plugin ended it
  runs    ///< like `loads`, with --timeout
};

struct Command {
  std::string name, doc;  ///< doc: one line without a final period
  std::string details;    ///< shown in the command's help and in the man page
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::function<int(Context&, const Arguments&)> run;  ///< returns the exit code; throws Failure
  Plugins plugins = Plugins::apart;
};

/// Called by each command's file during static initialization.
bool add_command(Command command);
/// Returns the commands, sorted by name.
const std::vector<Command>& commands();
const std::vector<Option>& global_options();

}  // namespace tenon::cli
