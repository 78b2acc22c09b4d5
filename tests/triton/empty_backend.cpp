// A minimal backend: each request's input `x` is its output `y`. The difference to it is Tenon's
// share of the time.
#include <dlfcn.h>

#include <chrono>
#include <cstring>

#include "serve/server_calls.hpp"

namespace tenon::serve {
ServerCalls server;
}
using namespace tenon::serve;

#define EMPTY_BACKEND extern "C" __attribute__((visibility("default"))) ServerError*

EMPTY_BACKEND TRITONBACKEND_Initialize(ServerBackend*) {
#define FIND(result, name, parameters) \
  server.name = reinterpret_cast<decltype(server.name)>(dlsym(RTLD_DEFAULT, #name));
  TENON_SERVER_CALLS(FIND)
  return nullptr;
}

static std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

static void copy(ServerRequest* request, ServerResponse* response) {
  ServerInput* input = nullptr;
  ServerOutput* output = nullptr;
  const char* name = nullptr;
  const std::int64_t* dims = nullptr;
  int dtype = 0, memory = 0;
  std::int64_t device = 0;
  std::uint32_t rank = 0, buffers = 0;
  std::uint64_t bytes = 0;
  const void* from = nullptr;
  void* to = nullptr;
  server.TRITONBACKEND_RequestInput(request, "x", &input);
  server.TRITONBACKEND_InputProperties(input, &name, &dtype, &dims, &rank, &bytes, &buffers);
  server.TRITONBACKEND_ResponseOutput(response, &output, "y", dtype, dims, rank);
  server.TRITONBACKEND_OutputBuffer(output, &to, bytes, &memory, &device);
  for (std::uint32_t i = 0; i < buffers; ++i) {
    server.TRITONBACKEND_InputBuffer(input, i, &from, &bytes, &memory, &device);
    std::memcpy(to, from, bytes);
    to = static_cast<char*>(to) + bytes;
  }
}

EMPTY_BACKEND TRITONBACKEND_ModelInstanceExecute(ServerInstance* instance, ServerRequest** requests,
                                                 std::uint32_t count) {
  const auto begin = now();
  for (std::uint32_t i = 0; i < count; ++i) {
    ServerResponse* response = nullptr;
    server.TRITONBACKEND_ResponseNew(&response, requests[i]);
    copy(requests[i], response);
    server.TRITONBACKEND_ResponseSend(response, final_response, nullptr);
    server.TRITONBACKEND_ModelInstanceReportStatistics(instance, requests[i], true, begin, begin,
                                                       now(), now());
    server.TRITONBACKEND_RequestRelease(requests[i], release_all);
  }
  server.TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, count, begin, begin, now(),
                                                          now());
  return nullptr;
}
