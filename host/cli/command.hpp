// A command of the program tenon: what it is called with, and the function that does it. Parser, help, man page and completion are all made
// from these descriptions.
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
// What an option's value must be. Values are checked while the command line is read.
struct Text {
  bool repeatable = false;
};
struct Named {  ///< NAME=VALUE; Option::value tells the user what these are
  std::string example;
  bool repeatable = true;
};
struct Integer {
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
};
struct Real {  ///< finite
  double least = std::numeric_limits<double>::lowest();
  bool or_zero = false;  ///< also below `least`
};
struct Bytes {};  ///< `1000`, `512K`, `64M`, `2G`
struct Choice {
  std::vector<std::string> words;
};

struct Option {
  std::string name;   ///< without dashes
  std::string value;  ///< what stands for its value in the help; empty: a flag
  std::string doc;
  std::variant<Text, Named, Integer, Real, Bytes, Choice> type{};
  std::string otherwise{};  ///< the value where it is not given
  char letter = 0;          ///< a one-letter name besides; 0: none

  bool repeatable() const;
  /// `doc (default: otherwise); may be given more than once`
  std::string help() const;
};

/// What the user gave, by name.
class Arguments {
 public:
  /// Throws Failure (usage) for what the option's type does not allow.
  void add(const Option& option, std::string value);
  void add(const Positional& positional, std::string value) { values_[positional.name].push_back(std::move(value)); }
  /// Those that may be given: their defaults hold where they are not.
  void set_options(const std::vector<Option>& options) { options_ = &options; }

  bool has(const std::string& name) const { return values_.contains(name); }
  /// The last value; the option's default where it was not given.
  std::string get(const std::string& name) const;
  /// Of an Integer, of Bytes, or the place of a Choice among its words; 0 where there is neither value nor default.
  std::int64_t integer(const std::string& name) const;
  std::uint64_t count(const std::string& name) const { return static_cast<std::uint64_t>(integer(name)); }
  double real(const std::string& name) const;
  const std::vector<std::string>& all(const std::string& name) const;
  /// Of a Named. Throws Failure (usage) where a name comes twice.
  std::map<std::string, std::string> named(const std::string& name) const;

 private:
  const Option* find(const std::string& name) const;

  std::map<std::string, std::vector<std::string>> values_;
  const std::vector<Option>* options_ = nullptr;
};

/// The options that every command knows, and the host made from them at first use.
class Context {
 public:
  explicit Context(const Arguments& global) : global_(global) {}
  bool json() const { return global_.has("json"); }
  bool trust_writable() const { return global_.has("trust-writable"); }
  bool trusted_only() const { return global_.has("trusted-only"); }
  /// Its full name; empty where none was asked for. Throws Failure (usage) where this machine has no such device.
  std::string device() const;
  const Arguments& global() const { return global_; }
  Host& host();
  /// The same, but what --plugins, --isolate and --prefer name wrongly is passed to `report` and left out.
  Host& host(const std::function<void(const Failure&)>& report);

 private:
  const Arguments& global_;
  std::unique_ptr<Host> host_;
};

/// Whether a command has the code of plugins in its process.
enum class Plugins : std::uint8_t {
  apart,
  loads,  ///< below a parent process, which tells how a plugin ended it
  runs    ///< the same, with --timeout
};

struct Command {
  std::string name, doc;  ///< doc: one line, without a full stop
  std::string details;    ///< for its own help and the man page
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::function<int(Context&, const Arguments&)> run;  ///< the exit code; throws Failure
  Plugins plugins = Plugins::apart;
};

/// Called by each command's file before main begins.
bool add_command(Command command);
/// Sorted by name.
const std::vector<Command>& commands();
const std::vector<Option>& global_options();

}  // namespace tenon::cli
