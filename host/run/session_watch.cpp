// The part of a session that looks for NaN and infinities.
#include <fmt/format.h>

#include <cmath>
#include <tenon/visit.hpp>

#include "run/execution/step_walk.hpp"
#include "run/session_impl.hpp"
#include "tensor/channels_last.hpp"
#include "tensor/finite.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

std::int64_t stored_elements(const tenon_tensor& tensor) {
  std::int64_t count = tensor.storage == TENON_DENSE ? 1 : tensor.stored;
  for (int axis = tensor.storage == TENON_DENSE ? 0 : 1; tensor.storage != TENON_CSR && axis < tensor.dense.ndim; ++axis)
    count *= tensor.dense.shape[axis];
  return count;
}

// A copy where they lie on a GPU; `memory` holds it.
const std::byte* on_cpu(const tenon_tensor& tensor, std::int64_t elements, Tensor& memory) {
  const auto dtype = static_cast<DType>(tensor.dtype);
  if (tensor.dense.device_type != TENON_CPU) {
    memory = Tensor::empty(dtype, {elements});
    copy_bytes(tensor.dense, memory.abi().dense, static_cast<std::uint64_t>(memory.bytes()));
    return static_cast<const std::byte*>(memory.data());
  }
  return static_cast<const std::byte*>(tensor.dense.data) + tensor.dense.byte_offset;
}

// Values that the plan does not compute have no memory.
std::string non_finite(const Execution& execution, ValueId id) {
  const auto& tensor = execution.tensor(id);
  if (tensor.dense.data == nullptr || !is_known(execution.plan().types()[id])) return {};
  const auto dtype = static_cast<DType>(tensor.dtype);
  Tensor memory;
  const auto count = stored_elements(tensor);
  const auto* elements = on_cpu(tensor, count, memory);
  const auto place = first_non_finite(dtype, elements, count);
  if (place < 0) return {};
  return visit<floating + any_complex>(dtype, [&]<class T>() {
    const T value = reinterpret_cast<const T*>(elements)[place];
    const auto shown = row_major_place(tensor.dense, place);
    if constexpr (is_complex<T>) {
      return fmt::format("element {} is {}{:+}j", shown, value.re, value.im);
    } else {
      const auto number = static_cast<double>(value);
      return fmt::format("element {} is {}", shown, std::isnan(number) ? std::abs(number) : number);  // the sign of NaN says nothing
    }
  });
}

std::string watch_steps(Execution& execution) {
  const auto& plan = execution.plan();
  execution.start_steps();
  StepWalk walk(execution);
  for (std::size_t i = 0; i < plan.step_count(); ++i) {
    walk.call(execution.steps()[i]);
    execution.wait_for(i);
    if (plan.copied_from(i) != nullptr) continue;  // its source was checked
    const auto& node = plan.node(i);
    for (ValueId id = node.first_output; id < node.first_output + node.output_count; ++id)
      if (const auto found = non_finite(execution, id); !found.empty())
        return fmt::format("{}: {}", node_label(plan.model(), plan.node_of(i)), found);
  }
  return {};
}

}  // namespace

std::string Session::Impl::watch(Execution& execution) {
  const auto& model = this->model();
  for (ValueId id = 0; id < model.values.size(); ++id)
    if (model.values[id].role != Role::output)
      if (const auto found = non_finite(execution, id); !found.empty()) return fmt::format("'{}': {}", value_label(model, id), found);
  try {
    auto found = watch_steps(execution);
    execution.abandon();
    return found;
  } catch (...) {
    execution.abandon();
    throw;
  }
}

}  // namespace tenon
