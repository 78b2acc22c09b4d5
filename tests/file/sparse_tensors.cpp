// csr and row_sparse tensors in .tenon files: mapped in place, refused if an index is out of range.
#include <doctest/doctest.h>

#include <functional>

#include "../check_says.hpp"
#include "../failure_of.hpp"
#include "forged_file.hpp"
#include "sample_graph.hpp"

using namespace tenon;

namespace {

// The offset of the i-th entry of a buffer in the file's data.
template <class T>
void put(FileSections& sections, std::size_t buffer, std::size_t i, T value) {
  const auto* model = format::GetModel(sections.metadata.data());
  const auto* at = model->buffers()->Get(static_cast<flatbuffers::uoffset_t>(buffer));
  std::memcpy(sections.data.data() + model->segments()->Get(at->segment())->offset() +
                  at->offset() + i * sizeof value,
              &value, sizeof value);
}

}  // namespace

TEST_CASE("the arrays of sparse tensors are the file's own pages") {
  const TemporaryFolder folder;
  write_tenon(sparse_graph(), folder / "graph.tenon");
  const auto bytes = read_bytes(folder / "graph.tenon");
  const auto loaded = read_tenon(folder / "graph.tenon");
  REQUIRE(loaded.tensors.size() == 8);
  const auto* first = static_cast<const std::byte*>(loaded.tensors[0].stored_values().data());
  std::size_t arrays = 0;
  const auto look_at = [&](const Tensor& part) {
    const auto offset = static_cast<const std::byte*>(part.data()) - first;
    CHECK(offset >= 0);
    CHECK(offset < static_cast<std::ptrdiff_t>(bytes.size()));
    CHECK(offset % 64 == 0);
    ++arrays;
  };
  for (const auto& tensor : loaded.tensors) {
    look_at(tensor.stored_values());
    if (tensor.storage() == Storage::csr) look_at(tensor.columns());
    if (tensor.storage() == Storage::csr) look_at(tensor.row_starts());
    if (tensor.storage() == Storage::row_sparse) look_at(tensor.row_ids());
  }
  CHECK(arrays == 18);
  // Writing shows who owns the pages: the file is unchanged, and another view of the same memory
  // sees the write.
  loaded.tensors[0].stored_values().data<float>()[0] = 8;
  CHECK(loaded.tensors[0].to_string() == "row_sparse float32 [6, 2], 2 stored  (1) 8 2 (4) 3 4");
  CHECK(read_bytes(folder / "graph.tenon") == bytes);
}

TEST_CASE("hostile indices are refused at load, before they can be followed") {
  // Buffers: weight 0 values, 1 rows; rows 2, 3; dense 4; words 5 values, 6 columns, 7 row starts;
  // small 8, 9, 10 (int32); nothing 11, 12, 13; seen 14, 15; momentum 16, 17.
  const struct {
    const char* sentence;
    std::function<void(FileSections&)> change;
  } cases[] = {
      {"tensor 0: row_sparse float32 [6, 2]: row index 1 is 6, but there are 6 rows",
       [](FileSections& f) { put<std::int64_t>(f, 1, 1, 6); }},
      {"tensor 0: row_sparse float32 [6, 2]: row index 0 is -1, but there are 6 rows",
       [](FileSections& f) { put<std::int64_t>(f, 1, 0, -1); }},
      {"tensor 0: row_sparse float32 [6, 2]: row 1 is 1, after 1: they must be strictly increasing",
       [](FileSections& f) { put<std::int64_t>(f, 1, 1, 1); }},
      {"tensor 1: row_sparse int64 [3]: row index 1 is 2147483647, but there are 3 rows",
       [](FileSections& f) { put<std::int32_t>(f, 3, 1, INT32_MAX); }},
      {"tensor 3: csr float32 [3, 3]: column index 1 is 3, but there are 3 columns",
       [](FileSections& f) { put<std::int64_t>(f, 6, 1, 3); }},
      {"tensor 3: csr float32 [3, 3]: column index 0 is -9223372036854775808, but there are 3 "
       "columns",
       [](FileSections& f) { put<std::int64_t>(f, 6, 0, INT64_MIN); }},
      {"tensor 3: csr float32 [3, 3]: column 1 is 0, after 0: they must be strictly increasing",
       [](FileSections& f) { put<std::int64_t>(f, 6, 1, 0); }},
      {"tensor 3: csr float32 [3, 3]: its row starts go from 1 to 3, not from 0 to 3",
       [](FileSections& f) { put<std::int64_t>(f, 7, 0, 1); }},
      {"tensor 3: csr float32 [3, 3]: its row starts go from 0 to 4, not from 0 to 3",
       [](FileSections& f) { put<std::int64_t>(f, 7, 3, 4); }},
      {"tensor 3: csr float32 [3, 3]: row 1 starts at 9223372036854775807, but row 2 starts at 2: "
       "row starts must not decrease",
       [](FileSections& f) { put<std::int64_t>(f, 7, 1, INT64_MAX); }},
      {"tensor 3: csr float32 [3, 3]: row 1 starts at 2, but row 2 starts at -1: row starts must "
       "not decrease",
       [](FileSections& f) { put<std::int64_t>(f, 7, 2, -1); }},
      {"tensor 4: csr float64 [2, 5]: column index 0 is 5, but there are 5 columns",
       [](FileSections& f) { put<std::int32_t>(f, 9, 0, 5); }},
      {"tensor 5: csr int8 [0, 4]: its row starts go from 1 to 1, not from 0 to 0",
       [](FileSections& f) { put<std::int32_t>(f, 13, 0, 1); }},
      {"tensor 7: row_sparse float32 [6, 2]: row index 0 is 6, but there are 6 rows",
       [](FileSections& f) { put<std::int64_t>(f, 17, 0, 6); }},
  };
  const auto sound = FileSections::of(sparse_graph());
  CHECK(failure_of([&] { read_forged(sound.bytes()); }).message == "");
  for (const auto& wrong : cases) {
    auto sections = sound;
    wrong.change(sections);
    for (const auto check : {FileCheck::structure, FileCheck::everything}) {
      const auto failure = failure_of([&] { read_forged(sections.bytes(), check); });
      CHECK(failure.kind == 4);
      CHECK(failure.message == std::string("forged.tenon: ") + wrong.sentence);
    }
  }
}

TEST_CASE("sparse tensors with a faulty description") {
  const struct {
    const char* sentence;
    std::function<void(format::ModelT&)> change;
  } cases[] = {
      {"tensor 0, row_sparse float32 [6, 2], has a buffer of 16 bytes for its values but needs 24",
       [](auto& m) { m.tensors[0]->stored = 3; }},
      {"tensor 0, row_sparse float32 [6, 2], has values with a byte count beyond 64 bits",
       [](auto& m) { m.tensors[0]->stored = ~std::uint64_t{0}; }},
      {"tensor 0, row_sparse float32 [6, 2], has a buffer of 16 bytes for its indices but needs 8",
       [](auto& m) { m.tensors[0]->index_dtype = format::DType::i32; }},
      {"tensor 0 has indices of dtype 7, but only int32 and int64 are allowed",
       [](auto& m) { m.tensors[0]->index_dtype = format::DType::f32; }},
      {"tensor 0 is row_sparse, but has the row starts of csr",
       [](auto& m) { m.tensors[0]->row_starts = 7; }},
      {"the buffer of tensor 0's indices is index 99, but there are 18",
       [](auto& m) { m.tensors[0]->indices = 99; }},
      {"buffer 0 belongs to two tensors; the second is tensor 0",
       [](auto& m) { m.tensors[0]->indices = 0; }},
      {"tensor 3, csr float32 [3, 3], has a buffer of 12 bytes for its values but needs 8",
       [](auto& m) { m.tensors[3]->stored = 2; }},
      {"tensor 3, csr float32 [4, 3], has a buffer of 32 bytes for its row starts but needs 40",
       [](auto& m) {
         m.types[m.tensors[3]->type]->dims = {4, 3};
       }},
      {"tensor 3 is csr float32 [9], but csr needs two dimensions",
       [](auto& m) { m.types[m.tensors[3]->type]->dims = {9}; }},
      {"tensor 5 has too many rows",
       [](auto& m) {
         m.types[m.tensors[5]->type]->dims = {INT64_MAX, 0};
       }},
      {"tensor 0 is row_sparse float32 [], but row_sparse needs rows",
       [](auto& m) { m.types[m.tensors[0]->type]->dims.clear(); }},
      {"tensor 0 is row_sparse, but the file does not name \"sparse\" as a feature",
       [](auto& m) { m.required_features.pop_back(); }},
      {"'dense' is csr float32 [3, 3], but its tensor is float32 [2]",
       [](auto& m) { m.graphs[0]->values->types[2] = m.tensors[3]->type; }},
      {"'words' is row_sparse, but its tensor is csr",
       [](auto& m) {
         auto& type = *m.types.emplace_back(std::make_unique<format::TensorTypeT>());
         type.dtype = format::DType::f32, type.dims = {3, 3},
         type.storage = format::Storage::row_sparse;
         m.graphs[0]->values->types[4] = static_cast<std::uint32_t>(m.types.size() - 1);
       }},
  };
  const auto sound = FileSections::of(sparse_graph());
  for (const auto& wrong : cases) {
    auto sections = sound;
    sections.change(wrong.change);
    const auto failure = failure_of([&] { read_forged(sections.bytes(), FileCheck::structure); });
    CHECK(failure.kind == 4);
    CHECK(failure.message == std::string("forged.tenon: ") + wrong.sentence);
  }
}

TEST_CASE("the checksum names damaged values of a sparse tensor") {
  auto sections = FileSections::of(sparse_graph());
  put(sections, 5, 0, 3.0F);
  check_says(failure_of([&] { read_forged(sections.bytes()); }).message,
             {"forged.tenon:", "'words' is damaged", "checksum of its 12 bytes"});
}
