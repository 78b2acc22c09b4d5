// Requests, replies and callbacks that contain arrays.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "isolate/attribute_message.hpp"
#include "isolate/message.hpp"
#include "isolate/protocol.hpp"

namespace tenon::isolate {

struct CreateRequest {
  std::string_view symbol;
  std::vector<AttributeMessage> attributes;
  static auto fields(auto& m) { return std::tie(m.symbol, m.attributes); }
};

struct InferTypes {
  std::vector<tenon_type> inputs, outputs, states;
  static auto fields(auto& m) { return std::tie(m.inputs, m.outputs, m.states); }
};

/// Elements of an input that infer() may read.
struct InputValue {
  std::uint32_t known;
  std::span<const std::byte> elements;
  static auto fields(auto& m) { return std::tie(m.known, m.elements); }
};

struct InferRequest {
  InferTypes types;
  std::vector<InputValue> values;  // one per input; none for workspace
  std::int32_t dispatch;           // for workspace
  static auto fields(auto& m) { return std::tie(m.types, m.values, m.dispatch); }
};

struct InferReply {
  InferTypes types;
  std::span<const std::uint8_t> needed;  // per input: whether infer() would use its elements
  static auto fields(auto& m) { return std::tie(m.types, m.needed); }
};

struct StorageRequest {
  std::uint32_t output_count;
  std::int32_t device_type, dispatch;
  std::uint32_t has_types;
  std::span<const std::uint8_t> inputs;
  std::span<const tenon_type> types;  // of the inputs if has_types is set
  static auto fields(auto& m) {
    return std::tie(m.output_count, m.device_type, m.dispatch, m.has_types, m.inputs, m.types);
  }
};

struct CallRequest {
  CallRecord call;
  // inputs, outputs and states; for backward also output and input gradients
  std::span<const TensorRecord> tensors;
  std::span<const std::uint8_t> writes;  // per output, for backward per input: enum tenon_write
  static auto fields(auto& m) { return std::tie(m.call, m.tensors, m.writes); }
};

struct AddCallback {
  std::string_view name;
  std::span<const tenon_value> inputs;
  std::vector<AttributeMessage> attributes;
  static auto fields(auto& m) { return std::tie(m.name, m.inputs, m.attributes); }
};

/// Calls f with a reference to each function that may run in a worker.
void each_function(auto& table, auto&& f) {
  f(table.create), f(table.destroy), f(table.infer), f(table.infer_storage), f(table.workspace);
  f(table.gradient), f(table.forward), f(table.forward_sparse), f(table.backward);
  f(table.backward_sparse), f(table.compose), f(table.prepare);
}

}  // namespace tenon::isolate
