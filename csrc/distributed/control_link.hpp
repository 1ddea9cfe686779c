// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distributed/wire.hpp"

namespace sycl_dnn {

// This rank's connection to the hub of rank 0, and the thread that reads it.
class ControlLink {
  public:
    ControlLink(const std::string &host, int port, int rank, int size, double timeout);

    // The data of all `members` under `key`, in order. Throws std::runtime_error naming those that
    // did not answer within `timeout` seconds or have ended; the message begins with `about`.
    std::vector<std::string> gather(const std::string &key, const std::vector<int> &members,
                                    const std::string &text, double timeout,
                                    const std::string &about);
    // Reports the state of this rank; sent only when it changes.
    void tell_state(const std::string &text);
    // The states of all ranks as reported; nothing if the hub does not answer.
    std::optional<std::vector<std::string>> states(double timeout);
    // Announces that this rank ends normally.
    void leave();
    // How the first of `members` that has ended did so: "died" or "left".
    std::optional<std::pair<int, std::string>> first_gone(const std::vector<int> &members);

    // The loop of the reading thread.
    void read();

    const int rank, size;

  private:
    void note(const message &m);
    std::string missing_words(std::unique_lock<std::mutex> &lock, const std::string &key,
                              double timeout);

    Socket socket;
    std::mutex sending;
    std::mutex guard;
    std::condition_variable changed;
    std::map<std::string, message> answers;  // awaited ones, by key
    std::map<std::string, message> missing;
    std::optional<message> reported_states;  // states
    std::map<int, std::string> gone;
    std::string state;
    bool is_hub_gone = false;
};

// Connects, and starts the thread. Throws std::runtime_error after `timeout` seconds.
std::shared_ptr<ControlLink> make_link(const std::string &host, int port, int rank, int size,
                                       double timeout);

// "rank 1 has died", "rank 1 has left".
std::string gone_words(const std::pair<int, std::string> &gone);

}  // namespace sycl_dnn
