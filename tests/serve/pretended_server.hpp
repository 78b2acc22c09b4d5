// The functions of Triton Inference Server that the backend calls, with objects that a test fills and looks into.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
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
  void* state = nullptr;
};
struct ServerInstance {
  ServerModel* model = nullptr;
  int kind = instance_cpu;
  void* state = nullptr;
  std::vector<bool> succeeded;         // as reported, of each request
  std::vector<std::uint64_t> batches;  // as reported, rows of each run
  bool times_ascend = true;
};
struct ServerInput {
  int dtype = 11;  // FP32
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::byte>> pieces;
  int memory = memory_cpu;
};
struct ServerOutput {
  int dtype = 0;
  std::vector<std::int64_t> dims;
  std::vector<std::byte> bytes;
  int memory = memory_cpu;  // that the server has for it
};
struct ServerResponse {
  std::map<std::string, ServerOutput> outputs;
  struct ServerRequest* request = nullptr;
};
struct ServerRequest {
  std::map<std::string, ServerInput> inputs;
  std::vector<std::string> wanted;
  int output_memory = memory_cpu;
  // what the backend did
  std::map<std::string, ServerOutput> outputs;
  int code = -1;
  std::string error;
  int answers = 0, releases = 0;
};

/// Errors and messages that are not deleted.
inline int living = 0;

}  // namespace tenon::serve
