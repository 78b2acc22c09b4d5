// Who runs, in a process that was forked: what it says must not overwrite what the other one says.
#pragma once

namespace tenon {

/// First in the copy: its threads get slots of their own, in memory of its own.
void part_from_original() noexcept;

}  // namespace tenon
