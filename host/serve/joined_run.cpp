#include "serve/joined_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <tenon/host/cast_storage.hpp>
#include <tenon/host/failure.hpp>

namespace tenon::serve {
namespace {

bool fits(const Shape& shape, const Shape& declared) {
  if (shape.rank() != declared.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (declared[axis] != unknown && declared[axis] != shape[axis]) return false;
  return true;
}

std::size_t received_bytes(const RequestInput& input) {
  return std::accumulate(input.pieces.begin(), input.pieces.end(), std::size_t{0},
                         [](std::size_t sum, auto piece) { return sum + piece.size(); });
}

/// Returns nullopt if the byte count overflows.
std::optional<std::size_t> bytes_of(DType dtype, const Shape& shape) {
  std::size_t bytes = size_of(dtype);
  for (const auto dim : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(dim), &bytes)) return std::nullopt;
  return bytes;
}

/// Other bytes are not valid bools in C++.
bool only_truths(const RequestInput& input) {
  return std::all_of(input.pieces.begin(), input.pieces.end(), [](auto piece) {
    return std::all_of(piece.begin(), piece.end(),
                       [](std::byte each) { return each <= std::byte{1}; });
  });
}

/// Returns what is wrong with an input, to follow its name in a message; empty if nothing is.
std::string fault(const ServedTensor& declared, const RequestInput& input) {
  if (input.dtype != declared.dtype)
    return fmt::format("is {} but must be {}",
                       input.dtype == unknown_dtype ? "of an unknown dtype" : name_of(input.dtype),
                       name_of(declared.dtype));
  if (!fits(input.shape, declared.shape))
    return fmt::format("has the shape {} but needs {}", to_string(input.shape),
                       to_string(declared.shape));
  const auto needed = bytes_of(input.dtype, input.shape);
  if (const auto bytes = received_bytes(input); needed != bytes)
    return fmt::format("has {} bytes, but its shape {} needs {}", bytes, to_string(input.shape),
                       needed ? fmt::to_string(*needed) : "more than can be addressed");
  if (input.dtype == boolean && !only_truths(input))
    return "is bool but has bytes other than 0 and 1";
  return {};
}

bool same_but_rows(const Request& one, const Request& other) {
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const auto &left = one.inputs[i].shape, &right = other.inputs[i].shape;
    if (!std::equal(left.begin() + 1, left.end(), right.begin() + 1, right.end())) return false;
  }
  return true;
}

std::int64_t rows_of(const Request& request) {
  return request.inputs[0].shape[0];
}

/// Rows without elements need no memory, so their number can overflow.
std::int64_t rows_of(std::span<Request* const> group) {
  std::int64_t sum = 0;
  for (const auto* request : group)
    if (__builtin_add_overflow(sum, rows_of(*request), &sum))
      throw Failure(FailureKind::usage, "the total number of rows of the requests overflows");
  return sum;
}

/// The input of all requests in the group. A single request's input is borrowed if it is one
/// aligned piece.
Tensor joined(std::span<Request* const> group, std::size_t i, bool rows) {
  const auto& first = group[0]->inputs[i];
  const auto aligned = [&](const std::byte* data) {
    return (reinterpret_cast<std::uintptr_t>(data) & (size_of(first.dtype) - 1)) == 0;
  };
  if (group.size() == 1 && first.pieces.size() == 1 && aligned(first.pieces[0].data()))
    return Tensor::borrow_read_only(first.pieces[0].data(), first.dtype, first.shape);
  auto shape = first.shape;
  if (rows) shape.set(0, rows_of(group));
  auto whole = Tensor::empty(first.dtype, shape);
  auto* to = static_cast<std::byte*>(whole.data());
  for (const auto* request : group)
    for (const auto piece : request->inputs[i].pieces) {
      std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
    }
  return whole;
}

std::vector<Tensor> run(const Signature& signature, Session& session, std::vector<Tensor> inputs) {
  std::vector<Tensor> outputs(signature.outputs.size());
  if (signature.all_inputs && signature.all_outputs) {
    session.run_in_order(inputs, outputs);
    return outputs;
  }
  NamedTensors named;
  for (std::size_t i = 0; i < inputs.size(); ++i) named[signature.inputs[i].name] = inputs[i];
  RunOptions options;
  for (const auto& output : signature.outputs) options.outputs.push_back(output.name);
  const auto results = session.run(named, options);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = results.at(signature.outputs[i].name);
  return outputs;
}

/// Distributes an output's rows among the requests; a single unbatched request gets all of it.
void split(const ServedTensor& output, const Tensor& whole, std::span<Request* const> group,
           bool rows, std::int64_t count) {
  const auto& shape = whole.shape();
  if (rows && (shape.rank() == 0 || shape[0] != count))
    throw Failure(
        FailureKind::failed,
        fmt::format("output '{}' is {} for {} input rows, so it cannot be split among the requests",
                    output.name, to_string(shape), count),
        "set max_batch_size: 0 in config.pbtxt to run each request separately");
  const auto row_bytes = rows && count > 0 ? static_cast<std::size_t>(whole.bytes() / count) : 0;
  const auto* from = static_cast<const std::byte*>(whole.data());
  for (auto* request : group) {
    Result result{shape, {from, static_cast<std::size_t>(whole.bytes())}, whole};
    if (rows) {
      result.shape.set(0, rows_of(*request));
      result.bytes = {from, row_bytes * static_cast<std::size_t>(rows_of(*request))};
      from += result.bytes.size();
    }
    request->results.push_back(std::move(result));
  }
}

/// Throws the exceptions of the run.
JoinedRun run_group(const Signature& signature, bool rows, Session& session,
                    std::span<Request* const> group) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i)
    inputs.push_back(joined(group, i, rows));
  JoinedRun joined_run{rows ? inputs[0].shape()[0] : 1, now()};
  auto outputs = run(signature, session, std::move(inputs));
  joined_run.end = now();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].storage() != Storage::dense)
      outputs[i] = cast_storage(outputs[i], Storage::dense);
    split(signature.outputs[i], outputs[i].make_contiguous(), group, rows, joined_run.rows);
  }
  for (auto* request : group) request->begin = joined_run.begin, request->end = joined_run.end;
  return joined_run;
}

void run_all(const Signature& signature, bool rows, Session& session,
             std::span<Request* const> group, std::vector<JoinedRun>& runs) {
  for (auto* request : group) request->begin = now();
  std::string error;
  try {
    runs.push_back(run_group(signature, rows, session, group));
    return;
  } catch (const Failure& failure) {
    error = failure.hint().empty() ? failure.what()
                                   : fmt::format("{}; {}", failure.what(), failure.hint());
  } catch (const std::exception& other) {
    error = other.what();
  }
  for (auto* request : group) request->results.clear();
  if (group.size() == 1) {
    group[0]->fail(std::move(error));
    group[0]->end = now();
    return;
  }
  for (auto* request : group) run_all(signature, rows, session, {&request, 1}, runs);
}

}  // namespace

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

void check(const Signature& signature, bool rows, Request& request) {
  const auto refuse = [&](std::string sentence) {
    request.wrong = true;
    request.fail(std::move(sentence));
  };
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (const auto what = fault(signature.inputs[i], request.inputs[i]); !what.empty())
      return refuse(fmt::format("input '{}' {}", signature.inputs[i].name, what));
    if (rows && request.inputs[i].shape[0] != rows_of(request))
      return refuse(fmt::format("input '{}' has {} rows but '{}' has {}", signature.inputs[0].name,
                                rows_of(request), signature.inputs[i].name,
                                request.inputs[i].shape[0]));
  }
}

std::vector<JoinedRun> run_joined(const Signature& signature, bool rows, Session& session,
                                  std::span<Request> requests) {
  std::vector<JoinedRun> runs;
  std::vector<Request*> waiting, group, others;
  for (auto& request : requests)
    if (request.error.empty()) waiting.push_back(&request);
  while (!waiting.empty()) {
    for (auto* request : waiting)
      (group.empty() || (rows && same_but_rows(*group[0], *request)) ? group : others)
          .push_back(request);
    run_all(signature, rows, session, group, runs);
    waiting.swap(others);
    others.clear();
    group.clear();
  }
  return runs;
}

}  // namespace tenon::serve
