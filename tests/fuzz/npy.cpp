// Arbitrary bytes as a .npy file. An accepted array survives writing and reading.
#include "file/array/npy.hpp"

#include "../temporary_folder.hpp"
#include "accepts.hpp"
#include "file_of.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(npy)(const std::uint8_t* bytes, std::size_t size) {
  accepts([&] {
    const FileOf file(bytes, size);
    const auto tensor = tenon::read_npy(file.path());
    static const TemporaryFolder folder;
    tenon::write_npy(folder / "again.npy", tensor);
    if (!same_bits(tenon::read_npy(folder / "again.npy"), tensor)) std::abort();
  });
  return 0;
}
