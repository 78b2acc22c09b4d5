// Arbitrary bytes as the user's trust lists: each line is parsed, or a Failure names the file.
#include <sys/stat.h>

#include <tenon/host/trust.hpp>

#include "accepts.hpp"
#include "target.hpp"
#include "temporary_folder.hpp"

TENON_FUZZ_TARGET(trust_lists)(const std::uint8_t* bytes, std::size_t size) {
  static const TemporaryFolder config;
  for (const char* name : {"trusted_plugins", "trusted_signers"}) {
    write_bytes(config / name, {reinterpret_cast<const char*>(bytes), size});
    chmod((config / name).c_str(), 0600);
  }
  accepts([] {
    for (const auto& plugin : tenon::trusted_plugins(config.path()))
      if (plugin.sha256.size() != 64) std::abort();
  });
  accepts([] {
    for (const auto& signer : tenon::trusted_signers(config.path()))
      if (signer.name.empty() || signer.key.empty()) std::abort();
  });
  return 0;
}
