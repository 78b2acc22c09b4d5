// A folder of pages that is there whole or not at all.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

struct SiteFile {
  std::string name, text;  ///< the text has site_mark in its first lines
};

/// What tells a site's files from all others.
inline constexpr std::string_view site_mark = "made by tenon docs";

/// Puts the files into a new folder, which then takes the place of `folder`. Throws Failure: (usage) where that is a file, the folder that
/// the program runs in, or a folder with anything else in it than such a site; (file) and (failed) as AtomicFile. What was there before
/// stays as it was unless everything is written.
void write_site(const std::filesystem::path& folder, const std::vector<SiteFile>& files);

}  // namespace tenon::cli
