// The fast path from arrays to a kernel: cached prepared calls of one operator, looked up by the
// types and parameters of a call.
#pragma once
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <tenon/host/call_cache.hpp>
#include <utility>
#include <vector>

#include "python/core/attributes.hpp"
#include "python/core/host.hpp"
#include "python/core/plain_values.hpp"

namespace tenon::python {

/// The argument for one input.
template <class View>
struct ArrayInput {
  PyObject* object = nullptr;  ///< null: omitted
  bool scalar;                 ///< a Python number; the members below are for arrays
  DType dtype;
  int rank;
  const std::int64_t* dims;
  View view;
};

/// The sorted arguments of a call. They borrow what the caller holds.
template <class Arrays>
struct ArrayArguments {
  static constexpr std::size_t max_params = 16;
  bool add_param(PyObject* name, PyObject* value) {
    if (params == max_params || !is_plain(value)) return false;
    key[params] = name;
    this->value[params++] = value;
    return true;
  }
  std::size_t inputs = 0, params = 0;
  ArrayInput<typename Arrays::View> input[Arrays::max_inputs];
  PyObject *key[max_params], *value[max_params];
  std::int64_t bytes = 0;
};

/// The GIL as a mutex: callers that use Python objects already hold it.
struct NoLock {
  void lock() {}
  void unlock() {}
};

/// The prepared calls of one operator in one version of a host. `Arrays` defines how arrays are
/// read and created:
///   max_inputs, View; can_call(info): whether the fast path supports the operator; borrow(input):
/// an array's memory as a tensor; memory_for(output, tensor): the result, if it is created ahead of
/// the call, and its memory; result_of(memory, tensor): the result; lists_results(): whether the
/// result is a list, even with one element.
/// Needs the GIL.
template <class Arrays>
class ArrayCalls {
 public:
  using Arguments = ArrayArguments<Arrays>;
  ArrayCalls(const HostVersion& version, std::string name,
             std::shared_ptr<const CatalogOperator> op, bool isolated, Arrays arrays)
      : version_(version), name_(std::move(name)), op_(std::move(op)), arrays_(std::move(arrays)) {
    const auto& info = op_->info;
    possible_ = info.states.empty() && !info.random && info.inputs.size() <= Arrays::max_inputs &&
                info.params.size() <= Arguments::max_params && Arrays::can_call(info);
    keeps_gil_ = op_->file >= 0 && !isolated && !info.has("compose");
  }

  const HostVersion& version() const { return version_; }
  const OperatorInfo& info() const { return op_->info; }
  bool possible() const { return possible_; }
  CallCacheCounts counts() const { return cache_.counts(); }

  /// Returns the result, or nothing and sets no Python error if the call must take the general
  /// path. `host`: the host that this object was made for, which the caller keeps alive. Throws
  /// what the kernel throws.
  nb::object call(Host& host, const Arguments& args) {
    const auto hash = hash_of(args);
    auto lease = cache_.take(version_, hash, [&](const Entry& entry) { return fits(entry, args); });
    if (!lease) lease = prepare(host, args, hash);
    if (!lease) return {};
    auto result = lease->usable ? run(*lease, args) : nb::object();
    cache_.give_back(std::move(lease));
    return result;
  }

 private:
  struct Entry {
    struct Input {
      DType dtype = unknown_dtype;  // unknown: omitted
      int rank = 0;
      std::int64_t dims[TENON_MAX_RANK] = {};
    };
    explicit Entry(PreparedCall prepared) : call(std::move(prepared)) {}
    std::vector<Input> inputs;
    std::vector<std::pair<nb::object, nb::object>> params;
    PreparedCall call;
    std::vector<std::size_t> visible;  // indices of visible outputs
    std::int64_t bytes = 0;            // of the visible outputs
    bool usable = false;
  };
  using Cache = CallCache<Entry, NoLock>;

  static std::size_t hash_of(const Arguments& args) {
    std::size_t hash = args.inputs;
    const auto add = [&](std::int64_t value) {
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15;
    };
    for (std::size_t i = 0; i < args.inputs; ++i) {
      const auto& input = args.input[i];
      if (input.object == nullptr || input.scalar) continue;
      add(static_cast<std::int64_t>(input.dtype));
      std::for_each(input.dims, input.dims + input.rank, add);
    }
    return hash >> 32;
  }

  static bool fits(const Entry& entry, const Arguments& args) {
    if (entry.inputs.size() != args.inputs || entry.params.size() != args.params) return false;
    for (std::size_t i = 0; i < args.inputs; ++i) {
      const auto& known = entry.inputs[i];
      const auto& input = args.input[i];
      if (input.object == nullptr || known.dtype == unknown_dtype) {
        if (input.object != nullptr || known.dtype != unknown_dtype) return false;
      } else if (input.scalar) {
        if (known.rank != 0) return false;
      } else if (input.dtype != known.dtype || input.rank != known.rank ||
                 !std::equal(known.dims, known.dims + known.rank, input.dims)) {
        return false;
      }
    }
    for (std::size_t i = 0; i < args.params; ++i) {
      const auto& [key, value] = entry.params[i];
      if (key.ptr() != args.key[i] && PyUnicode_Compare(key.ptr(), args.key[i]) != 0) return false;
      if (!same_value(value.ptr(), args.value[i])) return false;
    }
    return true;
  }

  typename Cache::Lease prepare(Host& host, const Arguments& args, std::size_t hash) const;
  nb::object run(Entry& entry, const Arguments& args) const;

  // A kernel with fewer bytes takes less time than releasing and reacquiring the GIL.
  static constexpr std::int64_t small = 16 * 1024;

  const HostVersion version_;
  const std::string name_;  // the operator's, as the caller writes it
  const std::shared_ptr<const CatalogOperator> op_;
  const Arrays arrays_;
  bool possible_ = false, keeps_gil_ = false;
  Cache cache_{64};
};

template <class Arrays>
typename ArrayCalls<Arrays>::Cache::Lease ArrayCalls<Arrays>::prepare(Host& host,
                                                                      const Arguments& args,
                                                                      std::size_t hash) const {
  std::vector<typename Entry::Input> inputs(args.inputs);
  std::vector<Argument> arguments(args.inputs);
  const auto has_own_types = [&](std::size_t i) {
    return op_->info.inputs[std::min(i, op_->info.inputs.size() - 1)].types.has_value();
  };
  auto shared_dtype = unknown_dtype;  // which numbers take
  for (std::size_t i = args.inputs; i-- > 0;)
    if (args.input[i].object != nullptr && !args.input[i].scalar && !has_own_types(i))
      shared_dtype = args.input[i].dtype;
  for (std::size_t i = 0; i < args.inputs; ++i) {
    const auto& input = args.input[i];
    arguments[i].present = input.object != nullptr;
    if (input.object == nullptr) continue;
    if (input.scalar) {
      if (has_own_types(i) || shared_dtype == unknown_dtype) return {};
      inputs[i].dtype = shared_dtype;
    } else {
      inputs[i].dtype = input.dtype;
      inputs[i].rank = input.rank;
      std::copy_n(input.dims, input.rank, inputs[i].dims);
    }
    arguments[i].dtype = inputs[i].dtype;
    arguments[i].shape = Shape::of_tensor(inputs[i].dims, inputs[i].rank);
  }
  std::vector<std::pair<nb::object, nb::object>> params;
  nb::dict named;
  for (std::size_t i = 0; i < args.params; ++i) {
    params.emplace_back(nb::borrow(args.key[i]), copy_of_value(args.value[i]));
    named[params.back().first] = params.back().second;
  }
  typename Cache::Lease lease;
  try {
    const auto attributes = attributes_from(&op_->info, named);
    lease = Cache::make(version_, hash,
                        without_gil([&] { return host.prepare(name_, arguments, attributes); }));
  } catch (const Failure&) {
    return {};  // the general path reports the error
  }
  if (host.version() != version_) return {};
  auto& entry = *lease;
  entry.inputs = std::move(inputs);
  entry.params = std::move(params);
  entry.usable = !entry.call.depends_on_values();
  const auto& outputs = entry.call.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& output = outputs[i];
    if (output.hidden) continue;
    entry.visible.push_back(i);
    const bool known =
        output.storage == Storage::dense && output.shape.known() && Arrays::can_make(output.dtype);
    entry.usable = entry.usable && known;
    if (known)
      entry.bytes += output.shape.size() * static_cast<std::int64_t>(size_of(output.dtype));
  }
  entry.usable = entry.usable && !entry.visible.empty();
  return lease;
}

template <class Arrays>
nb::object ArrayCalls<Arrays>::run(Entry& entry, const Arguments& args) const {
  Tensor inputs[Arrays::max_inputs];
  Scalar scalars[Arrays::max_inputs];
  for (std::size_t i = 0; i < args.inputs; ++i) {
    const auto& input = args.input[i];
    if (input.object == nullptr) continue;
    const auto dtype = entry.inputs[i].dtype;
    if (input.scalar && !scalars[i].set(input.object, dtype)) return {};
    inputs[i] = input.scalar ? scalars[i].borrow(dtype) : arrays_.borrow(input);
  }
  const auto& outputs = entry.call.outputs();
  Tensor one;
  std::vector<Tensor> several(outputs.size() > 1 ? outputs.size() : 0);
  Tensor* made = outputs.size() > 1 ? several.data() : &one;
  const auto first = entry.visible.front();
  auto memory = arrays_.memory_for(outputs[first], made[first]);
  require_not_forked();
  const auto forward = [&] { entry.call.forward({inputs, args.inputs}, {made, outputs.size()}); };
  if (keeps_gil_ && args.bytes + entry.bytes < small)
    forward();
  else
    without_gil(forward);
  if (entry.visible.size() == 1 && !arrays_.lists_results())
    return arrays_.result_of(std::move(memory), made[first]);
  nb::list all;
  for (const auto i : entry.visible) all.append(arrays_.result_of({}, made[i]));
  return all;
}

inline nb::tuple counts_to_python(const CallCacheCounts& counts) {
  return nb::make_tuple(counts.hits, counts.misses, counts.evictions);
}

/// Prepared calls by host, so that a host that closes can drop its own. With the GIL.
class HostCallCaches {
 public:
  HostCallCaches(const HostCallCaches&) = delete;
  HostCallCaches& operator=(const HostCallCaches&) = delete;

  /// Drops the calls of a host, by its number, from all objects of this class.
  static void drop(std::uint64_t host) {
    ++drops_;
    std::vector<std::shared_ptr<void>> dropped;  // destructors may call operators
    for (auto* each : all()) each->take(host, dropped);
  }
  /// The number of hosts that were closed.
  static std::uint64_t drops() { return drops_; }

 protected:
  HostCallCaches() { all().insert(this); }
  ~HostCallCaches() { all().erase(this); }
  /// Moves the calls of the host to `taken`.
  virtual void take(std::uint64_t host, std::vector<std::shared_ptr<void>>& taken) = 0;

 private:
  static inline std::uint64_t drops_ = 0;
  // never destroyed: the interpreter's end destroys operators after static objects
  static std::set<HostCallCaches*>& all() {
    static auto* const objects = new std::set<HostCallCaches*>();
    return *objects;
  }
};

/// `Calls` of one operator, for each of the hosts that called it last. With the GIL.
template <class Calls>
class CallCacheByVersion final : HostCallCaches {
 public:
  /// name: the operator's, as the caller writes it.
  explicit CallCacheByVersion(std::string name) : name_(std::move(name)) {}

  /// Returns the calls for the host's current operators, created by make(version, name, op) if they
  /// are missing; null if there is no such operator. A running call keeps its own. Throws Failure
  /// (usage) if the host is closed.
  template <class Make>
  std::shared_ptr<Calls> of(const HostHandle& handle, const Make& make) {
    if (auto found = handle.host ? find(handle.host->version()) : nullptr) return found;
    const auto host = handle.use();
    const auto drops = HostCallCaches::drops();
    HostVersion version;
    auto op = without_gil([&] {
      host->catalog();  // reads the default folders if they were not read yet
      version = host->version();
      return host->catalog().find(name_);
    });
    if (auto found = find(version)) return found;
    if (!op) return nullptr;
    std::shared_ptr<Calls> calls = make(version, name_, std::move(op));
    if (HostCallCaches::drops() != drops) return calls;  // the host may have been closed meanwhile
    auto dropped =
        std::exchange(known_, {{host, calls}});  // their destructors may call the operator
    for (auto& each : dropped)
      if (known_.size() < max_versions && !each.host.expired() &&
          each.calls->version().host != version.host)
        known_.push_back(std::move(each));
    return calls;
  }

  /// The sums over all versions.
  CallCacheCounts counts() const {
    CallCacheCounts all;
    for (const auto& each : known_) {
      const auto counts = each.calls->counts();
      all.hits += counts.hits, all.misses += counts.misses, all.evictions += counts.evictions;
    }
    return all;
  }

 private:
  static constexpr std::size_t max_versions = 4;
  struct Known {
    std::weak_ptr<Host> host;  // expired: closed
    std::shared_ptr<Calls> calls;
  };

  std::shared_ptr<Calls> find(const HostVersion& version) {
    if (!known_.empty() && known_.front().calls->version() == version) return known_.front().calls;
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& each) {
      return each.calls->version() == version;
    });
    if (found == known_.end()) return nullptr;
    std::rotate(known_.begin(), found, found + 1);
    return known_.front().calls;
  }

  void take(std::uint64_t host, std::vector<std::shared_ptr<void>>& taken) override {
    std::erase_if(known_, [&](Known& each) {
      if (each.calls->version().host != host) return false;
      taken.push_back(std::move(each.calls));
      return true;
    });
  }

  const std::string name_;
  std::vector<Known> known_;  // most recently used first
};

}  // namespace tenon::python
