#include <doctest/doctest.h>

#include "../failure_of.hpp"
#include "forged_file.hpp"

using namespace tenon;

TEST_CASE("a sparse tensor in a file is checked, and refused in words because no graph here can hold it") {
  auto parts = FileParts::of(GraphModel());
  const std::int64_t indices[] = {0, 4};
  parts.data.assign(144, '\0');
  std::memcpy(parts.data.data() + 64, indices, sizeof indices);
  parts.change([](format::ModelT& model) {
    model.segments.push_back(std::make_unique<format::SegmentT>());
    model.segments[0]->size = 144;
    for (const std::uint64_t offset : {0, 64, 128}) {
      auto& buffer = *model.buffers.emplace_back(std::make_unique<format::BufferT>());
      buffer.offset = offset, buffer.size = 16;
    }
    auto& type = *model.types.emplace_back(std::make_unique<format::TensorTypeT>());
    type.dtype = format::DType::f32, type.storage = format::Storage::row_sparse, type.dims = {5, 2};
    auto& tensor = *model.tensors.emplace_back(std::make_unique<format::TensorT>());
    tensor.stored = 2, tensor.indices = 1;
  });
  const auto open = [&] { return failure_of([&] { read_forged(parts.bytes()); }).message; };
  CHECK(open() == "forged.tenon: tensor 0 is stored as row_sparse, which this tenon cannot keep yet");
  parts.data[72] = 5;
  CHECK(open() == "forged.tenon: tensor 0, float32 [5, 2]: row 1 is 5, and there are 5");
  parts.change([](format::ModelT& model) { model.types[0]->storage = format::Storage::csr, model.tensors[0]->row_starts = 7; });
  CHECK(open() == "forged.tenon: the buffer of tensor 0's row starts is number 7, but there are 3");
  parts.change([](format::ModelT& model) { model.tensors[0]->row_starts = 1; });
  CHECK(open() == "forged.tenon: buffer 1 belongs to two tensors, tensor 0 is the second");
}
