#include "plugin_operator.hpp"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <variant>

#include "built.hpp"
#include "on_device.hpp"

namespace {

struct Reason {
  char text[1024] = {};
  tenon_error raw{sizeof(tenon_error), TENON_ERROR_FAILED, 0, text, sizeof text};

  void check(std::int32_t result) const {
    if (result != 0) throw tenon::Error(static_cast<tenon::ErrorKind>(raw.kind), text);
  }
};

/// Chunks of `grain` on the call's number of threads, in arbitrary order.
void parallel_for(const tenon_call* call, std::int64_t n, std::int64_t grain, tenon_body body,
                  void* context) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (auto begin = next.fetch_add(grain); begin < n; begin = next.fetch_add(grain))
      body(context, begin, std::min(begin + grain, n));
  };
  std::vector<std::thread> others;
  for (int i = 1; i < call->threads; ++i) others.emplace_back(work);
  work();
  for (auto& thread : others) thread.join();
}

const tenon_host plain_host{sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR,
                            parallel_for,       nullptr,         nullptr};

/// The attributes as they cross the C boundary; points into `attributes`.
std::vector<tenon_attribute> raw_attributes(const tenon::Attributes& attributes) {
  std::vector<tenon_attribute> raw;
  for (const auto& [name, value] : attributes) {
    auto& to = raw.emplace_back();
    to.name = name.c_str();
    if (const auto* flag = std::get_if<bool>(&value.variant())) {
      to.kind = TENON_ATTR_BOOL;
      to.i = *flag;
    } else if (const auto* integer = std::get_if<std::int64_t>(&value.variant())) {
      to.kind = TENON_ATTR_INT;
      to.i = *integer;
    } else if (const auto* number = std::get_if<double>(&value.variant())) {
      to.kind = TENON_ATTR_FLOAT;
      to.f = *number;
    } else if (const auto* text = std::get_if<std::string>(&value.variant())) {
      to.kind = TENON_ATTR_TEXT;
      to.text = text->c_str();
      to.count = text->size();
    } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value.variant())) {
      to.kind = TENON_ATTR_INTS;
      to.ints = list->data();
      to.count = list->size();
    } else {
      throw std::logic_error("the tests of the plugins pass no lists of doubles");
    }
  }
  return raw;
}

/// A tensor as it crosses the C boundary; points into the array.
struct RawTensor {
  std::vector<std::int64_t> shape;
  tenon_tensor raw{};

  std::vector<std::int64_t> strides{};

  explicit RawTensor(const Array& array)
      : shape(array.type().shape.begin(), array.type().shape.end()) {
    raw.size = sizeof raw;
    raw.dense.data = const_cast<void*>(array.memory());
    raw.dense.device_type = TENON_CPU;
    raw.dense.ndim = static_cast<std::int32_t>(shape.size());
    raw.dense.shape = shape.data();
    raw.storage = TENON_DENSE;
    raw.dtype = static_cast<std::uint8_t>(array.type().dtype);
  }
};

/// Sets the strides for elements in the order of channels_last().
void set_channels_last(RawTensor& tensor) {
  tensor.strides.assign(tensor.shape.size(), 1);
  std::int64_t step = tensor.shape[1];
  for (auto axis = tensor.shape.size(); axis-- > 0;) {
    if (axis == 1) continue;
    tensor.strides[axis] = step;
    step *= tensor.shape[axis];
  }
  tensor.raw.dense.strides = tensor.strides.data();
}

/// The array's elements with the channels innermost, or (back) restored to the plain order.
Array channels_last(const Array& array, bool back = false) {
  Array moved = array;
  const auto& shape = array.type().shape;
  const auto size = tenon::size_of(array.type().dtype);
  const auto channels = shape[1];
  const std::int64_t places = shape.size() == 0 ? 0 : shape.size() / shape[0] / channels;
  const auto* from = static_cast<const std::uint8_t*>(array.memory());
  auto* to = static_cast<std::uint8_t*>(moved.memory());
  for (std::int64_t sample = 0; sample < (places > 0 ? shape[0] : 0); ++sample)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t place = 0; place < places; ++place) {
        const auto plain =
            static_cast<std::size_t>((sample * channels + c) * places + place) * size;
        const auto last = static_cast<std::size_t>((sample * places + place) * channels + c) * size;
        std::memcpy(to + (back ? plain : last), from + (back ? last : plain), size);
      }
  return moved;
}

void move(tenon_tensor& tensor, void* data) {
  tensor.dense.data = data;
  tensor.dense.device_type = TENON_CUDA;
}

std::size_t value_of(const tenon::Attributes& attributes, const std::string& name) {
  for (const auto& [key, value] : attributes)
    if (key == name) return static_cast<std::size_t>(std::get<std::int64_t>(value.variant()));
  throw std::logic_error("the tests of the plugins give the number of outputs, " + name);
}

tenon_type raw_type(const tenon::TensorType& type) {
  tenon_type raw{};
  raw.rank = type.shape.rank();
  for (int axis = 0; axis < type.shape.rank(); ++axis) raw.dims[axis] = type.shape[axis];
  raw.dtype = static_cast<std::uint8_t>(type.dtype);
  raw.present = type.dtype != tenon::unknown_dtype;
  return raw;
}

std::vector<tenon::TensorType> read_types(const std::vector<tenon_type>& raw,
                                          tenon::DType otherwise) {
  std::vector<tenon::TensorType> types;
  for (const auto& type : raw)
    types.push_back(
        {type.rank < 0 ? tenon::Shape() : tenon::Shape(type.dims, type.rank),
         type.dtype == TENON_DTYPE_UNKNOWN ? otherwise : static_cast<tenon::DType>(type.dtype)});
  return types;
}

std::vector<tenon::TensorType> types_of(const std::vector<Array>& arrays) {
  std::vector<tenon::TensorType> types;
  for (const auto& array : arrays) types.push_back(array.type());
  return types;
}

}  // namespace

/// The tensors of one call; empty arrays are absent.
struct PluginOperator::Step {
  std::vector<Array*> inputs, outputs, states, output_grads, input_grads;
  std::vector<std::uint8_t> writes, workspace;
  std::vector<Array*> unread{};  // tensors of which only the types may be read
  std::set<Array*> channels_last{};
};

namespace {

const tenon_operator* table_in(void* library, const std::string& symbol) {
  const auto get =
      library ? reinterpret_cast<tenon_get_function>(dlsym(library, symbol.c_str())) : nullptr;
  return get ? get(&plain_host) : nullptr;
}

std::filesystem::path path_of(const std::string& plugin) {
  return built("plugins/tenon_" + plugin + ".so");
}

}  // namespace

// Searches the plugin itself and its companions tenon_NAME_cuda and tenon_NAME_cublas.
void PluginOperator::find_kernel_on_device(void* library, const std::string& plugin) {
  tenon::Device* const device = test_device();
  if (device == nullptr) return;
  const auto symbol = TENON_KERNEL_SYMBOL_PREFIX "cuda__" + name_;
  const tenon_operator* found = table_in(library, symbol);
  for (const auto& file : std::filesystem::directory_iterator(built("plugins")))
    if (!found && file.path().filename().string().starts_with("tenon_" + plugin + "_"))
      found = table_in(dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL), symbol);
  if (!found) return;
  kernel_ = found;
  device_ = device;
}

PluginOperator::PluginOperator(const std::string& plugin, const std::string& name,
                               const tenon::Attributes& attributes)
    : name_(name) {
  test_device();  // initializes CUDA before the first plugin
  void* const library = dlopen(path_of(plugin).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  operator_ = table_in(library, TENON_GET_SYMBOL_PREFIX + name);
  if (!operator_) throw std::runtime_error(plugin + " has no operator " + name);
  kernel_ = table_in(library, TENON_KERNEL_SYMBOL_PREFIX "cpu__" + name);
  if (!kernel_) kernel_ = operator_;
  find_kernel_on_device(library, plugin);
  manifest_ = OperatorManifest::of(library, name);
  output_count_ =
      manifest_.count.empty() ? manifest_.outputs : value_of(attributes, manifest_.count);
  const auto raw = raw_attributes(attributes);
  Reason failure;
  failure.check(operator_->create(raw.data(), raw.size(), &operator_object_, &failure.raw));
  failure.check(kernel_->create(raw.data(), raw.size(), &kernel_object_, &failure.raw));
}

PluginOperator::~PluginOperator() {
  if (operator_object_) operator_->destroy(operator_object_);
  if (kernel_object_) kernel_->destroy(kernel_object_);
}

PluginOperator::Types PluginOperator::infer(const std::vector<tenon::TensorType>& inputs,
                                            const std::vector<tenon::TensorType>& outputs) const {
  std::vector<tenon_type> in, out(output_count_, raw_type({})),
      states(manifest_.states, raw_type({}));
  for (const auto& type : inputs) in.push_back(raw_type(type));
  for (std::size_t i = 0; i < outputs.size(); ++i) out[i] = raw_type(outputs[i]);
  for (auto* group : {&out, &states})
    for (auto& type : *group) type.present = 1;
  Reason reason;
  tenon_infer io{sizeof io,
                 &reason.raw,
                 static_cast<std::uint32_t>(in.size()),
                 static_cast<std::uint32_t>(out.size()),
                 static_cast<std::uint32_t>(states.size()),
                 0,
                 in.data(),
                 out.data(),
                 states.data(),
                 nullptr,
                 nullptr};
  reason.check(operator_->infer(operator_object_, &io));
  const auto first = inputs.empty() ? tenon::unknown_dtype : inputs.front().dtype;
  return {read_types(in, tenon::unknown_dtype), read_types(out, first), read_types(states, first)};
}

std::vector<std::uint8_t> PluginOperator::workspace(const std::vector<Array>& inputs,
                                                    int dispatch) const {
  const auto types = infer(types_of(inputs));
  std::vector<tenon_type> in, out, states;
  for (const auto& type : types.inputs) in.push_back(raw_type(type));
  for (const auto& type : types.outputs) out.push_back(raw_type(type));
  for (const auto& type : types.states) states.push_back(raw_type(type));
  if (!kernel_->workspace) return {};
  Reason reason;
  const tenon_infer io{sizeof io,
                       &reason.raw,
                       static_cast<std::uint32_t>(in.size()),
                       static_cast<std::uint32_t>(out.size()),
                       static_cast<std::uint32_t>(states.size()),
                       0,
                       in.data(),
                       out.data(),
                       states.data(),
                       nullptr,
                       nullptr};
  std::uint64_t bytes = 0;
  reason.check(kernel_->workspace(kernel_object_, &io, dispatch, &bytes));
  return std::vector<std::uint8_t>(bytes);
}

namespace {

/// Stores the bytes of a slot in the context.
std::int32_t keep(tenon_prepare* raw, std::uint32_t slot, std::uint32_t, const char*,
                  std::uint64_t bytes, tenon_fill fill, void* context) {
  auto& prepacked = *static_cast<std::vector<std::vector<std::uint8_t>>*>(raw->context);
  prepacked.resize(std::max<std::size_t>(prepacked.size(), slot + 1));
  prepacked[slot].resize(bytes);
  return fill(context, prepacked[slot].data(), raw->error);
}

}  // namespace

std::vector<std::vector<std::uint8_t>> PluginOperator::prepare(const Step& step, int dispatch,
                                                               const Mode& mode) const {
  std::vector<std::vector<std::uint8_t>> prepacked;
  if (mode.constants.empty() || !kernel_->prepare) return prepacked;
  std::vector<tenon_type> inputs, outputs;
  for (const auto* array : step.inputs)
    inputs.push_back(raw_type(*array ? array->type() : tenon::TensorType{}));
  for (const auto* array : step.outputs) outputs.push_back(raw_type(array->type()));
  for (const auto i : mode.channels_last_inputs) inputs[i].layout = TENON_LAYOUT_CHANNELS_LAST;
  if (mode.channels_last_output) outputs[0].layout = TENON_LAYOUT_CHANNELS_LAST;
  std::vector<RawTensor> tensors;
  tensors.reserve(step.inputs.size());
  std::vector<const tenon_tensor*> constants(step.inputs.size());
  for (const auto i : mode.constants)
    if (*step.inputs[i]) constants[i] = &tensors.emplace_back(*step.inputs[i]).raw;
  Reason reason;
  tenon_prepare io{sizeof io,
                   &reason.raw,
                   &prepacked,
                   static_cast<std::uint32_t>(inputs.size()),
                   static_cast<std::uint32_t>(outputs.size()),
                   dispatch,
                   mode.threads,
                   inputs.data(),
                   outputs.data(),
                   constants.data(),
                   keep};
  reason.check(kernel_->prepare(kernel_object_, &io));
  return prepacked;
}

void PluginOperator::run(Step& step, int dispatch, const Mode& mode) {
  const auto prepacked = prepare(step, dispatch, mode);
  std::vector<const void*> prepacked_pointers;
  for (const auto& memory : prepacked)
    prepacked_pointers.push_back(memory.empty() ? nullptr : memory.data());
  std::optional<OnDevice> there;
  if (device_ != nullptr) there.emplace(*device_);
  std::vector<std::vector<RawTensor>> tensors;
  std::vector<std::vector<tenon_tensor*>> pointers;
  for (const auto* arrays :
       {&step.inputs, &step.outputs, &step.states, &step.output_grads, &step.input_grads}) {
    auto& raw = tensors.emplace_back();
    auto& to = pointers.emplace_back();
    raw.reserve(arrays->size());
    for (auto* array : *arrays) {
      to.push_back(array && *array ? &raw.emplace_back(*array).raw : nullptr);
      if (to.back() != nullptr && step.channels_last.count(array) > 0)
        set_channels_last(raw.back());
      if (to.back() != nullptr && there) move(*to.back(), there->bring(*array));
      if (to.back() == nullptr || std::count(step.unread.begin(), step.unread.end(), array) == 0)
        continue;
      to.back()->storage = TENON_STORAGE_UNKNOWN;
      to.back()->dense.data = nullptr;
    }
  }
  Reason reason;
  tenon_call call{};
  call.size = sizeof call;
  call.host = &plain_host;
  call.error = &reason.raw;
  call.input_count = static_cast<std::uint32_t>(step.inputs.size());
  call.output_count = static_cast<std::uint32_t>(step.outputs.size());
  call.state_count = static_cast<std::uint32_t>(step.states.size());
  call.flags = mode.training ? TENON_CALL_TRAINING : 0;
  call.inputs = pointers[0].data();
  call.outputs = pointers[1].data();
  call.states = pointers[2].data();
  call.output_grads = pointers[3].data();
  call.input_grads = pointers[4].data();
  call.writes = step.writes.data();
  call.workspace = step.workspace.data();
  call.workspace_size = step.workspace.size();
  call.threads = mode.threads;
  call.dispatch = dispatch;
  call.kept = prepacked_pointers.data();
  call.kept_count = static_cast<std::uint32_t>(prepacked_pointers.size());
  if (there) {
    call.workspace = there->scratch(step.workspace.size());
    call.stream = there->stream();
    call.fault = there->fault();
  }
  const auto function = dispatch == TENON_FORWARD ? kernel_->forward : kernel_->backward;
  if (!function) throw std::runtime_error(name_ + " has no kernel");
  reason.check(function(kernel_object_, &call));
  if (there) there->bring_back();
  for (const auto* arrays :
       {&step.inputs, &step.outputs, &step.states, &step.output_grads, &step.input_grads})
    for (const auto* array : *arrays)
      if (array && *array && !array->margins_untouched())
        throw std::runtime_error(name_ + " writes outside of a tensor");
}

std::vector<Array> PluginOperator::make_states(const std::vector<Array>& inputs) const {
  std::vector<Array> states;
  for (const auto& type : infer(types_of(inputs)).states)
    states.emplace_back(type.dtype, zeros(type.shape));
  return states;
}

namespace {

/// Arrays that may be written through the pointers, although the test sees them as const.
std::vector<Array*> pointers_to(std::vector<Array>& arrays) {
  std::vector<Array*> pointers;
  for (auto& array : arrays) pointers.push_back(&array);
  return pointers;
}

void require_unchanged(const std::vector<Array>& before, const std::vector<Array>& after) {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!before[i].same_bits(after[i]))
      throw std::runtime_error("input " + std::to_string(i) + " was changed");
}

}  // namespace

std::vector<Array> PluginOperator::forward(const std::vector<Array>& inputs,
                                           std::vector<Array>& states, const Mode& mode,
                                           const std::vector<Array>& add_to) {
  auto outputs = add_to;
  if (outputs.empty())
    for (const auto& type : infer(types_of(inputs)).outputs)
      outputs.emplace_back(type.dtype, type.shape);
  auto read = inputs;
  Step step{pointers_to(read),
            pointers_to(outputs),
            pointers_to(states),
            {},
            {},
            {},
            workspace(inputs, TENON_FORWARD)};
  step.writes.assign(outputs.size(), add_to.empty() ? TENON_WRITE_TO : TENON_WRITE_ADD);
  for (const auto i : mode.channels_last_inputs)
    if (read[i]) step.channels_last.insert(&(read[i] = channels_last(read[i])));
  if (mode.channels_last_output)
    step.channels_last.insert(&(outputs[0] = channels_last(outputs[0])));
  run(step, TENON_FORWARD, mode);
  for (auto* array : step.channels_last) *array = channels_last(*array, true);
  require_unchanged(inputs, read);
  return outputs;
}

std::vector<Array> PluginOperator::forward_in_place(const std::vector<Array>& inputs,
                                                    std::size_t shared, std::vector<Array>& states,
                                                    const Mode& mode) {
  std::vector<Array> outputs;
  for (const auto& type : infer(types_of(inputs)).outputs)
    outputs.emplace_back(type.dtype, type.shape);
  auto read = inputs;
  Step step{pointers_to(read),
            pointers_to(outputs),
            pointers_to(states),
            {},
            {},
            {},
            workspace(inputs, TENON_FORWARD)};
  step.outputs[0] = step.inputs[shared];
  step.writes.assign(outputs.size(), TENON_WRITE_TO);
  step.writes[0] = TENON_WRITE_IN_PLACE;
  run(step, TENON_FORWARD, mode);
  outputs[0] = read[shared];
  return outputs;
}

std::vector<Array> PluginOperator::backward(const std::vector<Array>& inputs,
                                            const std::vector<Array>& outputs,
                                            const std::vector<Array>& output_grads,
                                            const std::vector<bool>& requested, const Mode& mode,
                                            const std::vector<Array>& add_to) {
  return run_backward(inputs, outputs, output_grads, requested, mode, add_to, -1);
}

std::vector<Array> PluginOperator::backward_in_place(const std::vector<Array>& inputs,
                                                     const std::vector<Array>& outputs,
                                                     const std::vector<Array>& output_grads,
                                                     const std::vector<bool>& requested,
                                                     const Mode& mode) {
  return run_backward(inputs, outputs, output_grads, requested, mode, {},
                      manifest_.backward_in_place);
}

/// shared: the input whose gradient shares memory with the output's gradient; -1: none.
std::vector<Array> PluginOperator::run_backward(const std::vector<Array>& inputs,
                                                const std::vector<Array>& outputs,
                                                const std::vector<Array>& output_grads,
                                                const std::vector<bool>& requested,
                                                const Mode& mode, const std::vector<Array>& add_to,
                                                int shared) {
  auto read_inputs = inputs, read_outputs = outputs;
  std::vector<Array> grads = output_grads, input_grads(inputs.size());
  grads.resize(outputs.size());
  Step step{pointers_to(read_inputs),
            pointers_to(read_outputs),
            {},
            pointers_to(grads),
            pointers_to(input_grads),
            {},
            workspace(inputs, TENON_BACKWARD)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!manifest_.reads_input[std::min(i, manifest_.reads_input.size() - 1)])
      step.unread.push_back(step.inputs[i]);
    if (requested[i])
      input_grads[i] =
          add_to.empty() ? Array(inputs[i].type().dtype, inputs[i].type().shape) : add_to[i];
    step.writes.push_back(!requested[i]    ? TENON_WRITE_NONE
                          : add_to.empty() ? TENON_WRITE_TO
                                           : TENON_WRITE_ADD);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!manifest_.reads_output[std::min(i, manifest_.reads_output.size() - 1)])
      step.unread.push_back(step.outputs[i]);
  const auto place = static_cast<std::size_t>(shared);
  if (shared >= 0 && requested[place]) {
    step.input_grads[place] = step.output_grads[0];
    step.writes[place] = TENON_WRITE_IN_PLACE;
  }
  run(step, TENON_BACKWARD, mode);
  require_unchanged(inputs, read_inputs);
  if (shared >= 0 && requested[place]) input_grads[place] = grads[0];
  return input_grads;
}
