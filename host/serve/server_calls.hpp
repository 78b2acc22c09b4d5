// The functions of Triton Inference Server's C interface that the backend uses: its backend API
// 1.x, as of 1.19, whose ABI is stable. The server's own headers are not needed; names are the
// server's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::serve {

// The server's opaque objects.
struct ServerError;
struct ServerMessage;  // a text, usually JSON
struct ServerBackend;
struct ServerModel;
struct ServerInstance;  // of a model; the server runs one call per instance at a time
struct ServerRequest;
struct ServerInput;
struct ServerResponse;
struct ServerOutput;

// Values of the C interface's enumerations.
inline constexpr int error_internal = 1, error_invalid = 3, error_unsupported = 5;
inline constexpr int memory_cpu = 0, memory_pinned = 1;
inline constexpr int instance_cpu = 1;
inline constexpr int artifact_filesystem = 0;
inline constexpr int log_info = 0, log_warning = 1, log_error = 2;
inline constexpr std::uint32_t release_all = 1, final_response = 1;

/// X(result, name, parameters) for each function. A null error means success. The caller deletes
/// errors and messages that it receives, unless a comment says otherwise.
#define TENON_SERVER_CALLS(X)                                                                     \
  X(ServerError*, TRITONSERVER_ErrorNew, (int code, const char* text))                            \
  X(void, TRITONSERVER_ErrorDelete, (ServerError*))                                               \
  X(const char*, TRITONSERVER_ErrorMessage, (ServerError*))                                       \
  X(ServerError*, TRITONSERVER_LogMessage,                                                        \
    (int level, const char* file, int line, const char* text))                                    \
  X(ServerError*, TRITONSERVER_MessageNewFromSerializedJson,                                      \
    (ServerMessage**, const char* text, std::size_t bytes))                                       \
  X(ServerError*, TRITONSERVER_MessageSerializeToJson,                                            \
    (ServerMessage*, const char** text, std::size_t* bytes)) /* the message's own */              \
  X(ServerError*, TRITONSERVER_MessageDelete, (ServerMessage*))                                   \
  X(ServerError*, TRITONBACKEND_ApiVersion, (std::uint32_t * major, std::uint32_t * minor))       \
  X(ServerError*, TRITONBACKEND_ModelName, (ServerModel*, const char** name))                     \
  X(ServerError*, TRITONBACKEND_ModelVersion, (ServerModel*, std::uint64_t * version))            \
  X(ServerError*, TRITONBACKEND_ModelRepository,                                                  \
    (ServerModel*, int* artifact, const char** folder))                                           \
  X(ServerError*, TRITONBACKEND_ModelConfig,                                                      \
    (ServerModel*, std::uint32_t version, ServerMessage**))                                       \
  X(ServerError*, TRITONBACKEND_ModelAutoCompleteConfig, (ServerModel*, bool* auto_complete))     \
  X(ServerError*, TRITONBACKEND_ModelSetConfig,                                                   \
    (ServerModel*, std::uint32_t version, ServerMessage*)) /* copies the message */               \
  X(ServerError*, TRITONBACKEND_ModelState, (ServerModel*, void** state))                         \
  X(ServerError*, TRITONBACKEND_ModelSetState, (ServerModel*, void* state))                       \
  X(ServerError*, TRITONBACKEND_ModelInstanceName, (ServerInstance*, const char** name))          \
  X(ServerError*, TRITONBACKEND_ModelInstanceKind, (ServerInstance*, int* kind))                  \
  X(ServerError*, TRITONBACKEND_ModelInstanceModel, (ServerInstance*, ServerModel**))             \
  X(ServerError*, TRITONBACKEND_ModelInstanceState, (ServerInstance*, void** state))              \
  X(ServerError*, TRITONBACKEND_ModelInstanceSetState, (ServerInstance*, void* state))            \
  /* Times are nanoseconds of the steady clock: all the work, and the computation in it. */       \
  X(ServerError*, TRITONBACKEND_ModelInstanceReportStatistics,                                    \
    (ServerInstance*, ServerRequest*, bool success, std::uint64_t begin,                          \
     std::uint64_t compute_begin, std::uint64_t compute_end, std::uint64_t end))                  \
  X(ServerError*, TRITONBACKEND_ModelInstanceReportBatchStatistics,                               \
    (ServerInstance*, std::uint64_t batch, std::uint64_t begin, std::uint64_t compute_begin,      \
     std::uint64_t compute_end, std::uint64_t end))                                               \
  X(ServerError*, TRITONBACKEND_RequestInput, (ServerRequest*, const char* name, ServerInput**))  \
  X(ServerError*, TRITONBACKEND_RequestOutputCount, (ServerRequest*, std::uint32_t * count))      \
  X(ServerError*, TRITONBACKEND_RequestOutputName,                                                \
    (ServerRequest*, std::uint32_t i, const char** name))                                         \
  X(ServerError*, TRITONBACKEND_RequestRelease, (ServerRequest*, std::uint32_t flags))            \
  X(ServerError*, TRITONBACKEND_InputProperties,                                                  \
    (ServerInput*, const char** name, int* dtype, const std::int64_t** dims, std::uint32_t* rank, \
     std::uint64_t* bytes, std::uint32_t* buffers))                                               \
  /* memory: requested by the backend, then actual */                                             \
  X(ServerError*, TRITONBACKEND_InputBuffer,                                                      \
    (ServerInput*, std::uint32_t i, const void** data, std::uint64_t* bytes, int* memory,         \
     std::int64_t* device))                                                                       \
  X(ServerError*, TRITONBACKEND_ResponseNew, (ServerResponse**, ServerRequest*))                  \
  X(ServerError*, TRITONBACKEND_ResponseDelete, (ServerResponse*))                                \
  X(ServerError*, TRITONBACKEND_ResponseOutput,                                                   \
    (ServerResponse*, ServerOutput**, const char* name, int dtype, const std::int64_t* dims,      \
     std::uint32_t rank))                                                                         \
  X(ServerError*, TRITONBACKEND_OutputBuffer,                                                     \
    (ServerOutput*, void** data, std::uint64_t bytes, int* memory, std::int64_t* device))         \
  X(ServerError*, TRITONBACKEND_ResponseSend,                                                     \
    (ServerResponse*, std::uint32_t flags, ServerError*)) /* frees only the response */

/// The functions of the server that loaded this library; they are looked up at run time, not
/// linked.
struct ServerCalls {
#define TENON_SERVER_CALL(result, name, parameters) result(*name) parameters = nullptr;
  TENON_SERVER_CALLS(TENON_SERVER_CALL)
#undef TENON_SERVER_CALL

  /// Looks up all functions. Returns the name of the first one that the server lacks, or null.
  const char* find();
};

/// Set by TRITONBACKEND_Initialize before any other use.
extern ServerCalls server;

/// An error of the server, with its text, as an exception.
class ServerFailure {
 public:
  explicit ServerFailure(ServerError* error) : text_(server.TRITONSERVER_ErrorMessage(error)) {
    server.TRITONSERVER_ErrorDelete(error);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Throws ServerFailure if `error` is not null.
inline void require(ServerError* error) {
  if (error != nullptr) throw ServerFailure(error);
}

/// Writes a line to the server's log, e.g. for errors that cannot be returned.
void log(int level, const std::string& text);
inline void ignore(ServerError* error) {
  if (error != nullptr) log(log_error, ServerFailure(error).text());
}

}  // namespace tenon::serve
