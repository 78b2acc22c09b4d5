// Types and workspaces returned by operators are validated.
#include "graph/inference/operator_inference.hpp"

#include <doctest/doctest.h>

#include <tenon/host/operator_info.hpp>

#include "check_says.hpp"
#include "failure_of.hpp"
#include "file/manifest_bytes.hpp"

using namespace tenon;

namespace {

void (*change)(tenon_infer&);  // infer()'s changes to the types
std::uint64_t wanted_bytes;

std::int32_t infer(const void*, tenon_infer* io) {
  change(*io);
  return 0;
}
std::int32_t workspace(const void*, const tenon_infer*, std::int32_t, std::uint64_t* bytes) {
  *bytes = wanted_bytes;
  return 0;
}
std::int32_t create(const tenon_attribute*, std::uint64_t, void** instance, tenon_error*) {
  *instance = nullptr;
  return 0;
}

/// An operator with an input, an output and a state, whose results the tests set.
struct Scripted {
  std::shared_ptr<const OperatorInfo> info =
      std::make_shared<OperatorInfo>(read_manifest(manifest_of({"op", {"x"}, {"y"}, {"s"}, {}})));
  tenon_operator table{};
  CallTypes types{{type_of(f32, {2})}, {type_of(f32, {-1})}, {unknown_type()}};

  Scripted() {
    table.size = sizeof table;
    table.create = create;
    table.infer = infer;
    table.workspace = workspace;
    types.inputs[0].present = 1;
  }
  std::string error_of(void (*how)(tenon_infer&)) {
    change = how;
    LoadedOperator op;
    op.info = info;
    op.table = &table;
    return failure_of([&] { infer_operator(op, nullptr, types); }).message;
  }
};

}  // namespace

TEST_CASE("operator inference: refuses impossible types returned by an operator's infer()") {
  const char* const output = "its infer() returned an invalid type for output 0 (x float32 [2])";
  const char* const input = "its infer() returned an invalid type for input 0 (x float32 [2])";
  const char* const state = "its infer() returned an invalid type for state 0 (x float32 [2])";
  const struct {
    void (*how)(tenon_infer&);
    std::string message;
  } cases[] = {
      {[](tenon_infer&) {}, ""},
      {[](tenon_infer& io) { io.outputs[0] = io.inputs[0]; }, ""},
      {[](tenon_infer& io) { io.outputs[0].rank = 9; }, output},
      {[](tenon_infer& io) { io.outputs[0].rank = -2; }, output},
      {[](tenon_infer& io) { io.outputs[0].dims[0] = -2; }, output},
      {[](tenon_infer& io) { io.outputs[0].dtype = 200; }, output},
      {[](tenon_infer& io) { io.outputs[0].storage = 7; }, output},
      {[](tenon_infer& io) { io.outputs[0].dims[5] = 1; }, output},
      {[](tenon_infer& io) { io.inputs[0].dims[0] = -2; }, input},
      {[](tenon_infer& io) { io.states[0].dtype = 200; }, state},
      {[](tenon_infer& io) { io.inputs[0].dims[0] = 3; },
       "input 0 is inferred as float32 [3], but is already float32 [2] (x float32 [2])"},
  };
  for (const auto& c : cases) CHECK(Scripted().error_of(c.how) == c.message);
}

TEST_CASE(
    "operator inference: an input of unknown dtype takes the others' dtype unless it declares its "
    "own") {
  for (const bool own : {false, true}) {
    CAPTURE(own);
    Scripted op;
    auto info = read_manifest(manifest_of({"op", {"x", "rows"}, {"y"}, {"s"}, {}}));
    if (own) info.inputs[1].types = static_cast<DTypeMask>(1U << TENON_I32 | 1U << TENON_I64);
    op.info = std::make_shared<OperatorInfo>(std::move(info));
    op.types.inputs.push_back(unknown_type());
    op.types.inputs[1].present = 1;
    CHECK(op.error_of([](tenon_infer&) {}) == "");
    CHECK(op.types.inputs[1].dtype == (own ? TENON_DTYPE_UNKNOWN : TENON_F32));
  }
}

TEST_CASE("operator inference: refuses workspaces above 2^46 bytes") {
  Scripted op;
  LoadedOperator loaded;
  loaded.info = op.info;
  loaded.table = &op.table;
  const Instance kernel(loaded, op.table, {});
  const auto ask = [&](std::uint64_t bytes) {
    wanted_bytes = bytes;
    return workspace_bytes(*op.info, kernel, TENON_FORWARD, op.types);
  };
  const auto most = std::uint64_t{1} << 46;
  CHECK(ask(0) == 0);
  CHECK(ask(most) == most);
  check_says(failure_of([&] { ask(most + 1); }).message,
             {"workspace() requests 70368744177665 bytes", "x float32 [2]"});
}
