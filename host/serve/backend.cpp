// The backend functions that Triton Inference Server calls. The server defines their names.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <tenon/host/devices.hpp>
#include <tenon/host/failure.hpp>

#include "serve/joined_run.hpp"
#include "serve/served_model.hpp"
#include "serve/server_calls.hpp"
#include "serve/server_request.hpp"

namespace tenon::serve {
namespace {

/// An instance runs one call at a time, like a session.
struct Instance {
  const ServedModel& model;
  Session session;
};

/// Exceptions must not cross the C interface.
template <class Work>
ServerError* guarded(const Work& work) {
  const auto error = [](int code, const std::string& text) {
    return server.TRITONSERVER_ErrorNew(code, text.c_str());
  };
  try {
    work();
    return nullptr;
  } catch (const Failure& failure) {
    const auto text = failure.hint().empty()
                          ? failure.what()
                          : fmt::format("{}; {}", failure.what(), failure.hint());
    return error(failure.kind() == FailureKind::usage ? error_invalid : error_internal, text);
  } catch (const ServerFailure& failure) {
    return error(error_internal, failure.text());
  } catch (const std::exception& other) {
    return error(error_internal, other.what());
  }
}

template <class State, class Object>
State* state_of(ServerError* (*get)(Object*, void**), Object* object) {
  void* state = nullptr;
  require(get(object, &state));
  return static_cast<State*>(state);
}

std::vector<JoinedRun> run(Instance& instance, std::span<Request> requests) {
  try {
    return run_joined(instance.model.signature(), instance.model.rows(), instance.session,
                      requests);
  } catch (const std::bad_alloc&) {
    for (auto& request : requests) request.fail("the server is out of memory for the run");
    return {};
  }
}

/// Answers and releases all requests, even after failures.
void execute(ServerInstance* handle, Instance& instance,
             std::span<ServerRequest* const> server_requests) {
  const auto begin = now();
  const auto& signature = instance.model.signature();
  std::vector<Request> requests;
  for (auto* each : server_requests)
    requests.push_back(read_request(each, signature, instance.model.rows()));
  const auto runs = run(instance, requests);
  for (std::size_t i = 0; i < server_requests.size(); ++i) {
    const bool succeeded = answer(server_requests[i], signature, requests[i]);
    const auto end = now(), run_begin = requests[i].begin != 0 ? requests[i].begin : end,
               run_end = requests[i].end != 0 ? requests[i].end : end;
    ignore(server.TRITONBACKEND_ModelInstanceReportStatistics(handle, server_requests[i], succeeded,
                                                              begin, run_begin, run_end, end));
    ignore(server.TRITONBACKEND_RequestRelease(server_requests[i], release_all));
  }
  const auto end = now();
  for (const auto& run : runs) {
    const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(1, run.rows));
    ignore(server.TRITONBACKEND_ModelInstanceReportBatchStatistics(handle, rows, begin, run.begin,
                                                                   run.end, end));
  }
}

void require_cpu(ServerInstance* instance) {
  int kind = 0;
  const char* name = nullptr;
  require(server.TRITONBACKEND_ModelInstanceKind(instance, &kind));
  require(server.TRITONBACKEND_ModelInstanceName(instance, &name));
  if (kind != instance_cpu)
    throw Failure(
        FailureKind::usage,
        fmt::format("instance '{}' is not on the CPU, but Tenon's backend supports only the CPU",
                    name),
        "set instance_group [ { kind: KIND_CPU } ] in config.pbtxt");
}

}  // namespace
}  // namespace tenon::serve

using namespace tenon;
using namespace tenon::serve;

#define TENON_BACKEND extern "C" __attribute__((visibility("default"))) ServerError*

TENON_BACKEND TRITONBACKEND_Initialize(ServerBackend*) {
  if (const char* missing = server.find(); missing != nullptr) {
    const auto text = fmt::format(
        "the process that loads libtriton_tenon.so lacks {}, which Triton Inference Server "
        "provides",
        missing);
    if (server.TRITONSERVER_ErrorNew != nullptr)
      return server.TRITONSERVER_ErrorNew(error_unsupported, text.c_str());
    std::fprintf(stderr, "%s\n", text.c_str());  // an error cannot be returned without ErrorNew
    std::abort();
  }
  return guarded([] {
    std::uint32_t major = 0, minor = 0;
    require(server.TRITONBACKEND_ApiVersion(&major, &minor));
    if (major != 1)
      throw Failure(
          FailureKind::usage,
          fmt::format("the server's backend API is version {}.{}, but Tenon's backend needs 1.x",
                      major, minor),
          "use Triton Inference Server 2.x");
  });
}

TENON_BACKEND TRITONBACKEND_Finalize(ServerBackend*) {
  end_workers();
  return nullptr;
}

TENON_BACKEND TRITONBACKEND_ModelInitialize(ServerModel* model) {
  return guarded([&] {
    auto state = std::make_unique<ServedModel>(model);
    require(server.TRITONBACKEND_ModelSetState(model, state.get()));
    static_cast<void>(state.release());
  });
}

TENON_BACKEND TRITONBACKEND_ModelFinalize(ServerModel* model) {
  return guarded([&] { delete state_of<ServedModel>(server.TRITONBACKEND_ModelState, model); });
}

TENON_BACKEND TRITONBACKEND_ModelInstanceInitialize(ServerInstance* instance) {
  return guarded([&] {
    require_cpu(instance);
    ServerModel* model = nullptr;
    require(server.TRITONBACKEND_ModelInstanceModel(instance, &model));
    const auto& served = *state_of<ServedModel>(server.TRITONBACKEND_ModelState, model);
    auto state = std::make_unique<Instance>(Instance{served, served.session()});
    require(server.TRITONBACKEND_ModelInstanceSetState(instance, state.get()));
    static_cast<void>(state.release());
  });
}

TENON_BACKEND TRITONBACKEND_ModelInstanceFinalize(ServerInstance* instance) {
  return guarded(
      [&] { delete state_of<Instance>(server.TRITONBACKEND_ModelInstanceState, instance); });
}

TENON_BACKEND TRITONBACKEND_ModelInstanceExecute(ServerInstance* instance, ServerRequest** requests,
                                                 std::uint32_t count) {
  return guarded([&] {
    execute(instance, *state_of<Instance>(server.TRITONBACKEND_ModelInstanceState, instance),
            {requests, count});
  });
}
