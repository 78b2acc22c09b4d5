// A command of the program tenon: what it is called with, and the function that does it. Parser, help, man page and completion are all made
// from these descriptions.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <vector>

namespace tenon::cli {

struct Positional {
  std::string name, doc;
  bool required = true;
};
struct Option {
  std::string name;   ///< without dashes
  std::string value;  ///< what stands for its value in the help; empty: a flag
  std::string doc;
  bool repeatable = false;
  char letter = 0;  ///< a one-letter name besides; 0: none
};

/// What the user gave, by name.
class Arguments {
 public:
  bool has(const std::string& name) const { return values_.contains(name); }
  /// The last value; `otherwise` where it was not given.
  std::string get(const std::string& name, const std::string& otherwise = {}) const;
  /// As a whole number. Throws Failure (usage) where it is none or outside [least, most].
  std::int64_t get_number(const std::string& name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const;
  const std::vector<std::string>& all(const std::string& name) const;
  void add(const std::string& name, std::string value) { values_[name].push_back(std::move(value)); }

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

/// The options that every command knows, and the host made from them at first use.
class Context {
 public:
  explicit Context(const Arguments& global) : global_(global) {}
  bool json() const { return global_.has("json"); }
  bool trust_writable() const { return global_.has("trust-writable"); }
  /// Its full name; empty where none was asked for. Throws Failure (usage) where this machine has no such device.
  std::string device() const;
  const Arguments& global() const { return global_; }
  Host& host();

 private:
  const Arguments& global_;
  std::unique_ptr<Host> host_;
};

struct Command {
  std::string name, doc;  ///< doc: one line, without a full stop
  std::string details;    ///< for its own help and the man page
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::function<int(Context&, const Arguments&)> run;  ///< the exit code; throws Failure
};

/// Called by each command's file before main begins.
bool add_command(Command command);
/// Sorted by name.
const std::vector<Command>& commands();
const std::vector<Option>& global_options();

}  // namespace tenon::cli
