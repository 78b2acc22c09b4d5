// The cgroups of this process, whose files tell what it may use.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// The text of a file; nothing where it cannot be read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

std::optional<std::string> read_system_file(const std::string& path);

/// Visits the folders of the process's cgroup for `controller` (`cpu`, `memory`) and of those above it, of both versions. A folder may not
/// exist: in a container the kernel's path may be one outside of what is mounted there.
void each_cgroup(const ReadText& read, std::string_view controller,
                 const std::function<void(const std::string& folder, bool version_2)>& visit);

}  // namespace tenon
