// First values of variables and states that have none.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// The same name gives the same random numbers, wherever its value or node stands.
std::uint64_t random_stream_of(std::string_view name);

/// Gives values to every variable and state without a tensor whose type is known, drawn from the seed and the value's name, so that neither
/// order nor threads matter. Automatic: as the operator says, for states and for inputs of which it says something; else xavier for
/// matrices and higher, zeros for vectors. Those whose shape is not known yet are left as they are. Failure (usage): a number that the
/// dtype does not hold.
void initialize(GraphModel& model, std::uint64_t seed);

/// Whether initialize() would give any.
bool lacks_values(const GraphModel& model);

/// The same for a session, which keeps them apart from the graph: `types` and `tensors` are those of all values.
bool lacks_values(const GraphModel& model, std::span<const tenon_type> types, std::span<const Tensor> tensors);
/// Returns the variables that got random numbers.
std::vector<ValueId> initialize(const GraphModel& model, std::uint64_t seed, std::span<const tenon_type> types, std::span<Tensor> tensors);

/// A new state of this type, as its operator says that it begins. Failure (usage): the dtype does not hold that number.
Tensor first_state(const StateInfo& state, const tenon_type& type);

}  // namespace tenon
