// load PORT PATH BODY JSON-BYTES CONNECTIONS SECONDS: measures the requests per second of a local
// HTTP server; each connection sends its next request when it has the answer. BODY is a file, whose
// first JSON-BYTES are JSON, followed by tensors as bytes. 0: all of it is JSON.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

[[noreturn]] static void fail(const std::string& what) {
  std::fprintf(stderr, "load: %s\n", what.c_str());
  std::exit(1);
}

static int connected(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0), on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    fail("nobody listens");
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

/// Reads the headers, then as many bytes as they declare.
static void read_answer(int socket, std::string& text) {
  text.clear();
  char piece[16384];
  std::size_t whole = std::string::npos;
  while (text.size() < whole) {
    const auto got = ::read(socket, piece, sizeof piece);
    if (got <= 0) fail("the server closed a connection");
    text.append(piece, static_cast<std::size_t>(got));
    const auto end = text.find("\r\n\r\n");
    if (whole != std::string::npos || end == std::string::npos) continue;
    if (text.compare(9, 3, "200") != 0) fail(text);
    auto at = text.find("ontent-");
    while (at != std::string::npos && (text[at + 7] | 32) != 'l') at = text.find("ontent-", at + 1);
    if (at == std::string::npos || at > end) fail("an answer without Content-Length");
    whole = end + 4 + std::strtoul(text.c_str() + at + 15, nullptr, 10);
  }
}

int main(int, char** arguments) {
  std::ifstream file(arguments[3], std::ios::binary);
  const std::string body{std::istreambuf_iterator<char>(file), {}};
  const std::string json = arguments[4];
  const std::string request = std::string("POST ") + arguments[2] +
                              " HTTP/1.1\r\nHost: localhost\r\n" +
                              (json == "0" ? "Content-Type: application/json\r\n"
                                           : "Inference-Header-Content-Length: " + json + "\r\n") +
                              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  std::atomic<std::uint64_t> answered = 0;
  std::atomic<bool> counts = false, over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(arguments[5]); ++i)
    threads.emplace_back([&] {
      const int socket = connected(std::atoi(arguments[1]));
      for (std::string text; !over;) {
        if (::write(socket, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
          fail("a request was not sent whole");
        read_answer(socket, text);
        if (counts) ++answered;
      }
      ::close(socket);
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  counts = true;
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(arguments[6])));
  const auto count = answered.load();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  over = true;
  for (auto& thread : threads) thread.join();
  std::printf("%.0f\n", static_cast<double>(count) / took.count());
}
