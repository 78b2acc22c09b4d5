// The boundary between Python and the host: the GIL, references dropped from any thread, and errors
// both ways.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <tenon/host/failure.hpp>
#include <utility>

namespace nb = nanobind;

namespace tenon::python {

/// Releases the GIL for its lifetime. The host is only entered without the GIL, so that a thread of
/// the host cannot wait for Python while Python waits for the host. Python code that runs on the
/// host's threads meanwhile is in this thread's `with` blocks, too. Throws Failure (usage) in a
/// process forked after the host started its threads.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  nb::object block_;  // the host of the innermost block
  const void* context_before_ = nullptr;
  PyThreadState* state_ = nullptr;
};

template <class Work>
decltype(auto) without_gil(Work&& work) {
  const Released released;
  return std::forward<Work>(work)();
}

/// Python ends threads that are still running when they next acquire the GIL, in the middle of C++
/// code that owns Python objects. This blocks such a thread until the process ends. Must be the
/// last object constructed before Python code runs.
class BlockIfFinalizing {
 public:
  BlockIfFinalizing() = default;
  ~BlockIfFinalizing() { block_if_finalizing(); }
  BlockIfFinalizing(const BlockIfFinalizing&) = delete;
  BlockIfFinalizing& operator=(const BlockIfFinalizing&) = delete;
  static void block_if_finalizing() noexcept;
};

PyGILState_STATE take_gil();
/// Calls a Python function in frames that such a thread may be blocked in. Throws nb::python_error.
nb::object call_python(nb::handle function, const nb::tuple& arguments, nb::handle named = {});
nb::object call_python(const char* module, const char* function, const nb::tuple& arguments);
/// Looks up the function once and caches it in `known`. A static object would deadlock, since an
/// import lets other threads run during its initialization.
nb::handle function_of(PyObject*& known, const char* module, const char* function);
/// The arguments of a vectorcall as a tuple and a dict.
std::pair<nb::tuple, nb::dict> arguments_of(PyObject* const* args, std::size_t count,
                                            PyObject* keywords);

/// Holds the GIL for its lifetime, on any thread. Must not be used while another thread waits for
/// this one and holds the GIL.
class Acquired {
 public:
  Acquired() : state_(take_gil()) {}
  ~Acquired() {
    BlockIfFinalizing::block_if_finalizing();
    PyGILState_Release(state_);
  }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  PyGILState_STATE state_;
};

/// From now on, a child forked from this process cannot use the host.
void mark_threads_started();
void require_not_forked();
/// Lets a deliberately forked child use the host, if it does not depend on the missing threads.
void allow_fork();
/// False once the interpreter is ending; Python objects must not be touched then.
bool python_is_alive();

/// Drops a reference from any thread: at once if this thread holds the GIL, otherwise soon, by a
/// thread that holds it.
void drop(PyObject* object) noexcept;
/// A reference that any thread may drop: the owner of memory that the host borrows.
std::shared_ptr<const void> owner_of(nb::handle object);

/// Makes Python call `work` soon on the main thread, as needed for warnings from the host's
/// threads. Threads: any.
void report_later(std::string category, std::string text);
/// Handles what report_later() and drop() deferred. Needs the GIL.
void run_deferred_work();

/// Stores a Python exception that passes through the host as text. set_python_error() makes it the
/// cause of the exception raised then.
Failure store_exception(const nb::python_error& error);
/// An attribute that this object lacks but others of its class have: hasattr() returns False.
struct MissingAttribute : Failure {
  explicit MissingAttribute(const Failure& failure) : Failure(failure) {}
};
/// Sets the Python exception for the C++ exception being handled: tenon.UsageError and its
/// siblings, TypeError, KeyboardInterrupt. Call it in a catch block.
void set_python_error() noexcept;

void bind_interpreter(nb::module_& module);

}  // namespace tenon::python
