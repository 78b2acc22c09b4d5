// Initial values of variables and states.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Returns the random stream of a name. It depends on nothing else, in particular not on the
/// position in the graph.
std::uint64_t random_stream_of(std::string_view name);

/// Gives a value to every variable and state that has a known type and no tensor. Values depend
/// only on the seed and the value's name, not on order or threads. Automatic initializers: the
/// operator's declared value, if any; else xavier for rank 2 and higher, zeros for vectors. Values
/// with an unknown shape are skipped. Throws Failure (usage) if the dtype cannot hold an initial
/// value.
void initialize(GraphModel& model, std::uint64_t seed);

/// Whether initialize() would set any value.
bool lacks_values(const GraphModel& model);

/// Variant for a session, which stores tensors outside the graph; `types` and `tensors` are indexed
/// by value.
bool lacks_values(const GraphModel& model, std::span<const tenon_type> types,
                  std::span<const Tensor> tensors);
/// Session variant of initialize(). Returns the variables that received random values.
std::vector<ValueId> initialize(const GraphModel& model, std::uint64_t seed,
                                std::span<const tenon_type> types, std::span<Tensor> tensors);

/// Creates a state with its operator's declared initial value. Throws Failure (usage) if the dtype
/// cannot hold it.
Tensor first_state(const StateInfo& state, const tenon_type& type);

}  // namespace tenon
