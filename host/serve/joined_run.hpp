// Requests that wait together become one run: joined along their rows, run, and split again. Knows nothing of a server.
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

/// An input as it came: in one piece of memory, or in several that follow one another; none is empty.
struct GivenInput {
  DType dtype = unknown_dtype;
  Shape shape;
  std::vector<std::span<const std::byte>> pieces;
};

/// A request's part of an output.
struct Result {
  Shape shape;
  std::span<const std::byte> bytes;  ///< in `whole`
  Tensor whole;                      ///< of all requests of the run
};

struct Request {
  std::vector<GivenInput> inputs;  ///< at the signature's places
  // What became of it.
  std::vector<Result> results;       ///< at the signature's places; none where it failed
  std::string error;                 ///< a sentence; empty: it succeeded
  bool wrong = false;                ///< whether it failed because of what is in it, before anything ran
  std::uint64_t begin = 0, end = 0;  ///< of the run that it was part of, by the steady clock in nanoseconds; 0: it was in none

  void fail(std::string sentence) { error = std::move(sentence); }
};

/// A run that succeeded.
struct RunOf {
  std::int64_t rows = 0;
  std::uint64_t begin = 0, end = 0;
};

std::uint64_t now();  ///< nanoseconds of the steady clock

/// Whether the inputs are what the signature says; if not, the request is wrong, with a sentence. `rows`: whether the first axis is one of
/// rows.
void check(const Signature& signature, bool rows, Request& request);

/// Runs those that have no error: with `rows`, those whose inputs differ in nothing but their rows at once; else one by one. If a run of
/// several fails, each is run by itself, so that a request which no kernel takes fails alone. Throws nothing but std::bad_alloc.
std::vector<RunOf> run_joined(const Signature& signature, bool rows, Session& session, std::span<Request> requests);

}  // namespace tenon::serve
