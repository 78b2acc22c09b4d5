// Prepared calls of one operator, found again by what a call is given: the short way for numpy's arrays and plain parameters.
#pragma once
#include <memory>
#include <string>
#include <tenon/host/host.hpp>
#include <vector>

#include "python/core/host.hpp"
#include "python/core/kept_calls.hpp"

namespace tenon::python {

/// Of one operator, for the host and the operators' generation that it was made for. With the GIL.
class QuickCalls {
 public:
  /// name: the operator's, as the caller writes it.
  QuickCalls(const HostHandle& host, std::string name, std::shared_ptr<const CatalogOperator> op, std::uint64_t generation);
  ~QuickCalls();
  QuickCalls(const QuickCalls&) = delete;
  QuickCalls& operator=(const QuickCalls&) = delete;

  /// Whether it is still what a call to the host would use.
  bool is_current(const HostHandle& host) const { return host.number == host_number_ && host.host->generation() == generation_; }
  const CatalogOperator& op() const { return *op_; }

  /// The result; nothing, and no Python error, where the call has to go the long way. Throws what the kernel throws.
  nb::object call(PyObject* const* given, std::size_t count, PyObject* keywords);

 private:
  static constexpr std::size_t most_inputs = 8, most_params = 16;
  struct Given {
    std::size_t inputs = 0, params = 0;
    PyObject* input[most_inputs] = {};
    PyObject* key[most_params];
    PyObject* value[most_params];
    std::int64_t bytes = 0;
  };
  struct Entry;

  bool sort(PyObject* const* given, std::size_t count, PyObject* keywords, Given& found) const;
  bool sort_keywords(PyObject* const* given, PyObject* keywords, Given& found) const;
  bool take_inputs(Given& given) const;
  Entry* find(const Given& given);
  Entry* prepare(const Given& given);
  nb::object run(Entry& entry, const Given& given);

  Host* host_;  // which is_current()'s caller keeps
  std::uint64_t host_number_, generation_;
  std::string name_;
  std::shared_ptr<const CatalogOperator> op_;
  bool possible_, keeps_gil_;
  std::vector<PyObject*> input_names_, param_names_;  // interned
  KeptCalls<Entry> entries_;
};

}  // namespace tenon::python
