// Runs a fuzz target without libFuzzer: fuzz_plain NAME FOLDER [COUNT [SEED [FIRST]]] feeds it
// every file of the folder, then COUNT mutants, which the seed determines. A fault is reported with
// the number of the mutant: COUNT 1, SEED and FIRST reproduce only that one.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "../temporary_folder.hpp"
#include "target.hpp"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(
    void (*callback)());  // NOLINT(bugprone-reserved-identifier)

namespace {

std::uint64_t seed = 1, current = 0;
std::string file;

void tell() {
  std::fprintf(stderr, "\nwhen it ran %s%s, mutant %llu of seed %llu\n",
               file.empty() ? "" : "file ", file.c_str(), static_cast<unsigned long long>(current),
               static_cast<unsigned long long>(seed));
}

class Mutation {
 public:
  Mutation(const std::vector<std::string>& seeds, std::uint64_t number)
      : seeds_(seeds), random_(seed * 1'000'003 + number) {}

  std::string make() {
    auto text = pick();
    for (auto changes = 1 + below(below(4) == 0 ? 16 : 4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  const std::string& pick() { return seeds_[below(seeds_.size())]; }

  void change(std::string& text) {
    static constexpr std::uint64_t odd[] = {0,
                                            1,
                                            2,
                                            0x7f,
                                            0x80,
                                            0xff,
                                            0x7fff,
                                            0x8000,
                                            0xffff,
                                            0x7fffffff,
                                            0x80000000,
                                            0xffffffff,
                                            0x7fffffffffffffff,
                                            0x8000000000000000,
                                            0xffffffffffffffff};
    const auto at = below(text.size());
    switch (below(7)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ 1 << below(8));
        return;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(random_());
        return;
      case 2: {  // a number
        const std::size_t size = std::size_t{1} << below(4);
        const auto number = odd[below(std::size(odd))];
        if (text.size() >= size)
          text.replace(std::min(at, text.size() - size), size,
                       reinterpret_cast<const char*>(&number), size);
        return;
      }
      case 3:
        text.erase(at, 1 + below(below(8) == 0 ? text.size() : 8));
        return;
      case 4:
        text.insert(at, text.substr(below(text.size() + 1), 1 + below(16)));
        return;
      case 5: {
        const auto& other = pick();
        const auto from = below(other.size() + 1);
        text.replace(at, 1 + below(32), other.substr(from, 1 + below(64)));
        return;
      }
      default: {
        const auto& other = pick();
        text.resize(at);
        text += other.substr(std::min(at, other.size()));
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

void run(FuzzTarget target, const std::string& text) {
  target(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

std::map<std::string, FuzzTarget>& fuzz_targets() {
  static std::map<std::string, FuzzTarget> targets;
  return targets;
}

int main(int argc, char** argv) {
  const auto target = argc < 3 ? fuzz_targets().end() : fuzz_targets().find(argv[1]);
  if (target == fuzz_targets().end()) {
    std::fputs("usage: fuzz_plain NAME FOLDER [COUNT [SEED [FIRST]]]\nnames:", stderr);
    for (const auto& [name, function] : fuzz_targets()) std::fprintf(stderr, " %s", name.c_str());
    return std::fputc('\n', stderr), 2;
  }
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const auto count = number(3, 0), first = number(5, 0);
  seed = number(4, 1);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(tell);
  for (const int signal : {SIGABRT, SIGILL})
    std::signal(signal, [](int number) {
      tell();
      std::signal(number, SIG_DFL);
      std::raise(number);
    });
  std::vector<std::string> seeds;
  for (const auto& name : TemporaryFolder::sorted_names(argv[2])) {
    file = std::filesystem::path(argv[2]) / name;
    seeds.push_back(read_bytes(file));
    run(target->second, seeds.back());
  }
  if (seeds.empty()) return std::fprintf(stderr, "%s has no files to begin with\n", argv[2]), 1;
  file.clear();
  for (current = first; current < first + count; ++current)
    run(target->second, Mutation(seeds, current).make());
  std::printf("%zu files and %llu mutants\n", seeds.size(), static_cast<unsigned long long>(count));
  return 0;
}
