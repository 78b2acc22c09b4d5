#include "run/trace.hpp"

#include <nlohmann/json.hpp>

#include "io/atomic_file.hpp"

namespace tenon {

void Trace::add(std::string name, std::string category, Clock::time_point begin, Clock::time_point end) {
  events_.push_back({std::move(name), std::move(category), begin, end});
}

void Trace::write(const std::filesystem::path& path) const {
  const auto microseconds = [](Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); };
  auto events = nlohmann::json::array();
  for (const auto& event : events_)
    events.push_back({{"name", event.name},
                      {"cat", event.category},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", microseconds(event.begin - start_)},
                      {"dur", microseconds(event.end - event.begin)}});
  const nlohmann::json root{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
  AtomicFile file(path);
  file.write(root.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  file.commit();
}

}  // namespace tenon
