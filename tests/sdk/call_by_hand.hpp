// A minimal host for tests of kernels: creates operators from their tables and calls them only
// through the C boundary.
#pragma once

#include <initializer_list>
#include <string>
#include <tenon/table.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "tensor_by_hand.hpp"

namespace by_hand {

/// The order in which parallel_for runs the chunks of a loop.
enum class Order { forwards, backwards, threads };
inline Order order = Order::forwards;

inline void parallel_for(const tenon_call*, std::int64_t n, std::int64_t grain, tenon_body body,
                         void* context) {
  const std::int64_t parts = n / grain + (n % grain != 0 ? 1 : 0);
  const auto run = [&](std::int64_t part) {
    body(context, part * grain, part * grain + std::min(grain, n - part * grain));
  };
  if (order == Order::threads) {
    std::vector<std::thread> threads;
    for (std::int64_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (std::int64_t part = thread; part < parts; part += 4) run(part);
      });
    for (auto& thread : threads) thread.join();
  } else {
    for (std::int64_t i = 0; i < parts; ++i) run(order == Order::forwards ? i : parts - 1 - i);
  }
}

struct ErrorText {
  char text[1024] = "";
  tenon_error raw{sizeof(tenon_error), 0, 0, text, sizeof text};
};

class Instance {
 public:
  using Parameters = std::vector<std::pair<const char*, double>>;

  explicit Instance(const tenon_operator* table, const Parameters& parameters = {})
      : table_(table) {
    std::vector<tenon_attribute> attributes;
    for (const auto& [name, value] : parameters) {
      tenon_attribute attribute{};
      attribute.name = name;
      attribute.kind = TENON_ATTR_FLOAT;
      attribute.f = value;
      attributes.push_back(attribute);
    }
    if (table->create(attributes.data(), attributes.size(), &object_, &error_.raw))
      throw std::runtime_error(error_.text);
  }
  ~Instance() { table_->destroy(object_); }
  Instance(const Instance&) = delete;

  const tenon_operator& table() const { return *table_; }
  const void* object() const { return object_; }

  /// The reason of a failure; empty on success. Null tensors are missing in the call.
  std::string forward(std::vector<Tensor*> inputs, Tensor& output,
                      tenon::Write write = tenon::Write::to) {
    return call(table_->forward, TENON_FORWARD, inputs, &output, nullptr, {}, {write});
  }
  std::string backward(std::vector<Tensor*> inputs, Tensor* output, Tensor* output_grad,
                       std::vector<Tensor*> input_grads, const std::vector<tenon::Write>& writes) {
    return call(table_->backward, TENON_BACKWARD, inputs, output, output_grad, input_grads, writes);
  }

 private:
  static tenon_tensor* raw(Tensor* tensor) { return tensor ? tensor->raw() : nullptr; }
  static std::vector<tenon_tensor*> raw(const std::vector<Tensor*>& tensors) {
    std::vector<tenon_tensor*> pointers;
    for (Tensor* tensor : tensors) pointers.push_back(raw(tensor));
    return pointers;
  }

  std::string call(tenon_kernel_function function, int dispatch,
                   const std::vector<Tensor*>& input_tensors, Tensor* output_tensor,
                   Tensor* output_grad_tensor, const std::vector<Tensor*>& input_grad_tensors,
                   const std::vector<tenon::Write>& writes) {
    if (!function) return "the table has no such function";
    tenon_host host{};
    host.size = sizeof host;
    host.parallel_for = parallel_for;
    const auto inputs = raw(input_tensors), input_grads = raw(input_grad_tensors);
    tenon_tensor* output = raw(output_tensor);
    tenon_tensor* output_grad = raw(output_grad_tensor);
    tenon_call call{};
    call.size = sizeof call;
    call.host = &host;
    call.error = &error_.raw;
    call.input_count = static_cast<std::uint32_t>(inputs.size());
    call.output_count = 1;
    call.inputs = inputs.data();
    call.outputs = &output;
    call.output_grads = &output_grad;
    call.input_grads = input_grads.data();
    std::vector<std::uint8_t> write_bytes;
    for (const tenon::Write write : writes) write_bytes.push_back(static_cast<std::uint8_t>(write));
    call.writes = write_bytes.data();
    call.threads = order == Order::threads ? 4 : 1;
    call.dispatch = dispatch;
    return function(object_, &call) ? error_.text : "";
  }

  const tenon_operator* table_;
  void* object_ = nullptr;
  ErrorText error_;
};

}  // namespace by_hand
