#include "plugin/loading/signature.hpp"

#include <tenon/host/failure.hpp>
#include <vector>

#include "io/child.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

/// Files passed to ssh-keygen as descriptors 0 (content), 3 (signers) and 4 (signature).
struct SignedFiles {
  const OpenFile& content;
  const InputFile &signers, &signature;
};

constexpr const char *signers_in_child = "/proc/self/fd/3", *signature_in_child = "/proc/self/fd/4";

std::pair<std::string, bool> ssh_keygen(std::vector<std::string> arguments,
                                        const SignedFiles& files) {
  arguments.insert(arguments.begin(), {"ssh-keygen", "-Y"});
  arguments.insert(arguments.end(), {"-f", signers_in_child, "-s", signature_in_child});
  const std::vector<int> descriptors{files.content.descriptor(), Child::report, Child::dev_null,
                                     files.signers.descriptor(), files.signature.descriptor()};
  Child child(arguments, descriptors, {"cannot start ssh-keygen", ""});
  const auto [output, status] = child.read_all();
  return {output, status == 0};
}

}  // namespace

std::string signature_fault(const InputFile& content, const std::filesystem::path& signature,
                            const std::filesystem::path& signers) {
  try {
    // reopened, because ssh-keygen reads from the beginning
    const auto bytes = OpenFile::open_any("/proc/self/fd/" + std::to_string(content.descriptor()));
    if (bytes.descriptor() < 0) return "cannot be verified: /proc is not available";
    const InputFile signers_file(signers), signature_file(signature);
    const SignedFiles files{bytes, signers_file, signature_file};
    const auto [found, known] = ssh_keygen({"find-principals"}, files);
    const auto name = found.substr(0, found.find('\n'));
    if (!known || name.empty()) return "was not made with a key that you trust";
    if (!ssh_keygen({"verify", "-n", "tenon-plugin", "-I", name}, files).second)
      return "is not a signature of this content for the namespace tenon-plugin";
    return {};
  } catch (const PluginError& error) {
    return error.what();
  } catch (const Failure& error) {
    return std::string("cannot be verified: ") + error.what();
  }
}

}  // namespace tenon
