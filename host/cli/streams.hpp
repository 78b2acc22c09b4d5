// Descriptors 0, 1 and 2 of the program: results on stdout, talk on stderr. Everything that the commands print goes through here.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

#include "io/utf8.hpp"

namespace tenon::cli {

/// First in main(). Opens /dev/null where 0, 1 or 2 is closed, so that no file that is written gets their numbers and with them what is
/// printed. From here on a reader that went away is an error of the writer, and no signal that ends the work; and what code of plugins
/// prints to stdout goes to stderr: only write_result() reaches stdout.
void open_streams();

/// An option's value, FILE or NAME=FILE: where FILE is `/dev/stdout` or another name of descriptor 1, the file that results go to.
std::string output_file(std::string value);

/// Writes a result to stdout. Never throws for what cannot be written: finish_results() tells it.
void write_result(std::string_view text);

/// Writes talk to stderr. Never throws: what cannot be told is lost, and the work goes on.
void tell(std::string_view text);

/// While it lives, nothing is told and no results are written: another process does that.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

/// What is put into a line may come from plugins, files and other people's folders: texts and paths are printable() there. What is a whole
/// text of the program's own making is written as it is, by the functions above.
template <class T>
concept LineText = std::is_convertible_v<const T&, std::string_view>;
template <class T>
using Shown = std::conditional_t<LineText<T> || std::is_same_v<T, std::filesystem::path>, std::string, T>;
template <class T>
decltype(auto) shown(const T& part) {
  if constexpr (std::is_same_v<T, std::filesystem::path>)
    return printable(part.native());
  else if constexpr (LineText<T>)
    return printable(part);
  else
    return (part);
}
template <class... T>
std::string line_of(fmt::string_view format, const T&... parts) {
  return [&](const auto&... safe) { return fmt::vformat(format, fmt::make_format_args(safe...)); }(shown(parts)...);
}

template <class First, class... T>
void write_result(fmt::format_string<Shown<First>, Shown<T>...> format, const First& first, const T&... rest) {
  write_result(std::string_view(line_of(format, first, rest...)));
}

template <class First, class... T>
void tell(fmt::format_string<Shown<First>, Shown<T>...> format, const First& first, const T&... rest) {
  tell(std::string_view(line_of(format, first, rest...)));
}

/// After the last result of a command, before what may still go wrong: objects of plugins are freed.
void flush_results();

/// Last in main(), with the command's exit code. Flushes stdout; where results were lost, tells why once (as JSON with `json`), and 0
/// becomes 1. If the reader only went away (`tenon list | head`), that is quiet, and 0 becomes 128 + SIGPIPE.
int finish_results(int status, bool json);

}  // namespace tenon::cli
