// SPDX-License-Identifier: Apache-2.0
#include "distributed/control_link.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace sycl_dnn {

using namespace std::chrono_literals;

std::string gone_words(const std::pair<int, std::string> &gone) {
    return "rank " + std::to_string(gone.first) + " has " + gone.second;
}

ControlLink::ControlLink(const std::string &host, int port, int rank, int size, double timeout)
    : rank(rank), size(size), socket(Socket::connected(host, port, timeout)) {
    socket.send({"hello", std::to_string(rank)});
}

void ControlLink::note(const message &m) {
    const std::lock_guard<std::mutex> lock(guard);
    if (m[0] == "all")
        answers[m[1]] = message(m.begin() + 2, m.end());
    else if (m[0] == "missing")
        missing[m[1]] = message(m.begin() + 2, m.end());
    else if (m[0] == "states")
        reported_states = message(m.begin() + 1, m.end());
    else if (m[0] == "gone")
        gone[std::stoi(m[1])] = m[2];
    changed.notify_all();
}

void ControlLink::read() {
    message m;
    while (socket.receive())
        while (socket.take(m))
            if (m.size() > 0) note(m);
    const std::lock_guard<std::mutex> lock(guard);
    is_hub_gone = true;
    gone.emplace(0, "died");
    changed.notify_all();
}

std::optional<std::pair<int, std::string>> ControlLink::first_gone(
    const std::vector<int> &members) {
    const std::lock_guard<std::mutex> lock(guard);
    for (const int member : members)
        if (const auto position = gone.find(member); position != gone.end() && member != rank)
            return *position;
    return {};
}

static std::string listed(const message &ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + ranks[i];
    return text;
}

static std::string in_seconds(double time) {
    std::string text = std::to_string(time);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " s";
}

std::string ControlLink::missing_words(std::unique_lock<std::mutex> &lock, const std::string &key,
                                       double timeout) {
    missing.erase(key);
    lock.unlock();
    {
        const std::lock_guard<std::mutex> turn(sending);
        socket.send({"waiting", key});
    }
    lock.lock();
    changed.wait_for(lock, 2s, [&] { return missing.count(key) || is_hub_gone; });
    const message ranks = missing.count(key) ? missing[key] : message{"0"};
    return listed(ranks) + " did not come within " + in_seconds(timeout);
}

std::vector<std::string> ControlLink::gather(const std::string &key,
                                             const std::vector<int> &members,
                                             const std::string &text, double timeout,
                                             const std::string &about) {
    message m{"gather", key, text};
    for (const int member : members) m.push_back(std::to_string(member));
    {
        const std::lock_guard<std::mutex> turn(sending);
        socket.send(m);
    }
    const auto is_answered = [&] { return answers.count(key) > 0; };
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout);
    std::unique_lock<std::mutex> lock(guard);
    while (!is_answered()) {
        for (const int member : members)
            if (const auto position = gone.find(member); position != gone.end()) {
                // It may have sent its part before it ended.
                if (changed.wait_for(lock, 200ms, is_answered)) break;
                throw std::runtime_error(about + ": " + gone_words(*gone.find(member)));
            }
        if (is_answered()) break;
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error(about + ": " + missing_words(lock, key, timeout));
        changed.wait_for(lock, 100ms);
    }
    auto texts = std::move(answers[key]);
    answers.erase(key);
    return texts;
}

void ControlLink::tell_state(const std::string &text) {
    if (text == state) return;
    state = text;
    const std::lock_guard<std::mutex> turn(sending);
    socket.send({"state", text});
}

std::optional<std::vector<std::string>> ControlLink::states(double timeout) {
    {
        const std::lock_guard<std::mutex> turn(sending);
        socket.send({"states"});
    }
    std::unique_lock<std::mutex> lock(guard);
    changed.wait_for(lock, std::chrono::duration<double>(timeout),
                     [this] { return reported_states || is_hub_gone; });
    return std::exchange(reported_states, {});
}

void ControlLink::leave() {
    const std::lock_guard<std::mutex> turn(sending);
    socket.send({"bye"});
}

std::shared_ptr<ControlLink> make_link(const std::string &host, int port, int rank, int size,
                                       double timeout) {
    auto link = std::make_shared<ControlLink>(host, port, rank, size, timeout);
    std::thread([link] { link->read(); }).detach();
    return link;
}

}  // namespace sycl_dnn
