// A server whose functions fail: its error becomes the model's or the request's, or is logged, and
// nothing leaks.
#include <algorithm>

#include "serve/served.hpp"

using namespace tenon::serve;

TEST_CASE("failing server: an error of a function refuses the model") {
  Model model(squares);
  for (const auto* name : {"TRITONBACKEND_ModelConfig", "TRITONSERVER_MessageSerializeToJson",
                           "TRITONBACKEND_ModelName", "TRITONBACKEND_ModelRepository",
                           "TRITONBACKEND_ModelVersion", "TRITONBACKEND_ModelAutoCompleteConfig",
                           "TRITONBACKEND_ModelSetState", "TRITONBACKEND_ModelInstanceKind",
                           "TRITONBACKEND_ModelInstanceName", "TRITONBACKEND_ModelInstanceModel",
                           "TRITONBACKEND_ModelState", "TRITONBACKEND_ModelInstanceSetState"})
    CHECK(model.error_while({name}, config()) == std::string(name) + " fails");
  for (const auto* name :
       {"TRITONSERVER_MessageNewFromSerializedJson", "TRITONBACKEND_ModelSetConfig"})
    CHECK(model.error_while({name}, "{}", true) == std::string(name) + " fails");
  CHECK(code_of_call == error_internal);
  logged.clear();
  CHECK(model.error_while({"TRITONSERVER_MessageDelete", "TRITONSERVER_LogMessage"}, config()) ==
        "");
  CHECK(std::count(logged.begin(), logged.end(), "2 TRITONSERVER_MessageDelete fails") == 2);
  CHECK(living == 0);
  logged.clear();
}

TEST_CASE("failing server: another backend API is refused") {
  REQUIRE(initialized() == "");
  for (const auto major : {0U, 2U}) {
    major_version = major;
    CHECK(call("TRITONBACKEND_Initialize", static_cast<ServerBackend*>(nullptr)) ==
          "the server's backend API is version " + std::to_string(major) +
              ".19, but Tenon's backend needs 1.x; use Triton Inference Server 2.x");
  }
  major_version = 1;
  failing = {"TRITONBACKEND_ApiVersion"};
  CHECK(call("TRITONBACKEND_Initialize", static_cast<ServerBackend*>(nullptr)) ==
        "TRITONBACKEND_ApiVersion fails");
  failing.clear();
}

TEST_CASE(
    "failing server: an error of a function is the request's, or is logged if it cannot be sent") {
  Model model(squares, config());
  REQUIRE(model.error == "");
  const auto execute = [&](const char* name, int answers = 1) {
    std::vector<ServerRequest> requests = {request({1, 2}, {1, 2})};
    logged.clear();
    model.instance.succeeded.clear();
    failing = {name, "TRITONSERVER_LogMessage"};
    model.execute(requests, answers);
    failing.clear();
    return requests[0];
  };
  for (const auto* name : {"TRITONBACKEND_InputProperties", "TRITONBACKEND_InputBuffer",
                           "TRITONBACKEND_RequestOutputCount", "TRITONBACKEND_RequestOutputName",
                           "TRITONBACKEND_ResponseOutput", "TRITONBACKEND_OutputBuffer"}) {
    CHECK(execute(name).error == std::string(name) + " fails");
    CHECK(model.instance.succeeded == std::vector<bool>{false});
    CHECK(logged.empty());
  }
  for (const auto* name : {"TRITONBACKEND_ResponseSend", "TRITONBACKEND_RequestRelease",
                           "TRITONBACKEND_ModelInstanceReportStatistics",
                           "TRITONBACKEND_ModelInstanceReportBatchStatistics"}) {
    CHECK(floats(execute(name)) == Floats{1, 4});
    CHECK(model.instance.succeeded == std::vector<bool>{true});
    CHECK(logged == std::vector<std::string>{"2 " + std::string(name) + " fails"});
  }
  execute("TRITONBACKEND_ResponseNew", 0);
  CHECK(model.instance.succeeded == std::vector<bool>{false});
  CHECK(logged == std::vector<std::string>{"2 TRITONBACKEND_ResponseNew fails"});
  CHECK(living == 0);
  std::vector<ServerRequest> requests = {request({1, 2}, {1, 2})};
  failing = {"TRITONBACKEND_ModelInstanceState"};
  std::vector<ServerRequest*> all = {requests.data()};
  CHECK(call("TRITONBACKEND_ModelInstanceExecute", &model.instance, all.data(), 1U) ==
        "TRITONBACKEND_ModelInstanceState fails");
  CHECK((requests[0].answers == 0 && requests[0].releases == 0));  // the server still owns it
  failing.clear();
  logged.clear();
}
