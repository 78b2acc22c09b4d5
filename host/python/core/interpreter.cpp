#include "python/core/interpreter.hpp"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <tenon/host/devices.hpp>
#include <vector>

#include "python/core/host.hpp"

namespace tenon::python {
namespace {

struct DeferredWork {
  std::mutex mutex;
  std::vector<PyObject*> references;
  std::vector<std::pair<std::string, std::string>> texts;
  std::atomic<bool> any = false;
};
DeferredWork& deferred_work() {
  static auto* all = new DeferredWork;  // outlives all threads that may still add to it
  return *all;
}

std::atomic<bool> alive = false, threads_started = false, forked = false;
std::atomic<pthread_t> ending = 0;  // the thread that ends the interpreter

// Not in the limited API, but in every CPython, so it is looked up by name.
bool holds_gil() {
  static const auto check = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  return check != nullptr && check() == 1;
}

// Also by name: Py_IsFinalizing is in the limited API since 3.13; older Pythons call it
// _Py_IsFinalizing.
bool is_finalizing() {
  static const auto check = [] {
    auto* found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    return reinterpret_cast<int (*)()>(found != nullptr ? found
                                                        : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
  }();
  return check != nullptr && check() != 0;
}

// An exception raised by a warnings filter or a signal handler while Python runs on behalf of the
// host, which cannot propagate it. The main thread raises it as soon as it is back in Python.
PyObject* to_raise = nullptr;
int raise_pending(void*) {
  auto error = nb::steal(std::exchange(to_raise, nullptr));
  if (!error.is_valid()) return 0;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  return -1;
}

bool on_main_thread() {
  const auto threading = nb::module_::import_("threading");
  return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
}

void raise_later(nb::python_error& error) {
  try {
    if (to_raise == nullptr && on_main_thread() && Py_AddPendingCall(raise_pending, nullptr) == 0) {
      to_raise = nb::object(nb::borrow(error.value())).release().ptr();
      return;
    }
  } catch (nb::python_error&) {
  }
  error.restore();
  PyErr_WriteUnraisable(nullptr);
}

int run_pending(void*) {
  run_deferred_work();
  return 0;
}

template <class Add>
void defer(Add&& add) noexcept {
  auto& all = deferred_work();
  bool first = false;
  try {
    const std::lock_guard lock(all.mutex);
    add(all);
    first = !all.any.exchange(true);
  } catch (const std::bad_alloc&) {
    return;  // the reference and its memory are leaked
  }
  if (first && alive) Py_AddPendingCall(run_pending, nullptr);
}

/// Exceptions passing through the host, which only carries texts, keyed by the beginning of the
/// sentence that the text contains: the thread that throws is not always the one that catches.
struct PendingException {
  std::string sentence;
  PyObject* exception;
};
std::mutex pending_mutex;
std::vector<PendingException>& pending_exceptions() {
  static auto* all = new std::vector<PendingException>;
  return *all;
}
constexpr std::size_t max_pending = 16, compared_length = 120;

nb::object error_class(const char* name) {
  return nb::module_::import_("tenon._errors").attr(name);
}

const char* class_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::usage:
      return "UsageError";
    case FailureKind::plugin:
      return "PluginError";
    case FailureKind::file:
      return "FileError";
    case FailureKind::failed:
      break;
  }
  return "ExecutionError";
}

nb::object take_pending_exception(const std::string& text) {
  const std::lock_guard lock(pending_mutex);
  for (auto one = pending_exceptions().begin(); one != pending_exceptions().end(); ++one) {
    if (text.find(one->sentence) == std::string::npos) continue;
    auto found = nb::steal(one->exception);
    pending_exceptions().erase(one);
    return found;
  }
  return {};
}

// Separate functions, so that their noexcept callers have no objects to destroy if the thread is
// ended in them.
[[gnu::noinline]] void take_gil_again(PyThreadState* state) {
  const BlockIfFinalizing guard;
  PyEval_RestoreThread(state);
}

void raise_failure(const char* kind, const std::string& text, const std::string& hint) {
  try {
    const nb::object cause = take_pending_exception(text);
    if (cause.is_valid() && PyErr_GivenExceptionMatches(cause.ptr(), PyExc_Exception) ==
                                0) {  // KeyboardInterrupt, SystemExit
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.ptr())), cause.ptr());
      return;
    }
    const nb::object error =
        call_python("tenon._errors", "make_error", nb::make_tuple(error_class(kind), text, hint));
    if (cause.is_valid()) PyException_SetCause(error.ptr(), nb::object(cause).release().ptr());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

}  // namespace

void BlockIfFinalizing::block_if_finalizing() noexcept {
  while (is_finalizing() && pthread_equal(pthread_self(), ending) == 0) pause();
}

[[gnu::noinline]] nb::object call_python(nb::handle function, const nb::tuple& arguments,
                                         nb::handle named) {
  auto result = nb::object();
  {
    const BlockIfFinalizing guard;
    result = nb::steal(PyObject_Call(function.ptr(), arguments.ptr(), named.ptr()));
  }
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

nb::object call_python(const char* module, const char* function, const nb::tuple& arguments) {
  const nb::object found = nb::module_::import_(module).attr(function);
  return call_python(found, arguments);
}

nb::handle function_of(PyObject*& known, const char* module, const char* function) {
  if (known == nullptr) {
    auto found = nb::module_::import_(module).attr(function);
    if (known == nullptr) known = nb::object(found).release().ptr();
  }
  return known;
}

std::pair<nb::tuple, nb::dict> arguments_of(PyObject* const* args, std::size_t count,
                                            PyObject* keywords) {
  auto positional = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i)
    PyTuple_SetItem(positional.ptr(), static_cast<Py_ssize_t>(i),
                    nb::borrow(args[i]).release().ptr());
  nb::dict named;
  for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_Size(keywords); ++i)
    named[nb::borrow(PyTuple_GetItem(keywords, i))] =
        nb::borrow(args[count + static_cast<std::size_t>(i)]);
  return {std::move(positional), std::move(named)};
}

PyGILState_STATE take_gil() {
  const BlockIfFinalizing guard;
  return PyGILState_Ensure();
}

Released::Released() {
  require_not_forked();
  if (open_blocks > 0 && PyErr_Occurred() == nullptr) block_ = host_of_block();
  if (block_.is_valid()) context_before_ = set_caller_context(block_.ptr());
  state_ = PyEval_SaveThread();
}

Released::~Released() {
  take_gil_again(state_);
  if (block_.is_valid()) set_caller_context(context_before_);
  if (deferred_work().any) run_deferred_work();
}

void mark_threads_started() {
  threads_started = true;
}

void allow_fork() {
  threads_started = false;
  forked = false;
}

void require_not_forked() {
  if (forked)
    throw Failure(FailureKind::usage,
                  "this process was forked after Tenon started its threads, which do not exist in "
                  "a child process",
                  "use multiprocessing's start method spawn or forkserver");
}

bool python_is_alive() {
  return alive;
}

void drop(PyObject* object) noexcept {
  if (object == nullptr || !alive) return;
  if (holds_gil()) return Py_DECREF(object);
  defer([&](DeferredWork& all) { all.references.push_back(object); });
}

std::shared_ptr<const void> owner_of(nb::handle object) {
  Py_INCREF(object.ptr());
  return {object.ptr(), [](PyObject* owned) { drop(owned); }};
}

void report_later(std::string category, std::string text) {
  if (!alive) return;
  defer([&](DeferredWork& all) { all.texts.emplace_back(std::move(category), std::move(text)); });
}

[[gnu::noinline]] void run_deferred_work() {
  auto& all = deferred_work();
  std::vector<PyObject*> references;
  std::vector<std::pair<std::string, std::string>> texts;
  {
    const std::lock_guard lock(all.mutex);
    references.swap(all.references);
    texts.swap(all.texts);
    all.any = false;
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const BlockIfFinalizing guard;
  for (auto* object : references) Py_DECREF(object);
  for (const auto& [category, text] : texts) {
    try {
      call_python("tenon._errors", "say", nb::make_tuple(category, text));
    } catch (nb::python_error& error) {
      raise_later(error);
    }
  }
  PyErr_Restore(type, value, trace);
}

Failure store_exception(const nb::python_error& error) {
  std::string text;
  try {
    text =
        nb::cast<nb::str>(nb::module_::import_("tenon._errors").attr("sentence_of")(error.value()))
            .c_str();
  } catch (nb::python_error&) {
    text = "a Python exception that cannot be printed";
  }
  auto* value = nb::object(nb::borrow(error.value())).release().ptr();
  PyObject* dropped = nullptr;
  {
    const std::lock_guard lock(pending_mutex);
    pending_exceptions().push_back({text.substr(0, compared_length), value});
    if (pending_exceptions().size() > max_pending) {
      dropped = pending_exceptions().front().exception;
      pending_exceptions().erase(pending_exceptions().begin());
    }
  }
  Py_XDECREF(dropped);
  return {FailureKind::failed, text};
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(
        error.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError,
        error.what());
  } catch (const MissingAttribute& failure) {
    raise_failure("MissingAttribute", failure.what(), failure.hint());
  } catch (const Failure& failure) {
    raise_failure(class_of(failure.kind()), failure.what(), failure.hint());
  } catch (const Error& error) {  // from the SDK's types, such as a shape with a dimension of -5
    raise_failure("UsageError", error.what(), {});
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (const std::exception& error) {
    raise_failure("ExecutionError", error.what(), {});
  }
}

void bind_interpreter(nb::module_& module) {
  alive = true;
  nb::set_leak_warnings(false);
  pthread_atfork(nullptr, nullptr, [] {
    if (threads_started) forked = true;
  });
  std::atexit([] {
    if (!forked) end_workers();  // a child has no workers and would wait for its parent's
  });
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure&) {
      set_python_error();
    } catch (const Error&) {
      set_python_error();
    }
  });
  module.def("_end", [] {
    ending = pthread_self();
    alive = false;
  });
  nb::module_::import_("atexit").attr("register")(module.attr("_end"));
}

}  // namespace tenon::python
