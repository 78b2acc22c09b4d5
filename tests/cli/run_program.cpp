#include "cli/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "temporary_folder.hpp"

namespace {

std::vector<std::string> environment_of(const ProgramPlace& place) {
  static const TemporaryFolder own_cache;
  std::map<std::string, std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const auto equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  variables.erase("TENON_PLUGIN_PATH");
  variables["NO_COLOR"] = "1";
  variables["XDG_CACHE_HOME"] = (place.cache.empty() ? own_cache.path() : place.cache).string();
  variables["XDG_CONFIG_HOME"] = variables["XDG_CACHE_HOME"] + "/config";
  for (const auto& [name, value] : place.environment) variables[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + '=' + value);
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Reads both pipes at once: otherwise a program that fills one while the test waits on the other
// would block forever.
void read_both(std::array<pollfd, 2> ends, std::array<std::string*, 2> texts) {
  char buffer[65536];
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR)
      throw std::runtime_error("the test cannot wait for the program");
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const auto count = read(ends[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        close(ends[i].fd);
        ends[i].fd = -1;
      }
    }
  }
}

// One of the program's standard streams, as set by ProgramPlace.
void direct(posix_spawn_file_actions_t& actions, int stream, const std::string& to, int pipe,
            int broken) {
  if (to == "closed")
    posix_spawn_file_actions_addclose(&actions, stream);
  else if (to.empty() || to == "broken")
    posix_spawn_file_actions_adddup2(&actions, to.empty() ? pipe : broken, stream);
  else
    posix_spawn_file_actions_addopen(&actions, stream, to.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
}

int unread_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("the test has no pipe");
  close(ends[0]);
  return ends[1];
}

pid_t start(const std::vector<std::string>& arguments, const ProgramPlace& place, int out,
            int err) {
  std::vector<std::string> words{TENON_TEST_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto environment = environment_of(place);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const int broken = unread_pipe();
  direct(actions, STDOUT_FILENO, place.out, out, broken);
  direct(actions, STDERR_FILENO, place.err, err, broken);
  if (!place.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, place.folder.c_str());
  posix_spawnattr_t attributes;  // signals as a shell leaves them, even if the test ignores some
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int error = posix_spawn(&child, TENON_TEST_PROGRAM, &actions, &attributes,
                                pointers_to(words).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(broken);
  if (error != 0)
    throw std::runtime_error(std::string("the test cannot start " TENON_TEST_PROGRAM ": ") +
                             std::strerror(error));
  return child;
}

}  // namespace

std::string command_line(const std::vector<std::string>& arguments) {
  std::string line = "tenon";
  for (const auto& argument : arguments) line += ' ' + argument;
  return line;
}

ProgramResult run_tenon(const std::vector<std::string>& arguments, const ProgramPlace& place) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
    throw std::runtime_error("the test has no pipe");
  const auto child = start(arguments, place, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  if (place.started) place.started(child);
  ProgramResult result;
  read_both({{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}}, {&result.out, &result.err});
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}
