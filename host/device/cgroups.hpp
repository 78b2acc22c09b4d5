// The cgroups of this process, whose files state its limits.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// Returns the contents of a file; nullopt if it cannot be read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

std::optional<std::string> read_system_file(const std::string& path);

/// Visits the folders of the process's cgroup for `controller` (`cpu`, `memory`) and of its
/// ancestors, for cgroup v1 and v2. A folder may not exist: in a container, the kernel's path may
/// lie outside of the mounted hierarchy.
void each_cgroup(const ReadText& read, std::string_view controller,
                 const std::function<void(const std::string& folder, bool version_2)>& visit);

}  // namespace tenon
