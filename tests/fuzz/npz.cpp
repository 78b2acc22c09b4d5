// Any bytes as a .npz archive, of numpy or of scipy. Sparse matrices that are accepted keep their rules: their indices are followed.
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
