// A file of examples that is truncated during training.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "cli/workplace.hpp"

TEST_CASE(
    "train: truncating the mapped file of examples causes no SIGBUS, is reported, and keeps the "
    "checkpoint") {
  const Workplace place;
  place.write("loss.json", R"({"tenon": 1, "inputs": {"x": {"dtype": "uint8", "shape": [-1, 4096]}},
  "nodes": [{"name": "number", "op": "cast", "inputs": ["x"], "attrs": {"dtype": "float32"}},
            {"name": "h", "op": "fully_connected", "inputs": ["number"],
             "attrs": {"num_hidden": 1}},
            {"name": "loss", "op": "mean", "inputs": ["h"]}],
  "outputs": {"loss": "loss"}})");
  constexpr auto whole = 128 + 20000 * 4096;  // zeros that take no disk space
  const auto x = place.folder() / "big.npy", checkpoint = place.folder() / "c.tenon";
  place.write("big.npy", npy_bytes("|u1", "(20000, 4096)", 0));
  REQUIRE(std::filesystem::file_size(x) == 128);
  std::filesystem::resize_file(x, whole);
  std::jthread cutter([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && !std::filesystem::exists(checkpoint))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::filesystem::resize_file(x, 4096);
  });
  const auto result =
      place.run({"train", "loss.json", "--data", "x=big.npy", "--batch", "4", "--epochs", "1000000",
                 "--checkpoint", "c.tenon", "--checkpoint-every", "1", "-o", "out.tenon"});
  cutter.request_stop();
  CHECK(result.code == 4);
  CHECK(result.out == "");
  CHECK(has(
      result.err,
      "error: big.npy was truncated while it was in use: it had 81920128 bytes and has 4096\n"
      "hint: load it again; to replace a file that is in use, write a new file and rename it\n"));
  CHECK(place.run({"validate", "c.tenon"}).code == 0);
}
