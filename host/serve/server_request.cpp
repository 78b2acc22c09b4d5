#include "serve/server_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "serve/served_dtype.hpp"

namespace tenon::serve {
namespace {

bool is_of_cpu(int memory) {
  return memory == memory_cpu || memory == memory_pinned;
}

/// Throws std::string, a sentence.
RequestInput read_input(ServerRequest* request, const ServedTensor& declared) {
  ServerInput* input = nullptr;
  if (auto* missing = server.TRITONBACKEND_RequestInput(request, declared.name.c_str(), &input);
      missing != nullptr) {
    server.TRITONSERVER_ErrorDelete(missing);
    throw fmt::format("input '{}' is missing", declared.name);
  }
  const char* name = nullptr;
  int dtype = 0;
  const std::int64_t* dims = nullptr;
  std::uint32_t rank = 0, buffers = 0;
  std::uint64_t bytes = 0;
  require(
      server.TRITONBACKEND_InputProperties(input, &name, &dtype, &dims, &rank, &bytes, &buffers));
  if (served(declared.dtype)->number != dtype)
    throw fmt::format("input '{}' is {} but must be {}", declared.name, datatype_of(dtype),
                      served(declared.dtype)->datatype);
  if (rank > static_cast<std::uint32_t>(max_rank) ||
      std::any_of(dims, dims + rank, [](auto dim) { return dim < 0; }))
    throw fmt::format("input '{}' has the shape [{}] but needs {}", declared.name,
                      fmt::join(dims, dims + rank, ", "), to_string(declared.shape));
  RequestInput received{declared.dtype, Shape(dims, static_cast<int>(rank)), {}};
  for (std::uint32_t i = 0; i < buffers; ++i) {
    const void* data = nullptr;
    std::uint64_t size = 0;
    int memory = memory_cpu;
    std::int64_t device = 0;
    require(server.TRITONBACKEND_InputBuffer(input, i, &data, &size, &memory, &device));
    if (!is_of_cpu(memory))
      throw fmt::format("input '{}' is in GPU memory, but the model runs on the CPU",
                        declared.name);
    if (size > 0) received.pieces.emplace_back(static_cast<const std::byte*>(data), size);
  }
  return received;
}

void send_output(ServerResponse* response, const ServedTensor& output, const Result& result) {
  ServerOutput* server_output = nullptr;
  require(server.TRITONBACKEND_ResponseOutput(response, &server_output, output.name.c_str(),
                                              served(output.dtype)->number, result.shape.begin(),
                                              static_cast<std::uint32_t>(result.shape.rank())));
  void* data = nullptr;
  int memory = memory_cpu;
  std::int64_t device = 0;
  require(server.TRITONBACKEND_OutputBuffer(server_output, &data, result.bytes.size(), &memory,
                                            &device));
  if (!is_of_cpu(memory))
    throw fmt::format("output '{}' is requested in GPU memory, but the model runs on the CPU",
                      output.name);
  if (!result.bytes.empty()) std::memcpy(data, result.bytes.data(), result.bytes.size());
}

void send_outputs(ServerResponse* response, ServerRequest* request, const Signature& signature,
                  const Request& from) {
  std::uint32_t count = 0;
  require(server.TRITONBACKEND_RequestOutputCount(request, &count));
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    require(server.TRITONBACKEND_RequestOutputName(request, i, &name));
    const auto found = std::find_if(signature.outputs.begin(), signature.outputs.end(),
                                    [&](const auto& output) { return output.name == name; });
    if (found == signature.outputs.end()) throw fmt::format("the model has no output '{}'", name);
    send_output(response, *found,
                from.results[static_cast<std::size_t>(found - signature.outputs.begin())]);
  }
}

void send_error(ServerResponse* response, int code, const std::string& text) {
  auto* error = server.TRITONSERVER_ErrorNew(code, text.c_str());
  ignore(server.TRITONBACKEND_ResponseSend(response, final_response, error));
  if (error != nullptr) server.TRITONSERVER_ErrorDelete(error);
}

/// The message of an exception that `work` throws; empty if it succeeds.
template <class Work>
std::string sentence_of(const Work& work) {
  try {
    work();
    return {};
  } catch (const ServerFailure& failure) {
    return failure.text();
  } catch (const std::string& sentence) {
    return sentence;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

Request read_request(ServerRequest* request, const Signature& signature, bool rows) {
  Request read;
  read.error = sentence_of([&] {
    for (const auto& input : signature.inputs) read.inputs.push_back(read_input(request, input));
  });
  read.wrong = !read.error.empty();
  if (!read.wrong) check(signature, rows, read);
  return read;
}

bool answer(ServerRequest* request, const Signature& signature, const Request& from) noexcept {
  ServerResponse* response = nullptr;
  if (auto* error = server.TRITONBACKEND_ResponseNew(&response, request); error != nullptr) {
    ignore(error);
    return false;
  }
  if (!from.error.empty()) {
    send_error(response, from.wrong ? error_invalid : error_internal, from.error);
    return false;
  }
  if (const auto error = sentence_of([&] { send_outputs(response, request, signature, from); });
      !error.empty()) {
    send_error(response, error_internal, error);
    return false;
  }
  ignore(server.TRITONBACKEND_ResponseSend(response, final_response, nullptr));
  return true;
}

}  // namespace tenon::serve
