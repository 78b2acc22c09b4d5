// Protection against memory-mapped files that are truncated while in use.
#pragma once
#include <tenon/host/api.hpp>

namespace tenon {

/// Files larger than LoadOptions::map_above are memory-mapped: graphs, .npy arrays, texts.
/// Normally, accessing a page that no longer exists, because the file was truncated or its disk
/// failed, ends the process by SIGBUS. After this call, zeros replace the page, and the operation
/// that used it throws Failure (file) naming the file: a run of a session, a training step, a load,
/// a save.
///
/// Installs a SIGBUS handler for the whole process, once. The program tenon does so; the library
/// never does by itself. For any other address, and for signals sent by another process, the
/// handler calls the previous handler or performs the signal's default action. An application that
/// handles SIGBUS itself must install its handler first. Threads: any.
///
/// With or without this call, a mapped file that was written to or truncated is detected after each
/// run that used it. Not detected is what another process writes through a shared mapping of its
/// own while the file is mapped here: the system does not report it in time.
TENON_API void guard_mapped_files();

}  // namespace tenon
