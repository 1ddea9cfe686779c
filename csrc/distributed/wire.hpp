// SPDX-License-Identifier: Apache-2.0
// Control messages between ranks: lists of byte strings over TCP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sycl_dnn {

using message = std::vector<std::string>;

// A connected socket, closed with its owner.
class Socket {
  public:
    explicit Socket(int fd = -1) : fd(fd) {}
    Socket(Socket &&other) noexcept : fd(other.fd), buffer(std::move(other.buffer)) {
        other.fd = -1;
    }
    Socket &operator=(Socket &&other) noexcept;
    ~Socket();

    // Retries for `seconds`; throws std::runtime_error, immediately if the host has no address.
    static Socket connected(const std::string &host, int port, double seconds);
    // Listens on all addresses of this host.
    static Socket listening(int port);

    bool send(const message &m) const;  // false: the connection is closed
    // Reads available data; false: the connection is closed.
    bool receive();
    // Removes the next complete message; false: there is none yet.
    bool take(message &m);

    int fd;

  private:
    std::string buffer;
};

}  // namespace sycl_dnn
