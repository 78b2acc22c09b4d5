// Arbitrary bytes as a .npz archive of numpy or scipy. The indices of accepted sparse matrices are
// followed, to verify that they are valid.
#include "file/array/npz.hpp"

#include <tenon/host/cast_storage.hpp>

#include "accepts.hpp"
#include "file_of.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(npz)(const std::uint8_t* bytes, std::size_t size) {
  accepts([&] {
    const FileOf file(bytes, size);
    for (const auto& [name, tensor] : tenon::read_npz(file.path()))
      if (tensor.size() < 1 << 20) tenon::cast_storage(tensor, tenon::Storage::dense).to_string();
  });
  return 0;
}
