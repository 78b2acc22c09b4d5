#include "python/core/operators/python_call.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <tenon/error.hpp>

namespace tenon::python {
namespace {

// The value of a deleted attribute: reading it raises what Call._why_missing() returns.
const nb::handle unset{};

void set_attribute(nb::handle object, nb::handle name, nb::handle value) {
  // setattr() would call the class's __setattr__, which writes into the array.
  if (PyObject_GenericSetAttr(object.ptr(), name.ptr(), value.ptr()) < 0) throw nb::python_error();
}

nb::handle interned(const char* text) {
  return PyUnicode_InternFromString(text);
}

}  // namespace

PythonCall::PythonCall(const PythonOperator& op, bool backward) : op_(&op), backward_(backward) {
  const int repeated = op.variadic ? static_cast<int>(op.inputs.size()) - 1 : -1;
  add(op.inputs, Source::input, repeated, false);
  add(op.outputs, Source::output, op.counted_output, !backward);
  add(op.states, Source::state, -1, !backward);
  if (!backward) return;
  add(op.outputs, Source::output_grad, op.counted_output, false);
  add(op.inputs, Source::input_grad, repeated, true);
}

void PythonCall::add(const std::vector<std::string>& names, Source source, int repeated,
                     bool writable) {
  const bool gradient = source == Source::output_grad || source == Source::input_grad;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Slot slot;
    slot.name =
        SharedReference(nb::steal(interned((names[i] + (gradient ? "_grad" : "")).c_str())));
    slot.source = source;
    slot.index = i;
    slot.is_list = static_cast<int>(i) == repeated;
    slot.writable = writable;
    slots_.push_back(std::move(slot));
  }
}

PythonCall::Tensors PythonCall::tensors_of(const tenon_call& call, Source source) {
  switch (source) {
    case Source::input:
      return {call.inputs, call.input_count};
    case Source::output:
      return {call.outputs, call.output_count};
    case Source::state:
      return {call.states, call.state_count};
    case Source::output_grad:
      return {call.output_grads, call.output_count};
    case Source::input_grad:
      break;
  }
  return {call.input_grads, call.input_count};
}

nb::object PythonCall::array_of(Slot& slot, std::size_t position, const tenon_call& call,
                                std::size_t tensor) {
  const auto all = tensors_of(call, slot.source);
  const auto* found = tensor < all.count ? all.tensors[tensor] : nullptr;
  if (found == nullptr ||
      (slot.writable && slot.source != Source::state && call.writes[tensor] == TENON_WRITE_NONE))
    return nb::none();
  if (found->storage == TENON_STORAGE_UNKNOWN) return nb::object();
  if (found->storage != TENON_DENSE)
    throw Error(ErrorKind::type, "operators in Python take only dense tensors");
  if (slot.arrays.size() <= position) slot.arrays.resize(position + 1);
  return nb::borrow(slot.arrays[position].show(*found, slot.writable));
}

void PythonCall::set(Slot& slot, nb::handle value) {
  if (slot.set == value.ptr()) return;
  set_attribute(call_.get(), slot.name.get(), value);
  slot.set = value.ptr();
}

void PythonCall::show(Slot& slot, const tenon_call& call) {
  const auto& names = slot.source == Source::input || slot.source == Source::input_grad
                          ? op_->names.inputs
                      : slot.source == Source::state ? op_->names.states
                                                     : op_->names.outputs;
  const auto total = tensors_of(call, slot.source).count;
  const auto repeats = total + 1 - static_cast<std::size_t>(names.count);
  const bool after_repeated =
      names.repeated >= 0 && slot.index > static_cast<std::size_t>(names.repeated);
  const auto first = after_repeated ? slot.index + repeats - 1 : slot.index;
  if (!slot.is_list) return set(slot, array_of(slot, 0, call, first));
  nb::list items;
  for (std::size_t i = 0; i < repeats; ++i) {
    auto item = array_of(slot, i, call, first + i);
    if (!item.is_valid()) return set(slot, unset);
    items.append(item);
  }
  set(slot, items);
}

void PythonCall::set_random(const tenon_call& call) {
  static const auto name = interned("_draws");
  set_attribute(call_.get(), name, nb::make_tuple(call.seed, call.step, call.node));
}

void PythonCall::show(const tenon_call& call) {
  if (!call_) {
    call_ = SharedReference(op_->call_type.get()());
    training_ = -1;
  }
  for (auto& slot : slots_) show(slot, call);
  if (const int training = call.flags & TENON_CALL_TRAINING; training != training_) {
    static const auto name = interned("training");
    set_attribute(call_.get(), name, training != 0 ? Py_True : Py_False);
    training_ = training;
  }
  if (op_->random) set_random(call);
}

void PythonCall::invoke(nb::handle method) {
  const auto result = method(call_.get());
  if (!result.is_none())
    throw Error(std::string(backward_ ? "backward" : "forward") + " returns " +
                nb::type_name(result.type()).c_str() +
                ", which is ignored: write results into the arrays of the call, such as call." +
                (backward_ ? op_->inputs.front() + "_grad" : op_->outputs.front()) +
                "[...] = value");
}

// Lists are created for each call; their arrays are reused.
void PythonCall::hide_lists() {
  for (auto& slot : slots_)
    if (slot.is_list) set(slot, nb::none());
}

const PythonCall::Slot* PythonCall::referenced_slot() const {
  for (const auto& slot : slots_)
    for (const auto& array : slot.arrays)
      if (array.references() > (slot.is_list || slot.set != array.shown() ? 0 : 1)) return &slot;
  return nullptr;
}

void PythonCall::require_unreferenced() {
  const bool call_referenced = static_cast<std::uint32_t>(Py_REFCNT(call_.get().ptr())) > 1;
  if (!call_referenced && referenced_slot() == nullptr) return;
  // references from garbage, such as reference cycles, do not count
  nb::module_::import_("gc").attr("collect")();
  const auto* slot = referenced_slot();
  const bool still = static_cast<std::uint32_t>(Py_REFCNT(call_.get().ptr())) > 1;
  if (!still && slot == nullptr) return;
  const std::string function = backward_ ? "backward" : "forward";
  const std::string name =
      slot != nullptr ? nb::cast<std::string>(nb::str(slot->name.get())) : std::string();
  detach_all(nb::none());
  if (slot == nullptr)
    throw Error(function + " keeps a reference to its call, which ends when " + function +
                " returns");
  throw Error(function + " keeps a reference to the array '" + name +
              "' beyond the call, when its memory is reused: keep call." + name + ".copy()");
}

// Code that still references the arrays, such as a traceback, must not read the host's later
// content of their memory. `trace`: of the error, or None.
void PythonCall::detach_all(nb::handle trace) {
  call_ = SharedReference();
  std::vector<KernelArray*> referenced;
  nb::list viewed, references;
  for (auto& slot : slots_) {
    slot.set = nullptr;
    for (auto& array : slot.arrays) {
      if (array.references() == 0) continue;
      referenced.push_back(&array);
      references.append(array.references());
      viewed.append(nb::borrow(array.shown()));
    }
  }
  if (referenced.empty()) return;
  const nb::object derived =
      nb::module_::import_("tenon._calls.views").attr("views_of")(viewed, references, trace);
  viewed.clear();
  for (std::size_t i = 0; i < referenced.size(); ++i) referenced[i]->detach(nb::list(derived[i]));
  for (auto& slot : slots_) slot.arrays.clear();
}

void PythonCall::run(nb::handle method, const tenon_call& call) {
  try {
    show(call);
    invoke(method);
    hide_lists();
  } catch (const nb::python_error& error) {
    const auto trace = error.traceback();
    detach_all(trace.is_valid() ? nb::handle(trace) : nb::none());
    throw;
  } catch (...) {
    detach_all(nb::none());
    throw;
  }
  require_unreferenced();
}

}  // namespace tenon::python
