// The program tenon: parses the command line, runs one command, and turns exceptions into a message
// and an exit code.
#include <cxxabi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <exception>
#include <new>
#include <sstream>
#include <string_view>
#include <tenon/host/crash.hpp>
#include <tenon/host/devices.hpp>
#include <tenon/host/mapped_files.hpp>

#include "cli/command.hpp"
#include "cli/print/report.hpp"
#include "cli/streams.hpp"

namespace {

using namespace tenon::cli;

std::string called(const CLI::App& app) {
  const auto subs = app.get_subcommands();
  return subs.empty() ? "tenon" : "tenon " + subs.front()->get_name();
}

// Returns a usage failure: the command's name followed by `sentence`.
tenon::Failure misuse(const CLI::App& app, const std::string& sentence) {
  return {tenon::FailureKind::usage, called(app) + sentence,
          called(app) + " --help shows the usage"};
}

// CLI11 passes each option's values to the callback in command-line order.
void add_option(CLI::App& app, const CLI::App& whole, const Option& option, Arguments& into) {
  const auto dashed = (option.letter == 0 ? "" : std::string("-") + option.letter + ",") + "--" +
                      option.name + (option.alias.empty() ? "" : ",--" + option.alias);
  if (option.value.empty()) {
    app.add_flag_callback(
        dashed, [&into, &option] { into.add(option, "true"); }, option.help());
    return;
  }
  const auto store = [&into, &whole, &option](const std::vector<std::string>& values) {
    if (values.size() > 1 && !option.repeatable())
      throw misuse(whole, ": --" + option.name + " is given more than once");
    for (const auto& value : values) into.add(option, value);
    return true;
  };
  auto* added = app.add_option(dashed, store, option.help())
                    ->option_text(option.value)
                    ->allow_extra_args(false);
  if (option.repeatable())
    added->expected(1, CLI::detail::expected_max_vector_size);
  else
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_positional(CLI::App& app, const Positional& positional, Arguments& into) {
  const auto store = [&into, &positional](const std::vector<std::string>& values) {
    for (const auto& value : values) into.add(positional, value);
    return true;
  };
  app.add_option(positional.name, store, positional.doc)
      ->type_name("")
      ->required(positional.required);
}

// Treats the first argument that is neither an option nor an option's value as the command, and
// suggests similar names if there is no such command.
void suggest_command(int argc, char** argv) {
  std::vector<std::string> names;
  for (const auto& command : commands()) names.push_back(command.name);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("-")) {
      for (const auto& option : global_options())
        if (argument == "--" + option.name && !option.value.empty()) ++i;
      continue;
    }
    if (std::find(names.begin(), names.end(), argument) != names.end()) return;
    throw tenon::Failure(tenon::FailureKind::usage, "there is no command '" + argument + "'",
                         tenon::did_you_mean(tenon::similar_names(argument, names),
                                             "tenon --help lists the commands"));
  }
}

// Returns the options of the program and of the command that satisfy `is_requested`.
template <class Predicate>
std::vector<const CLI::Option*> options_of(const CLI::App& app, const Predicate& is_requested) {
  auto found = app.get_options(is_requested);
  for (const auto* sub : app.get_subcommands())
    for (const auto* option : sub->get_options(is_requested)) found.push_back(option);
  return found;
}

// Converts a parser error to a Failure: CLI11's exceptions carry the kind of error, its options
// what they received.
tenon::Failure explain(const CLI::ParseError& error, const CLI::App& app,
                       const std::string& last_argument) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const auto extra = app.remaining(true).front();
    if (!extra.starts_with("-")) return misuse(app, ": unexpected argument '" + extra + "'");
    std::vector<std::string> names;
    for (const auto* option :
         options_of(app, [](const CLI::Option* o) { return !o->get_lnames().empty(); }))
      names.push_back("--" + option->get_lnames().front());
    const auto general = misuse(app, " has no option '" + extra + "'");
    return {general.kind(), general.what(),
            tenon::did_you_mean(tenon::similar_names(extra.substr(0, extra.find('=')), names),
                                general.hint())};
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const auto missing =
        options_of(app, [](const CLI::Option* o) { return o->get_required() && o->empty(); });
    if (missing.empty())
      return {tenon::FailureKind::usage, "a command is missing", "tenon --help lists the commands"};
    return misuse(app, ": " + missing.front()->get_name() + " is required");
  }
  // Any argument after an option is taken as its value, so only the last option can lack one. For
  // flags, look for one that received a value.
  const bool lacks_value = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  const auto name = last_argument.substr(0, last_argument.find('='));
  const auto at_fault = options_of(app, [&](const CLI::Option* option) {
    return lacks_value ? option->check_name(name)
                       : option->get_items_expected_max() == 0 && !option->empty() &&
                             option->results() != std::vector<std::string>{"true"};
  });
  if (at_fault.empty()) return misuse(app, std::string(": ") + error.what());
  return misuse(app, ": " + at_fault.front()->get_name() +
                         (lacks_value ? " needs a value" : " takes no value"));
}

// Prints the text of --help or --version.
int print_help(const CLI::App& app, const CLI::ParseError& request) {
  std::ostringstream text;
  app.exit(request, text, text);
  write_result(text.str());
  return 0;
}

// Makes crashes of plugins reported by name. After this call, the process may be a child of the
// original one.
void name_crashes(const Command& command, const Arguments& arguments, bool json) {
  if (command.plugins == Plugins::apart) return tenon::name_crashes();
  tenon::continue_below_parent([json](const tenon::Failure& failure) { report(failure, json); });
  if (command.plugins == Plugins::runs && arguments.has("timeout"))
    tenon::end_hung_calls(
        std::chrono::milliseconds(std::llround(std::min(arguments.real("timeout"), 1e12) * 1000)));
}

int run(int argc, char** argv) {
  CLI::App app{"Tenon runs operators from plugins: eagerly, in graphs, in training.", "tenon"};
  app.set_version_flag("--version", "tenon " TENON_VERSION);
  app.fallthrough();
  app.require_subcommand(1);
  Arguments global, arguments;
  for (const auto& option : global_options()) add_option(app, app, option, global);
  const Command* chosen = nullptr;
  for (const auto& command : commands()) {
    auto* sub = app.add_subcommand(command.name, command.doc);
    sub->footer(command.details);
    for (const auto& positional : command.positionals) add_positional(*sub, positional, arguments);
    for (const auto& option : command.options) add_option(*sub, app, option, arguments);
    sub->callback([&chosen, &command] { chosen = &command; });
  }
  if (argc == 1) {
    write_result(app.help());
    return 0;
  }
  try {
    suggest_command(argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return print_help(app, error);
    throw explain(error, app, argc > 0 ? argv[argc - 1] : "");
  }
  global.set_options(global_options());
  arguments.set_options(chosen->options);
  Context context(global);
  try {
    name_crashes(*chosen, arguments, context.json());
    return chosen->run(context, arguments);
  } catch (const tenon::Failure& failure) {
    report(failure, context.json());
    return static_cast<int>(failure.kind());
  }
}

// The command line itself may be invalid, so search the raw arguments.
bool requests_json(int argc, char** argv) {
  return std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
}

// Returns the exit code of run(); reports exceptions.
int status_of(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tenon::Failure& failure) {
    report(failure, requests_json(argc, argv));
    return static_cast<int>(failure.kind());
  } catch (const abi::__forced_unwind&) {
    tenon::end_unwound_process();
  } catch (const std::bad_alloc&) {
    write_message("error: out of memory\n");
  } catch (const std::exception& error) {
    write_message("error: {}\n", error.what());
  } catch (...) {
    write_message("error: caught an exception that is not a std::exception\n");
  }
  return static_cast<int>(tenon::FailureKind::failed);
}

}  // namespace

int main(int argc, char** argv) {
  open_streams();
  // report an exceeded file size limit as a write error, like a full disk
  std::signal(SIGXFSZ, SIG_IGN);
  tenon::guard_mapped_files();
  const int status = status_of(argc, argv);
  const int code = finish_results(status, requests_json(argc, argv));
  tenon::end_workers();
  tenon::end_process(code);  // without running plugins' destructors
}
