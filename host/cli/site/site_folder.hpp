// Atomic replacement of a folder of pages.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

struct SiteFile {
  std::string name, text;  ///< the first lines contain site_mark
};

/// Identifies files of a site.
inline constexpr std::string_view site_mark = "made by tenon docs";

/// Writes the files to a new folder that then replaces `folder`. Throws Failure: (usage) if that is
/// a file, the current folder, or contains anything but an earlier site; (file) and (failed) as
/// AtomicFile does. Existing files stay unchanged unless everything is written.
void write_site(const std::filesystem::path& folder, const std::vector<SiteFile>& files);

}  // namespace tenon::cli
