// Whatever is done to a file, opening it yields a graph or a Failure.
#include <doctest/doctest.h>

#include <random>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>

#include "file/tenon/metadata_writer.hpp"
#include "forged_file.hpp"
#include "sample_graph.hpp"

using namespace tenon;

namespace {

struct Tally {
  int opened = 0, refused = 0;
};

/// Any result but a graph or a Failure of kind file ends the test program.
void open(const ForgedFile& file, Tally& tally, FileCheck check = FileCheck::everything) {
  try {
    const auto graph = file.read(check);
    for (const auto& tensor : graph.tensors)
      if (tensor.size() < 1 << 20)
        REQUIRE(cast_storage(tensor, Storage::dense).size() ==
                tensor.size());            // follows all indices
    const auto order = file_order(graph);  // accepted graphs must be usable
    const auto metadata = write_metadata(graph, order, lay_out(graph, order), "again.tenon");
    REQUIRE_FALSE(metadata.empty());
    ++tally.opened;
  } catch (const Failure& failure) {
    REQUIRE(failure.kind() == FailureKind::file);
    ++tally.refused;
  }
}

}  // namespace

TEST_CASE("a file truncated at any length is refused") {
  const auto sections = FileSections::of(gradient_graph());
  const auto bytes = sections.bytes();
  Tally tally;
  const auto step = [&](std::size_t length) {
    return length < 8192 || length + 512 > bytes.size() ? 1U : 997U;
  };  // zeros in between
  for (std::size_t length = 0; length < bytes.size(); length += step(length))
    open(ForgedFile(bytes.substr(0, length)), tally);
  CHECK(tally.opened == 0);
}

TEST_CASE("truncated metadata with a matching header is refused") {
  const auto sound = FileSections::of(training_graph());
  Tally tally;
  for (std::size_t length = 0; length < sound.metadata.size(); ++length) {
    auto sections = sound;
    sections.metadata.resize(length);
    open(ForgedFile(sections.bytes()), tally);
  }
  CHECK(tally.opened <= 8);  // the last bytes may be padding of a text
}

TEST_CASE("every byte of the metadata set to other values") {
  for (const auto& graph : {training_graph(), sparse_graph()}) {
    ForgedFile file(FileSections::of(graph).bytes());
    Tally tally;
    for (auto& byte : file.metadata())
      for (const int flip : {0x01, 0x80, 0xff}) {
        const auto before = byte;
        byte = static_cast<char>(byte ^ flip);
        file.sign();
        open(file, tally);
        byte = before;
      }
    CHECK(tally.refused > tally.opened);
    CHECK(tally.opened > 0);  // names and numbers may change validly
  }
}

TEST_CASE("numbers of the metadata replaced by hostile ones") {
  for (const auto& graph : {training_graph(), sparse_graph()}) {
    const auto sound = FileSections::of(graph);
    ForgedFile file(sound.bytes());
    std::mt19937 random(1);
    constexpr std::uint32_t hostile[] = {0,       1,          2,          3,          5,
                                         8,       0x7f,       0xff,       0x100,      0xffff,
                                         0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    Tally tally;
    for (int round = 0; round < 4000; ++round) {
      const auto changes = 1 + random() % 3;
      for (std::uint32_t i = 0; i < changes; ++i) {
        const auto at = random() % (sound.metadata.size() / 4) * 4;
        const auto value = hostile[random() % std::size(hostile)];
        std::memcpy(file.metadata().data() + at, &value, sizeof value);
      }
      file.sign();
      open(file, tally);
      std::copy(sound.metadata.begin(), sound.metadata.end(), file.metadata().begin());
    }
    CHECK(tally.refused > 0);
  }
}

TEST_CASE("indices of sparse tensors replaced by hostile ones") {
  const auto sound = FileSections::of(sparse_graph());
  ForgedFile file(sound.bytes());
  std::mt19937_64 random(2);
  constexpr std::int64_t hostile[] = {-1,         0,          1,          3,         6,        7,
                                      0x7fffffff, 0x80000000, 0xffffffff, INT64_MAX, INT64_MIN};
  Tally tally;
  for (int round = 0; round < 4000; ++round) {
    const auto value = hostile[random() % std::size(hostile)];
    const auto* buffers = format::GetModel(sound.metadata.data())->buffers();
    const auto* buffer =
        buffers->Get(static_cast<flatbuffers::uoffset_t>(random() % 16));  // of the weights
    if (buffer->size() >= sizeof value)
      std::memcpy(file.data() + buffer->offset() + random() % (buffer->size() / 8) * 8, &value,
                  sizeof value);
    open(file, tally, FileCheck::structure);
    std::copy(sound.data.begin(), sound.data.end(), file.data());
  }
  CHECK(tally.refused > 100);
  CHECK(tally.opened > 100);
}
