// tenon new: a folder with an operator, its test and its build, that works at once.
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
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (name == "tenon" || name == "app")
    throw Failure(FailureKind::usage, fmt::format("'{}' cannot be the name of an operator and its plugin: it is a space of Tenon's", name),
                  "choose another name");
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z' && name.size() <= 64 && std::all_of(name.begin(), name.end(), fits)) return;
  throw Failure(FailureKind::usage, fmt::format("'{}' cannot be an operator's name", name),
                "names are lower-case letters, digits and _, begin with a letter and have at most 64 characters");
}

/// Says so where another operator has the short name.
bool is_taken(Context& context, const std::string& name) {
  const auto catalog = context.host().catalog();
  const auto* op = catalog.find(name);
  if (op == nullptr && catalog.why_missing(name).empty()) return false;
  tell("warning: the short name '{}' is taken{}: graphs must call your operator {}.{}, which works as it is, or choose another name\n",
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
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
  return text;
}

Failure cannot_make(const fs::path& folder, const std::error_code& error) {
  const auto above = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  const auto reason =
      error == std::errc::no_such_file_or_directory ? "no folder can be made in " + above.string() : system_reason(error.value());
  return {FailureKind::file, fmt::format("cannot make the folder {}: {}", folder.string(), reason), "choose another with --folder"};
}

const std::vector<std::string> kinds = {"elementwise", "operator", "sparse", "cuda", "optimizer", "application"};

bool is_of(const TemplateFile& file, std::string_view kind) {
  if (!file.kind.empty()) return file.kind == kind;
  return std::none_of(std::begin(template_files), std::end(template_files),
                      [&](const auto& other) { return other.kind == kind && other.name == file.name; });
}

// All files or none, and no folder that was not there before.
void write_sources(const fs::path& folder, const std::string& name, std::string_view kind, bool keep_folder) {
  std::vector<fs::path> written;
  try {
    for (const auto& source : template_files) {
      if (!is_of(source, kind)) continue;
      const auto path = folder / replaced(std::string(source.name), "NAME", name);
      AtomicFile::write_text(path, replaced(replaced(std::string(source.text), "@NAME@", name), "@CLASS@", class_of(name)));
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
    throw Failure(FailureKind::usage, fmt::format("'{}' is a file, and a folder is needed", folder.string()),
                  "choose another with --folder");
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    throw Failure(FailureKind::usage, fmt::format("'{}' is there already and is not an empty folder", folder.string()),
                  "choose another with --folder");
  const bool was_there = fs::exists(folder, error);
  fs::create_directories(folder, error);
  if (error) throw cannot_make(folder, error);
  const auto kind = arguments.get("kind");
  write_sources(folder, name, kind, was_there);
  write_result("made {}; next:\n  cd {}\n  cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure\n",
               folder.string(), folder.string());
  if (kind != "application") write_result("  tenon --plugins build inspect {}\n", taken ? name + '.' + name : name);
  return 0;
}

const bool added_new = add_command(
    {.name = "new",
     .doc = "start an operator or an application: source, test and build in a new folder",
     .details =
         "The folder builds and passes its tests as it is; change the source into your own. Kinds: elementwise is one function of an "
         "element, operator has kernels and a gradient of its own, sparse kernels for csr tensors, too, cuda a kernel for GPUs in a file "
         "of its own, optimizer is for tenon train --optimizer, and application is a program with an operator of its own.",
     .positionals = {{"NAME", "the name, like my_op"}},
     .options = {{"kind", "KIND", "what to start", Choice{kinds}, "elementwise"},
                 {"folder", "DIR", "the folder to make (default: the name)"}},
     .run = run_new});

}  // namespace
}  // namespace tenon::cli
