// Arbitrary bytes as a pack with a matching hash: either its files are in its folder, or nothing
// is.
#include <tenon/host/pack.hpp>

#include "accepts.hpp"
#include "file_of.hpp"
#include "io/sha256.hpp"
#include "target.hpp"
#include "temporary_folder.hpp"

TENON_FUZZ_TARGET(pack)(const std::uint8_t* bytes, std::size_t size) {
  static const TemporaryFolder cache;
  const FileOf file(bytes, size);
  tenon::Sha256 sum;
  sum.add({reinterpret_cast<const std::byte*>(bytes), size});
  const auto hash = sum.hexadecimal();
  accepts([&] {
    const auto opened = tenon::open_pack(
        file.path(), {.sha256 = hash, .config = cache / "config", .cache = cache.path()});
    if (!std::filesystem::is_regular_file(opened.graph)) std::abort();
    std::filesystem::remove_all(cache / "packs" / hash);
  });
  if (std::filesystem::exists(cache / "packs") && !std::filesystem::is_empty(cache / "packs"))
    std::abort();
  return 0;
}
