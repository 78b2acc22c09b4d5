// Arbitrary bytes as examples in svmlight format, counted in each of the three ways.
#include "file/array/svmlight.hpp"

#include <tenon/host/cast_storage.hpp>

#include "accepts.hpp"
#include "file_of.hpp"
#include "target.hpp"

TENON_FUZZ_TARGET(svmlight)(const std::uint8_t* bytes, std::size_t size) {
  using First = tenon::SvmOptions::First;
  const FileOf file(bytes, size);
  for (const auto first : {First::automatic, First::zero, First::one})
    accepts([&] {
      tenon::SvmOptions options;
      options.first = first;
      const auto examples = tenon::read_svmlight(file.path(), options);
      if (examples.labels.size() != examples.features.shape()[0]) std::abort();
      if (examples.features.size() < 1 << 20)
        tenon::cast_storage(examples.features, tenon::Storage::dense);
    });
  return 0;
}
