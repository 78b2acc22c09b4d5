#include "device/cgroups.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace tenon {
namespace {

bool names(std::string_view controllers, std::string_view controller) {
  for (std::size_t begin = 0; begin <= controllers.size();) {
    const auto end = std::min(controllers.find(',', begin), controllers.size());
    if (controllers.substr(begin, end - begin) == controller) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::optional<std::string> read_system_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void each_cgroup(const ReadText& read, std::string_view controller,
                 const std::function<void(const std::string& folder, bool version_2)>& visit) {
  std::istringstream lines(read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // HIERARCHY:CONTROLLERS:PATH
    const auto first = line.find(':'),
               second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const bool version_2 = controllers.empty();
    if (!version_2 && !names(controllers, controller)) continue;
    for (const auto& mount :
         version_2 ? std::vector<std::string>{"", "/unified"}
                   : std::vector<std::string>{"/" + controllers, '/' + std::string(controller)}) {
      for (auto group = line.substr(second + 1);;
           group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'))) {
        while (group.ends_with('/')) group.pop_back();
        visit(std::string("/sys/fs/cgroup").append(mount).append(group), version_2);
        if (group.empty()) break;
      }
    }
  }
}

}  // namespace tenon
