// A fake of the Triton Inference Server functions that the backend calls, with objects that a test
// fills and inspects.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "serve/server_calls.hpp"

namespace tenon::serve {

struct ServerError {
  int code;
  std::string text;
};
struct ServerMessage {
  std::string text;
};
struct ServerModel {
  std::string folder, config;
  bool completes = false;
  int artifact = artifact_filesystem;
  std::uint64_t version = 1;
  void* state = nullptr;
};
struct Times {
  std::uint64_t begin, compute_begin, compute_end, end;
};
struct ServerInstance {
  ServerModel* model = nullptr;
  int kind = instance_cpu;
  void* state = nullptr;
  std::vector<bool> succeeded;         // as reported, for each request
  std::vector<std::uint64_t> batches;  // as reported, rows of each run
  std::vector<Times> times, batch_times;
};
struct ServerInput {
  int dtype = 11;  // FP32
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::byte>> pieces;
  int memory = memory_cpu;
  std::size_t shift = 0;  // bytes before the data, to misalign it
};
struct ServerOutput {
  int dtype = 0;
  std::vector<std::int64_t> dims;
  std::vector<std::byte> bytes;
  int memory = memory_cpu;  // kind of memory that the server returns
};
struct ServerResponse {
  std::map<std::string, ServerOutput> outputs;
  struct ServerRequest* request = nullptr;
};
struct ServerRequest {
  std::map<std::string, ServerInput> inputs;
  std::vector<std::string> requested;
  int output_memory = memory_cpu;
  // recorded calls of the backend
  std::map<std::string, ServerOutput> outputs;
  int code = -1;
  std::string error;
  int answers = 0, releases = 0;
};

/// Errors and messages that are not deleted.
inline int living = 0;
/// Names of functions that fail with `NAME fails`.
inline std::set<std::string> failing;
inline std::vector<std::string> logged;  ///< `LEVEL TEXT`
inline std::uint32_t major_version = 1;

}  // namespace tenon::serve
