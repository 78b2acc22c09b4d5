#include "nccl_library.hpp"

#include <dlfcn.h>

const NcclLibrary* NcclLibrary::find() {
  static const NcclLibrary* const found = []() -> const NcclLibrary* {
    void* const opened = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) return nullptr;
    static NcclLibrary library{};
    bool whole = true;
    const auto look_up = [&]<class Function>(Function& function, const char* name) {
      function = reinterpret_cast<Function>(dlsym(opened, name));
      whole = whole && function != nullptr;
    };
    look_up(library.GetUniqueId, "ncclGetUniqueId");
    look_up(library.CommInitRank, "ncclCommInitRank");
    look_up(library.CommGetAsyncError, "ncclCommGetAsyncError");
    look_up(library.GroupStart, "ncclGroupStart");
    look_up(library.GroupEnd, "ncclGroupEnd");
    look_up(library.Send, "ncclSend");
    look_up(library.Recv, "ncclRecv");
    look_up(library.AllReduce, "ncclAllReduce");
    look_up(library.GetErrorString, "ncclGetErrorString");
    return whole ? &library : nullptr;
  }();
  return found;
}
