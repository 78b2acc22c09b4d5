// tenon man and tenon completion, generated from the commands' descriptions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

/// Writes the program's own text as is, including newlines.
void put(std::string_view text) {
  write_result(text);
}
template <class First, class... T>
void put(fmt::format_string<First, T...> form, First&& first, T&&... rest) {
  write_result(fmt::format(form, std::forward<First>(first), std::forward<T>(rest)...));
}

// Escapes dashes, backslashes and a leading dot or quote, which are special in troff.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c;
  }
  return out.starts_with(".") || out.starts_with("'") ? "\\&" + out : out;
}

void print_option(const Option& option) {
  put(".TP\n.B {}{}", option.letter == 0 ? "" : fmt::format("\\-{}, ", option.letter),
      troff("--" + option.name + (option.alias.empty() ? "" : ", --" + option.alias)));
  if (!option.value.empty()) put(" \\fI{}\\fR", troff(option.value));
  put("\n{}.\n", troff(option.help()));
}

int print_manual(Context&, const Arguments&) {
  put(".TH TENON 1 \"\" \"tenon {}\" \"User Commands\"\n.SH NAME\ntenon \\- run operators from "
      "plugins, in graphs and in training\n",
      TENON_VERSION);
  put(".SH SYNOPSIS\n.B tenon\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n.SH "
      "OPTIONS\nOptions may appear before or after the "
      "command.\n");
  for (const auto& option : global_options()) print_option(option);
  put(".SH COMMANDS\n");
  for (const auto& command : commands()) {
    put(".SS tenon {}", command.name);
    for (const auto& positional : command.positionals)
      put("{}", positional.required ? ' ' + positional.name : " [" + positional.name + ']');
    put("\n{}.\n{}\n", troff(command.doc), troff(command.details));
    for (const auto& positional : command.positionals)
      put(".TP\n.I {}\n{}.\n", positional.name, troff(positional.doc));
    for (const auto& option : command.options) print_option(option);
  }
  put(".SH EXIT STATUS\n0: success. 1: the work failed. 2: wrong usage. 3: a plugin is missing or "
      "refused. 4: a file is damaged or "
      "refused. "
      "5: nothing could be checked. 128 + N: ended by signal N (130: SIGINT, 143: SIGTERM). If a "
      "plugin crashes or ends the process, an "
      "error names it and the exit status is 1.\n");
  put(".SH ENVIRONMENT\n.TP\n.B TENON_PLUGIN_PATH\ncolon-separated list of plugin folders and "
      "plugin files.\n");
  put(".TP\n.B TENON_NO_PARENT\nif set, commands that load plugins run in the initial process "
      "instead of in a supervised child process. "
      "This is always so under a debugger.\n");
  return 0;
}

std::string flags_of(const std::vector<Option>& options) {
  std::string flags;
  for (const auto& option : options) flags += (flags.empty() ? "--" : " --") + option.name;
  return flags;
}

void print_bash() {
  std::vector<std::string> names;
  for (const auto& command : commands()) names.push_back(command.name);
  put("_tenon() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} command= flags='{}' w\n",
      flags_of(global_options()));
  put("  for w in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do case $w in {}) command=$w; break;; "
      "esac; done\n",
      fmt::join(names, "|"));
  put("  case $command in\n    '') flags=\"$flags {}\";;\n", fmt::join(names, " "));
  for (const auto& command : commands())
    if (!command.options.empty())
      put("    {}) flags=\"$flags {}\";;\n", command.name, flags_of(command.options));
  put("  esac\n  COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n  [[ -n $command && $word != "
      "-* ]] && COMPREPLY+=($(compgen -f -- "
      "\"$word\"))\n"
      "}\ncomplete -o filenames -F _tenon tenon\n");
}

std::string fish(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("\\'") : std::string(1, c);
  return out + '\'';
}

void print_fish() {
  const auto print_options = [](const std::string& condition, const std::vector<Option>& options) {
    for (const auto& option : options)
      put("complete -c tenon{} -l {}{} -d {}\n", condition, option.name,
          option.value.empty() ? "" : " -r", fish(option.help()));
  };
  print_options("", global_options());
  for (const auto& command : commands()) {
    put("complete -c tenon -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
        fish(command.doc));
    print_options(fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name),
                  command.options);
  }
}

int print_completion(Context&, const Arguments& arguments) {
  const auto shell = arguments.get("SHELL");
  if (shell == "bash") {
    print_bash();
  } else if (shell == "zsh") {
    put("autoload -U +X bashcompinit && bashcompinit\n");
    print_bash();
  } else if (shell == "fish") {
    print_fish();
  } else {
    throw Failure(FailureKind::usage, fmt::format("there is no completion for '{}'", shell),
                  "supported shells: bash, zsh, fish");
  }
  return 0;
}

const bool added_manual = add_command({.name = "man",
                                       .doc = "print the manual page",
                                       .details = "To view it: tenon man | man -l -",
                                       .positionals = {},
                                       .options = {},
                                       .run = print_manual});
const bool added_completion = add_command({.name = "completion",
                                           .doc = "print a shell completion script",
                                           .details = "For bash: source <(tenon completion bash).",
                                           .positionals = {{"SHELL", "bash, zsh or fish"}},
                                           .options = {},
                                           .run = print_completion});

}  // namespace
}  // namespace tenon::cli
