// SPDX-License-Identifier: Apache-2.0
#include "distributed/wire.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sycl_dnn {

using namespace std::chrono_literals;

Socket &Socket::operator=(Socket &&other) noexcept {
    std::swap(fd, other.fd);
    std::swap(buffer, other.buffer);
    return *this;
}

Socket::~Socket() {
    if (fd >= 0) close(fd);
}

// No delay, and keep-alive that notices within a minute if the other host is gone.
static void set_up(int fd) {
    const int on = 1, idle = 30, interval = 10, count = 3;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

// How long to retry if the resolver answers "try again".
static constexpr auto resolver_patience = 5s;

[[noreturn]] static void throw_unresolved(const std::string &host, int status) {
    const char *reason = status == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(status);
    throw std::runtime_error("the host of rank 0, '" + host +
                             "' (MASTER_ADDR, or the first of SLURM_JOB_NODELIST), cannot be "
                             "resolved: " +
                             reason);
}

using addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

static addresses resolve(const std::string &host, int port) {
    const auto end = std::chrono::steady_clock::now() + resolver_patience;
    addrinfo hints{}, *first = nullptr;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    while (const int status =
               getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first)) {
        if (status != EAI_AGAIN || std::chrono::steady_clock::now() > end)
            throw_unresolved(host, status);
        std::this_thread::sleep_for(200ms);
    }
    return {first, freeaddrinfo};
}

static int try_to_connect(const std::string &host, int port) {
    const addresses candidates = resolve(host, port);
    for (const addrinfo *a = candidates.get(); a; a = a->ai_next) {
        const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && !connect(fd, a->ai_addr, a->ai_addrlen)) return fd;
        if (fd >= 0) close(fd);
    }
    return -1;
}

Socket Socket::connected(const std::string &host, int port, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (true) {
        const int fd = try_to_connect(host, port);
        if (fd >= 0) {
            set_up(fd);
            return Socket(fd);
        }
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error("rank 0 did not answer at " + host + ":" +
                                     std::to_string(port) + " within " +
                                     std::to_string(static_cast<int>(seconds)) + " s");
        std::this_thread::sleep_for(50ms);
    }
}

Socket Socket::listening(int port) {
    Socket listener(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool is_6 = listener.fd >= 0;
    if (!is_6) listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1, off = 0;
    setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (is_6) setsockopt(listener.fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = six.sin6_port;
    const auto *address = is_6 ? reinterpret_cast<sockaddr *>(&six)  //
                               : reinterpret_cast<sockaddr *>(&four);
    if (bind(listener.fd, address, is_6 ? sizeof six : sizeof four) || listen(listener.fd, 1024))
        throw std::runtime_error("cannot listen on port " + std::to_string(port) + ": " +
                                 std::strerror(errno));
    return listener;
}

static void append(std::string &bytes, const std::string &part) {
    const uint32_t size = static_cast<uint32_t>(part.size());
    bytes.append(reinterpret_cast<const char *>(&size), sizeof size);
    bytes += part;
}

bool Socket::send(const message &m) const {
    std::string body, frame;
    for (const auto &part : m) append(body, part);
    append(frame, body);
    for (size_t done = 0; done < frame.size();) {
        const ssize_t n = ::send(fd, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<size_t>(n);
    }
    return true;
}

bool Socket::receive() {
    char bytes[16384];
    const ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    buffer.append(bytes, static_cast<size_t>(n));
    return n > 0;
}

static uint32_t size_at(const std::string &bytes, size_t offset) {
    uint32_t size;
    std::memcpy(&size, bytes.data() + offset, sizeof size);
    return size;
}

bool Socket::take(message &m) {
    constexpr size_t head = sizeof(uint32_t);
    if (buffer.size() < head) return false;
    const size_t size = size_at(buffer, 0);
    if (buffer.size() < head + size) return false;
    m.clear();
    for (size_t offset = head; offset + head <= head + size;) {
        const size_t part = size_at(buffer, offset);
        if (part > head + size - offset - head) break;  // not one of our messages
        m.push_back(buffer.substr(offset + head, part));
        offset += head + part;
    }
    buffer.erase(0, head + size);
    return true;
}

}  // namespace sycl_dnn
