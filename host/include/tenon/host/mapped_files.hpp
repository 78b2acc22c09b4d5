// What happens when a file is cut short that is still in use.
#pragma once
#include <tenon/host/api.hpp>

namespace tenon {

/// Files above LoadOptions::map_above are mapped: graphs, .npy arrays, texts. Touching a page that is gone, because somebody cut the file
/// short or its disk failed, ends a process by SIGBUS. After this call it does not: zeros take the page's place, and what used them throws
/// Failure (file) that names the file: a run of a session, a step of training, a load, a save.
///
/// Installs a handler of SIGBUS for the whole process, once; the program tenon does so, the library never does by itself. For every other
/// address, and where another process sent the signal, the handler calls the one that was there before, or does what the signal does by
/// default. An application that handles SIGBUS itself installs its handler first. Threads: any.
///
/// With it or without, a mapped file that was written to or cut short is found after each run that used it. What another process writes
/// through a shared mapping of its own while the file is mapped here is not found: the system does not report it in time.
TENON_API void guard_mapped_files();

}  // namespace tenon
