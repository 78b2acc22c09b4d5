// The program's standard streams: results on stdout, everything else on stderr. All output of the
// commands goes through these functions.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

#include "io/utf8.hpp"

namespace tenon::cli {

/// Must be called first in main(). Opens /dev/null for 0, 1 or 2 if closed, so that files opened
/// later cannot get these numbers and receive printed output. From here on, a closed pipe is a
/// write error instead of SIGPIPE, and what plugin code prints to stdout goes to stderr: only
/// write_result() reaches stdout.
void open_streams();

/// Rewrites an option's value, FILE or NAME=FILE: if FILE is `/dev/stdout` or another name of
/// descriptor 1, returns the file that results go to.
std::string output_file(std::string value);

/// Writes a result to stdout. Never throws on write errors: finish_results() reports them.
void write_result(std::string_view text);

/// Writes a message to stderr. Never throws: messages that cannot be written are lost, and work
/// continues.
void write_message(std::string_view text);

/// Suppresses messages and results during its lifetime, because another process prints them.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

/// Arguments of formatted lines may come from plugins, files and other people's folders, so texts
/// and paths are made printable(). Complete texts of the program's own are written unchanged by the
/// functions above.
template <class T>
concept LineText = std::is_convertible_v<const T&, std::string_view>;
template <class T>
using Shown =
    std::conditional_t<LineText<T> || std::is_same_v<T, std::filesystem::path>, std::string, T>;
template <class T>
decltype(auto) shown(const T& argument) {
  if constexpr (std::is_same_v<T, std::filesystem::path>)
    return printable(argument.native());
  else if constexpr (LineText<T>)
    return printable(argument);
  else
    return (argument);
}
template <class... T>
std::string line_of(fmt::string_view format, const T&... arguments) {
  return [&](const auto&... safe) {
    return fmt::vformat(format, fmt::make_format_args(safe...));
  }(shown(arguments)...);
}

template <class First, class... T>
void write_result(fmt::format_string<Shown<First>, Shown<T>...> format, const First& first,
                  const T&... rest) {
  write_result(std::string_view(line_of(format, first, rest...)));
}

template <class First, class... T>
void write_message(fmt::format_string<Shown<First>, Shown<T>...> format, const First& first,
                   const T&... rest) {
  write_message(std::string_view(line_of(format, first, rest...)));
}

/// Call after a command's last result and before plugin objects are freed, which may still fail.
void flush_results();

/// Must be called last in main(), with the command's exit code. Flushes stdout; if results were
/// lost, reports why once (as JSON with `json`) and turns 0 into 1. If the reader only closed the
/// pipe (`tenon list | head`), reports nothing and turns 0 into 128 + SIGPIPE.
int finish_results(int status, bool json);

}  // namespace tenon::cli
