// Slots in a forked process, whose records must not overwrite those of the original.
#pragma once

namespace tenon {

/// Must be called first in the copy: gives its threads new slots in private memory.
void detach_from_original() noexcept;

}  // namespace tenon
