// Joins waiting requests along their rows into one run, and splits the outputs again. Independent
// of the server.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "serve/signature.hpp"

namespace tenon::serve {

/// An input as received: one piece of memory or several consecutive ones, none of them empty.
struct RequestInput {
  DType dtype = unknown_dtype;
  Shape shape;
  std::vector<std::span<const std::byte>> pieces;
};

/// A request's share of an output.
struct Result {
  Shape shape;
  std::span<const std::byte> bytes;  ///< inside `whole`
  Tensor whole;                      ///< the output of all requests in the run
};

struct Request {
  std::vector<RequestInput> inputs;  ///< in the signature's order
  // Results of the run.
  std::vector<Result> results;       ///< in the signature's order; empty if it failed
  std::string error;                 ///< a sentence; empty: success
  bool wrong = false;                ///< refused because of its contents, before any run
  std::uint64_t begin = 0, end = 0;  ///< of its run, in nanoseconds of the steady clock; 0: none

  void fail(std::string sentence) { error = std::move(sentence); }
};

/// A successful run.
struct JoinedRun {
  std::int64_t rows = 0;
  std::uint64_t begin = 0, end = 0;
};

std::uint64_t now();  ///< nanoseconds of the steady clock

/// Checks that the inputs match the signature; if not, sets `wrong` and the error. `rows`: whether
/// the first axis is the batch axis.
void check(const Signature& signature, bool rows, Request& request);

/// Runs the requests without an error. With `rows`, requests whose inputs differ only in the number
/// of rows run together; else each runs separately. If a run of several fails, each is run
/// separately, so that only the faulty request fails. Throws only std::bad_alloc.
std::vector<JoinedRun> run_joined(const Signature& signature, bool rows, Session& session,
                                  std::span<Request> requests);

}  // namespace tenon::serve
