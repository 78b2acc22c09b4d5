// Descriptors 0, 1 and 2 of the program: results on stdout, talk on stderr. Everything that the commands print goes through here.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

namespace tenon::cli {

/// First in main(). Opens /dev/null where 0, 1 or 2 is closed, so that no file that is written gets their numbers and with them what is
/// printed. From here on a reader that went away is an error of the writer, and no signal that ends the work.
void open_streams();

/// Writes a result to stdout. Never throws for what cannot be written: finish_results() tells it.
void write_result(std::string_view text);

/// Writes talk to stderr. Never throws: what cannot be told is lost, and the work goes on.
void tell(std::string_view text);

template <class First, class... T>
void write_result(fmt::format_string<First, T...> format, First&& first, T&&... rest) {
  write_result(std::string_view(fmt::format(format, std::forward<First>(first), std::forward<T>(rest)...)));
}

template <class First, class... T>
void tell(fmt::format_string<First, T...> format, First&& first, T&&... rest) {
  tell(std::string_view(fmt::format(format, std::forward<First>(first), std::forward<T>(rest)...)));
}

/// Last in main(), with the command's exit code. Flushes stdout; where results were lost, tells why once (as JSON with `json`), and 0
/// becomes
/// 1. If the reader only went away (`tenon list | head`), that is quiet, and 0 becomes 128 + SIGPIPE.
int finish_results(int status, bool json);

}  // namespace tenon::cli
