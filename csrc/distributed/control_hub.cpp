// SPDX-License-Identifier: Apache-2.0
#include "distributed/control_hub.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <map>
#include <thread>

#include "distributed/wire.hpp"

namespace sycl_dnn {

namespace {

// Data sent by the members of a group under one key, distributed once complete.
struct gathering {
    std::vector<int> members;
    std::map<int, std::string> texts;
};

class Hub {
  public:
    Hub(Socket &&listener, int size)
        : listener(std::move(listener)), states(static_cast<size_t>(size)) {}

    void serve() {
        while (true) {
            std::vector<pollfd> polled{{listener.fd, POLLIN, 0}};
            for (const auto &c : guests) polled.push_back({c.socket.fd, POLLIN, 0});
            if (poll(polled.data(), polled.size(), -1) < 0) continue;
            const size_t n = guests.size();
            for (size_t i = 0; i < n; ++i)
                if (polled[i + 1].revents) hear(guests[i]);
            std::erase_if(guests, [](const guest &g) { return g.is_over; });
            if (polled[0].revents) admit();
        }
    }

  private:
    struct guest {
        Socket socket;
        int rank = -1;
        bool is_over = false, has_left = false;
    };

    void admit() {
        const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd >= 0) guests.push_back({Socket(fd)});
    }

    void hear(guest &g) {
        const bool is_there = g.socket.receive();
        message m;
        while (g.socket.take(m))
            if (!m.empty()) answer(g, m);
        if (is_there) return;
        g.is_over = true;
        if (g.rank >= 0) tell_all({"gone", std::to_string(g.rank), g.has_left ? "left" : "died"});
    }

    void answer(guest &g, const message &m) {
        if (m[0] == "hello" && m.size() == 2) {
            g.rank = std::stoi(m[1]);
        } else if (m[0] == "gather" && m.size() > 3) {
            gather(g, m);
        } else if (m[0] == "state" && m.size() == 2) {
            states.at(static_cast<size_t>(g.rank)) = m[1];
        } else if (m[0] == "states") {
            message reply{"states"};
            reply.insert(reply.end(), states.begin(), states.end());
            g.socket.send(reply);
        } else if (m[0] == "waiting" && m.size() == 2) {
            tell_missing(g, m[1]);
        } else if (m[0] == "bye") {
            g.has_left = true;
        }
    }

    // gather, key, text, members...
    void gather(const guest &g, const message &m) {
        gathering &pending = open[m[1]];
        if (pending.members.empty())
            for (size_t i = 3; i < m.size(); ++i) pending.members.push_back(std::stoi(m[i]));
        pending.texts[g.rank] = m[2];
        if (pending.texts.size() < pending.members.size()) return;
        message reply{"all", m[1]};
        for (const int member : pending.members) reply.push_back(pending.texts[member]);
        for (const auto &other : guests)
            if (pending.texts.count(other.rank)) other.socket.send(reply);
        open.erase(m[1]);
    }

    void tell_missing(const guest &g, const std::string &key) {
        message reply{"missing", key};
        if (const auto position = open.find(key); position != open.end())
            for (const int member : position->second.members)
                if (!position->second.texts.count(member)) reply.push_back(std::to_string(member));
        g.socket.send(reply);
    }

    void tell_all(const message &m) {
        for (const auto &g : guests)
            if (!g.is_over) g.socket.send(m);
    }

    Socket listener;
    std::vector<guest> guests;
    std::vector<std::string> states;
    std::map<std::string, gathering> open;
};

}  // namespace

// Lives as long as the process: others may still send after this rank has finished.
void start_hub(int port, int size) {
    auto *hub = new Hub(Socket::listening(port), size);
    std::thread([hub] { hub->serve(); }).detach();
}

}  // namespace sycl_dnn
