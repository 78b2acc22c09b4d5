// Where Python ends and the host begins: the GIL, references that any thread may drop, errors both ways.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <tenon/host/failure.hpp>
#include <utility>

namespace nb = nanobind;

namespace tenon::python {

/// Releases the GIL for as long as it lives: what enters the host does so without it, so that no thread of the host can wait for Python
/// while Python waits for the host. What Python runs on the host's threads meanwhile is in this thread's `with` blocks, too. Throws Failure
/// (usage) in a process that was forked after the host had started its threads.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  nb::object block_;  // the host of the innermost one
  const void* context_before_ = nullptr;
  PyThreadState* state_ = nullptr;
};

template <class Work>
decltype(auto) without_gil(Work&& work) {
  const Released released;
  return std::forward<Work>(work)();
}

/// Python ends threads that it left running where they next ask for the GIL, in the middle of C++ whose objects are Python's. This keeps
/// such a thread where it is, until the process ends: the last object before what runs Python's code.
class Stays {
 public:
  Stays() = default;
  ~Stays() { if_python_has_ended(); }
  Stays(const Stays&) = delete;
  Stays& operator=(const Stays&) = delete;
  static void if_python_has_ended() noexcept;
};

PyGILState_STATE take_gil();
/// What a function in Python returns, in frames that such a thread may stay in. Throws nb::python_error.
nb::object call_python(nb::handle function, const nb::tuple& arguments, nb::handle named = {});
nb::object call_python(const char* module, const char* function, const nb::tuple& arguments);
/// Finds the function once and keeps it in `known`. A static object would deadlock: an import lets other threads run while it is
/// initialized.
nb::handle function_of(PyObject*& known, const char* module, const char* function);
/// What a vectorcall is given, as a tuple and a dict.
std::pair<nb::tuple, nb::dict> arguments_of(PyObject* const* given, std::size_t count, PyObject* keywords);

/// Holds the GIL for as long as it lives, on any thread. Not while another thread waits for this one with the GIL in its hands.
class Acquired {
 public:
  Acquired() : state_(take_gil()) {}
  ~Acquired() {
    Stays::if_python_has_ended();
    PyGILState_Release(state_);
  }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A process that forks after this has no host in its child.
void mark_threads_started();
void require_not_forked();
/// A child that was forked on purpose, and keeps away from the threads that it lacks, may use the host.
void allow_fork();
/// False once the interpreter ends: then nothing of Python may be touched any more.
bool python_is_alive();

/// Drops a reference from any thread: at once where this thread holds the GIL, otherwise soon, by a thread that holds it.
void drop(PyObject* object) noexcept;
/// A reference that any thread may drop: the owner of memory that the host borrows.
std::shared_ptr<const void> owner_of(nb::handle object);

/// Has Python call `work` soon on the main thread, as warnings from the host's threads need. Threads: any.
void say_later(std::string category, std::string text);
/// What say_later() and drop() left. With the GIL.
void run_left_over();

/// A Python exception passes through the host as text: this keeps it, and set_python_error() makes it the cause of what is raised then.
Failure keep_exception(const nb::python_error& error);
/// An attribute that this object does not have, while others of its class do: hasattr() says no.
struct MissingAttribute : Failure {
  explicit MissingAttribute(const Failure& failure) : Failure(failure) {}
};
/// Sets the Python exception for what is being thrown: tenon.UsageError and its kind, TypeError, KeyboardInterrupt. In a catch block.
void set_python_error() noexcept;

void bind_interpreter(nb::module_& module);

}  // namespace tenon::python
