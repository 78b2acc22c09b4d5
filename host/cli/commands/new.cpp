// tenon new: creates a folder with an operator, its test and its build, ready to build and run.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/streams.hpp"
#include "io/atomic_file.hpp"
#include "io/system_reason.hpp"
#include "template_files.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

void check_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name == "tenon" || name == "app")
    throw Failure(
        FailureKind::usage,
        fmt::format(
            "'{}' cannot be the name of an operator and its plugin: that namespace is reserved",
            name),
        "choose another name");
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z' && name.size() <= 64 &&
      std::all_of(name.begin(), name.end(), fits))
    return;
  throw Failure(FailureKind::usage, fmt::format("'{}' cannot be an operator's name", name),
                "use at most 64 lower-case letters, digits and _, beginning with a letter");
}

/// Returns whether another operator has the short name, and warns if so.
bool is_taken(Context& context, const std::string& name) {
  const auto catalog = context.host().catalog();
  const auto* op = catalog.find(name);
  if (op == nullptr && catalog.why_missing(name).empty()) return false;
  write_message(
      "warning: the short name '{}' is taken{}: either refer to your operator as {}.{} in graphs, "
      "or choose another name\n",
      name, op == nullptr ? "" : fmt::format(" by {}", op->full_name()), name, name);
  return true;
}

// `my_op` -> `MyOp`
std::string class_of(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return out;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

Failure cannot_make(const fs::path& folder, const std::error_code& error) {
  const auto above = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  const auto reason = error == std::errc::no_such_file_or_directory
                          ? "cannot create a folder in " + above.string()
                          : system_reason(error.value());
  return {FailureKind::file,
          fmt::format("cannot create the folder {}: {}", folder.string(), reason),
          "choose another with --folder"};
}

const std::vector<std::string> kinds = {"elementwise", "operator",  "sparse",
                                        "cuda",        "optimizer", "application"};

bool is_of(const TemplateFile& file, std::string_view kind) {
  if (!file.kind.empty()) return file.kind == kind;
  return std::none_of(std::begin(template_files), std::end(template_files), [&](const auto& other) {
    return other.kind == kind && other.name == file.name;
  });
}

// Writes all files, or none. On failure, removes the folder unless `keep_folder` is set.
void write_sources(const fs::path& folder, const std::string& name, std::string_view kind,
                   bool keep_folder) {
  std::vector<fs::path> written;
  try {
    for (const auto& source : template_files) {
      if (!is_of(source, kind)) continue;
      const auto path = folder / replaced(std::string(source.name), "NAME", name);
      AtomicFile::write_text(path, replaced(replaced(std::string(source.text), "@NAME@", name),
                                            "@CLASS@", class_of(name)));
      written.push_back(path);
    }
  } catch (const Failure&) {
    std::error_code ignored;
    for (const auto& path : written) fs::remove(path, ignored);
    if (!keep_folder) fs::remove(folder, ignored);
    throw;
  }
}

int run_new(Context& context, const Arguments& arguments) {
  const auto name = arguments.get("NAME");
  check_name(name);
  const bool taken = is_taken(context, name);
  const fs::path folder = arguments.has("folder") ? arguments.get("folder") : name;
  std::error_code error;
  if (fs::is_regular_file(folder, error))
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is a file, but a folder is needed", folder.string()),
                  "choose another with --folder");
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' already exists and is not an empty folder", folder.string()),
                  "choose another with --folder");
  const bool was_there = fs::exists(folder, error);
  fs::create_directories(folder, error);
  if (error) throw cannot_make(folder, error);
  const auto kind = arguments.get("kind");
  write_sources(folder, name, kind, was_there);
  write_result(
      "created {}; next:\n  cd {}\n  cmake -B build && cmake --build build && ctest --test-dir "
      "build --output-on-failure\n",
      folder.string(), folder.string());
  if (kind != "application")
    write_result("  tenon --plugins build inspect {}\n", taken ? name + '.' + name : name);
  return 0;
}

const bool added_new = add_command(
    {.name = "new",
     .doc = "create a folder with source, test and build of a new operator or application",
     .details = "The folder builds and passes its tests as is; edit the source to make it your "
                "own. Kinds: elementwise is one function applied "
                "to each element; operator has its own kernels and gradient; sparse adds kernels "
                "for csr tensors; cuda adds a GPU kernel in its "
                "own file; optimizer is for tenon train --optimizer; application is a program with "
                "its own operator.",
     .positionals = {{"NAME", "name of the operator or application, for example my_op"}},
     .options = {{"kind", "KIND", "what to create", Choice{kinds}, "elementwise"},
                 {"folder", "DIR", "folder to create (default: NAME)"}},
     .run = run_new});

}  // namespace
}  // namespace tenon::cli
