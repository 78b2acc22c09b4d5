#include "in_child.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

static void run(const std::function<std::string()>& part, int to) {
  dup2(open("/dev/null", O_WRONLY),
       STDERR_FILENO);  // the sanitizers' reports are expected here, and they are not read
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS})
    std::signal(signal, SIG_DFL);  // not doctest's handlers
  std::string answer;
  try {
    answer = part();
  } catch (const std::exception& error) {
    answer = std::string("threw ") + error.what();
  }
  const bool written =
      write(to, answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
  _exit(written ? 0 : 1);
}

std::string in_child(const std::function<std::string()>& part) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe() failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork() failed");
  if (child == 0) run(part, ends[1]);
  close(ends[1]);
  std::string answer;
  char buffer[1024];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? answer : "crashed";
}
