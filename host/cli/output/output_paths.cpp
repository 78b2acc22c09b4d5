#include "cli/output/output_paths.hpp"

#include <fmt/format.h>

#include <system_error>

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code ignored;
  return final_path(one) == final_path(other) || fs::equivalent(one, other, ignored);
}

}  // namespace

fs::path final_path(const fs::path& path) {
  std::error_code error;
  if (auto found = fs::canonical(path, error); !error) return found;
  const auto folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  return error ? fs::absolute(path, error).lexically_normal() : folder / path.filename();
}

void refuse_same_outputs(const std::vector<NamedFile>& outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one)
    for (auto other = outputs.begin(); other != one; ++other)
      if (!one->path.empty() && !other->path.empty() && is_same(one->path, other->path))
        throw Failure(FailureKind::usage,
                      fmt::format("{} and {} are the same file, '{}'", other->name, one->name,
                                  one->path.string()),
                      "use a different file for each");
}

void refuse_lost_inputs(const std::vector<NamedFile>& outputs,
                        const std::vector<NamedFile>& inputs) {
  for (const auto& output : outputs)
    for (const auto& input : inputs)
      if (!output.path.empty() && is_same(output.path, input.path))
        throw Failure(FailureKind::usage,
                      fmt::format("{} would replace '{}', which {} reads", output.name,
                                  input.path.string(), input.name),
                      "write to another file");
}

std::vector<NamedFile> array_files(const Arguments& arguments, const std::string& option) {
  std::vector<NamedFile> files;
  for (const auto& table : arguments.tables(option))
    files.push_back({"--" + option, table.substr(0, table.rfind(".csv") + 4)});
  for (const auto& [name, text] : arguments.named(option)) {
    std::error_code ignored;
    auto file = text;
    for (const char end : {'[', ':'})
      if (!fs::exists(file, ignored)) file = file.substr(0, file.rfind(end));
    files.push_back({fmt::format("--{} {}", option, name), file});
  }
  return files;
}

}  // namespace tenon::cli
