// External data files, and files that must not be read.
#include "onnx/external_data.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../failure_of.hpp"
#include "../temporary_folder.hpp"
#include "onnx/tensor_data.hpp"
#include "onnx_bytes.hpp"

using namespace onnx_bytes;
using tenon::onnx::TensorReader;
namespace fs = std::filesystem;

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string outside(const std::string& name, const Dims& dims, const Entries& entries) {
  return tensor(name, 1, dims, external_data(entries));
}

tenon::onnx::Model model_with(const fs::path& path, const Texts& tensors) {
  ModelFields fields;
  fields.graph.initializers = tensors;
  write_bytes(path, fields.bytes());
  return tenon::onnx::read_model(path);
}

}  // namespace

TEST_CASE("external data: tensors in a file next to the model") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "deep/er");
  write_bytes(folder / "deep/er/w.bin", std::string(3, 'x') + raw<float>({9, 1, 2, 3, 4}));
  write_bytes(folder / "w.bin", raw<float>({1, 2, 3, 4}));
  const auto model = model_with(
      folder / "m.onnx",
      {outside("a", {4}, {{"location", "w.bin"}}),
       outside("b", {2}, {{"location", "./w.bin"}, {"offset", "8"}, {"length", "8"}}),
       outside("c", {4}, {{"location", "deep/er/w.bin"}, {"offset", "7"}, {"checksum", "0"}}),
       outside("d", {0}, {{"location", "w.bin"}, {"offset", "16"}}),
       outside("a again", {2}, {{"location", "w.bin"}, {"offset", "4"}})});
  TensorReader reader(model);
  std::vector<tenon::Tensor> tensors;
  for (const auto& tensor : model.graph.initializers) tensors.push_back(reader.read(tensor));
  CHECK(tensors[0].to_string() == "float32 [4]  1 2 3 4");
  CHECK(tensors[1].to_string() == "float32 [2]  3 4");
  CHECK(tensors[2].to_string() == "float32 [4]  1 2 3 4");
  CHECK(tensors[3].to_string() == "float32 [0]");
  CHECK(tensors[4].to_string() == "float32 [2]  2 3");
  tensors[0].data<float>()[1] = 7;  // not visible elsewhere
  CHECK(tensors[4].to_string() == "float32 [2]  2 3");
}

TEST_CASE("external data: of a model in the current folder") {
  const TemporaryFolder folder;
  write_bytes(folder / "w.bin", raw<float>({1}));
  const auto before = fs::current_path();
  fs::current_path(folder.path());
  const auto model = model_with("m.onnx", {outside("a", {1}, {{"location", "w.bin"}})});
  const auto text = TensorReader(model).read(model.graph.initializers[0]).to_string();
  fs::current_path(before);
  CHECK(text == "float32 [1]  1");
}

TEST_CASE("external data: a large file is mapped, and changes to it are detected") {
  const TemporaryFolder folder;
  write_bytes(folder / "w.bin", std::string(4 << 20, '\0'));
  const auto model =
      model_with(folder / "m.onnx", {outside("a", {1 << 20}, {{"location", "w.bin"}})});
  const auto tensor = TensorReader(model).read(model.graph.initializers[0]);
  const auto memory = tenon::FileMemory::at(tensor.data());
  REQUIRE(memory != nullptr);
  memory->require_unchanged();
  fs::resize_file(folder / "w.bin", 8 << 20);
  CHECK(failure_of([&] { memory->require_unchanged(); }).message.find("w.bin") !=
        std::string::npos);
}

TEST_CASE("external data: ranges outside of the file, and too many ranges, are rejected") {
  const TemporaryFolder folder;
  write_bytes(folder / "w.bin", raw<float>({1, 2}));
  struct Case {
    Dims dims;
    const char *offset, *sentence;
  };
  const Case cases[] = {
      {{3}, "0", "tensor 'a' has 12 bytes at offset 0 of 'w.bin', which has only 8"},
      {{1}, "5", "tensor 'a' has 4 bytes at offset 5 of 'w.bin', which has only 8"},
      {{1}, "9", "tensor 'a' has 4 bytes at offset 9 of 'w.bin'"},
      {{1},
       "9223372036854775803",
       "tensor 'a' has 4 bytes at offset 9223372036854775803 of 'w.bin'"},
  };
  for (const auto& one : cases) {
    const auto model =
        model_with(folder / "m.onnx",
                   {outside("a", one.dims, {{"location", "w.bin"}, {"offset", one.offset}})});
    const auto found = failure_of([&] { TensorReader(model).read(model.graph.initializers[0]); });
    CHECK(found.kind == 4);
    CHECK_MESSAGE(found.message.find(one.sentence) != std::string::npos, found.message);
  }
  // A thousand tensors over the same bytes of a file would take a gigabyte.
  write_bytes(folder / "w.bin", std::string(1 << 20, '\0'));
  const auto model = model_with(folder / "m.onnx", Texts());
  Texts tensors;
  for (int i = 0; i < 1000; ++i)
    tensors.push_back(outside("t" + std::to_string(i), {1 << 18}, {{"location", "w.bin"}}));
  const auto many = model_with(folder / "m.onnx", tensors);
  const auto found = failure_of([&] {
    TensorReader reader(many);
    std::vector<tenon::Tensor> kept;
    for (const auto& tensor : many.graph.initializers) kept.push_back(reader.read(tensor));
  });
  CHECK_MESSAGE(found.message.find("the file is damaged or malicious") != std::string::npos,
                found.message);
}

TEST_CASE("external data: files that a model may not read") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "model/sub");
  const auto model = folder / "model/m.onnx";
  write_bytes(folder / "secret", "secret");
  write_bytes(folder / "model/plain", "plain");
  write_bytes(folder / "model/sub/linked", "linked");
  fs::create_symlink("../secret", folder / "model/out");
  fs::create_symlink("plain", folder / "model/in");
  fs::create_directory_symlink("sub", folder / "model/way");
  fs::create_directory_symlink("..", folder / "model/up");
  fs::create_symlink("/etc/passwd", folder / "model/absolute");
  fs::create_symlink("/proc/self/exe", folder / "model/magic");
  fs::create_symlink("nowhere", folder / "model/dangling");
  fs::create_symlink("ring2", folder / "model/ring");
  fs::create_symlink("ring", folder / "model/ring2");
  fs::create_symlink("sub", folder / "model/folder");
  fs::create_symlink("pipe", folder / "model/to_pipe");
  fs::create_symlink("hard", folder / "model/to_hard");
  fs::create_directories(folder / "blobs");
  write_bytes(folder / "blobs/own", "own");
  // not a cache: the folder has no snapshots
  fs::create_symlink("../blobs/own", folder / "model/blob");
  fs::create_hard_link(folder / "secret", folder / "model/hard");
  REQUIRE(::mkfifo((folder / "model/pipe").c_str(), 0600) == 0);
  using namespace std::string_literals;
  struct Case {
    std::string location, sentence;
  };
  const auto outside = fs::canonical(folder.path()).string();
  const Case cases[] = {
      {"", "a path relative to the model's folder"},
      {"/etc/passwd", "a path relative to the model's folder"},
      {"plain\0/../../secret"s, "a path relative to the model's folder"},
      {"../secret", "the location is outside the model's folder"},
      {"sub/../../secret", "the location is outside the model's folder"},
      {"sub/..", "the location is a folder"},
      {"sub/../out",
       "resolves through a symbolic link to '" + outside + "/secret', outside the model's folder"},
      {"way/../../secret", "the location is outside the model's folder"},
      {"sub/", "the location is a folder"},
      {".", "the location is a folder"},
      {"sub", "it is a folder, pipe or device"},
      {"pipe", "it is a folder, pipe or device"},
      {"out",
       "resolves through a symbolic link to '" + outside + "/secret', outside the model's folder"},
      {"up/secret", "resolves through a symbolic link to '" + outside + "/secret', outside"},
      {"absolute", "resolves through a symbolic link to '/etc/passwd', outside"},
      {"magic", "outside the model's folder"},
      {"blob", "resolves through a symbolic link to '" + outside + "/blobs/own', outside"},
      {"dangling", "it is a symbolic link to 'nowhere': there is no such file"},
      {"ring", "it is a symbolic link to 'ring2'"},
      {"folder", "it is a folder, pipe or device"},
      {"to_pipe", "it is a folder, pipe or device"},
      {"to_hard", "the file has 2 hard links"},
      {"plain/secret", "cannot be read"},
      {"hard", "the file has 2 hard links"},
      {"missing", "no such file"},
      {"missing/file", "no such file"},
      {std::string(300, 'a'), "cannot be read"},
  };
  for (const bool by_hand : {false, true}) {
    CAPTURE(by_hand);
    for (const auto& one : cases) {
      CAPTURE(one.location);
      const auto found =
          failure_of([&] { tenon::onnx::open_beneath(model, one.location, false, by_hand); });
      CHECK(found.kind == 4);
      CHECK(found.message.find(model.string()) == 0);
      CHECK_MESSAGE(found.message.find(one.sentence) != std::string::npos, found.message);
    }
    for (const auto* location :
         {"plain", "./plain", ".//plain", "sub/linked", "sub//./linked", "in", "way/linked",
          "up/model/plain", "sub/../plain", "missing/../sub/./linked", "way/../in"})
      CHECK(tenon::onnx::open_beneath(model, location, false, by_hand).size() != 0);
    for (const auto* location : {"out", "up/secret", "hard", "blob", "absolute"})
      CHECK(tenon::onnx::open_beneath(model, location, true, by_hand).size() != 0);
    for (const auto* location :
         {"../secret", "/etc/passwd", "dangling", "ring", "to_pipe", "folder"})
      CHECK(failure_of([&] { tenon::onnx::open_beneath(model, location, true, by_hand); }).kind ==
            4);
  }
}

TEST_CASE(
    "external data: in a Hugging Face cache, only links to the same repository's blobs are "
    "followed") {
  const TemporaryFolder folder;
  const auto home = folder / "hub/models--a--b";
  const auto revision = home / "snapshots/1234/onnx";
  fs::create_directories(revision);
  fs::create_directories(home / "blobs/deep");
  fs::create_directories(folder / "hub/models--c/blobs");
  for (const auto* file : {"hub/models--a--b/blobs/own", "hub/models--a--b/blobs/deep/er",
                           "hub/models--c/blobs/other", "secret"})
    write_bytes(folder / file, "data");
  fs::create_symlink("../../../secret", home / "blobs/way_out");
  fs::create_symlink("../../../blobs/own", revision / "own");
  fs::create_symlink("../../../blobs/deep/er", revision / "deep");
  fs::create_symlink("../../../blobs/way_out", revision / "way_out");
  fs::create_symlink("../../../../models--c/blobs/other", revision / "other");
  fs::create_symlink("../../../blobs/own", revision / "m.onnx");
  for (const bool by_hand : {false, true}) {
    const auto open = [&](const char* location, bool trust) {
      return failure_of(
                 [&] { tenon::onnx::open_beneath(revision / "m.onnx", location, trust, by_hand); })
          .message;
    };
    CHECK(open("own", false).empty());
    for (const auto* location : {"deep", "way_out", "other"}) {
      CHECK(open(location, false).find("outside the model's folder") != std::string::npos);
      CHECK(open(location, true).empty());
    }
  }
}
