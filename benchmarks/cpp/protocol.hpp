// SPDX-License-Identifier: Apache-2.0
// Line protocol between a Python benchmark and a twin: one command a line on stdin, one JSON
// object a line on stdout. Setup happens before the first reply, outside every timing.
//     info                           program, device, precision, versions, implementation names
//     check                          one step, then checksums of every output
//     quit                           ends the program (so does the end of stdin)
// The training programs add
//     run COUNT [DRAIN [POLL_US]]    {"ms": [one time per step], "drain": ..., "poll_us": ...}
//     profile REPEATS                median ms of each primitive, with a wait after each
// A failure replies {"error": "..."}.
#pragma once

#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "floor.hpp"

namespace floor_twin {

inline std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c < ' ' ? ' ' : c;
    }
    return out + "\"";
}

inline std::string json(const std::string &key, const std::string &value) {
    return quoted(key) + ": " + quoted(value);
}

inline std::string number_text(double value) {
    std::ostringstream out;
    out.precision(12);
    out << value;
    return std::isfinite(value) ? out.str() : "null";
}

inline std::string json(const std::string &key, double value) {
    return quoted(key) + ": " + number_text(value);
}

inline std::string json(const std::string &key, const std::vector<double> &values) {
    std::string text;
    for (const double v : values) text += (text.empty() ? "" : ", ") + number_text(v);
    return quoted(key) + ": [" + text + "]";
}

inline std::string json(Policy policy) {
    return json("drain", policy.drain) + ", " + json("poll_us", policy.poll_us);
}

// The words of a command line, read from left to right.
class Words {
  public:
    explicit Words(const std::string &line) : in_(line) {}

    std::string word(const std::string &what) {
        std::string text;
        if (!(in_ >> text)) throw std::invalid_argument("missing " + what);
        return text;
    }
    int number(const std::string &what) { return std::stoi(word(what)); }

    double real_or(const std::string &what, double otherwise) {
        return (in_ >> std::ws).eof() ? otherwise : std::stod(word(what));
    }
    Policy policy(Policy otherwise) {
        const int drain = int(real_or("drain", otherwise.drain));
        return {drain, real_or("poll_us", otherwise.poll_us)};
    }

  private:
    std::istringstream in_;
};

using Commands = std::map<std::string, std::function<std::string(Words &)>>;

inline std::string reply_to(const Commands &commands, const std::string &line) {
    try {
        Words words(line);
        const std::string name = words.word("command");
        const auto found = commands.find(name);
        if (found == commands.end()) throw std::invalid_argument("unknown command " + name);
        return found->second(words);
    } catch (const std::exception &error) {
        return json("error", error.what());
    }
}

inline int serve(const Commands &commands) {
    for (std::string line; std::getline(std::cin, line) && line != "quit";)
        std::cout << "{" << reply_to(commands, line) << "}" << std::endl;
    return 0;
}

inline std::string info(const Session &session, const std::string &program,
                        const std::string &precision) {
    const auto *v = dnnl::version();
    const std::string version =
        std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    return json("program", program) + ", " + json("precision", precision) + ", " +
           json("device", session.device_name()) + ", " +
           json("queue", session.queue.is_in_order() ? "in_order" : "out_of_order") + ", " +
           json("onednn", version) + ", " + json("compiler", __VERSION__);
}

// `program DEVICE [OPTION...]`: the options are single words, found by name.
class Options {
  public:
    Options(int argc, char **argv) : words_(argv + 1, argv + argc) {
        if (words_.empty()) throw std::invalid_argument("usage: twin cpu|gpu [options]");
    }
    const std::string &device() const { return words_.front(); }
    bool has(const std::string &name) const {
        for (const auto &word : words_)
            if (word == name) return true;
        return false;
    }

  private:
    std::vector<std::string> words_;
};

// Runs `body(options)`; a failure of the setup is the reply to the first command.
inline int run_main(int argc, char **argv, const std::function<int(const Options &)> &body) {
    try {
        return body(Options(argc, argv));
    } catch (const std::exception &error) {
        std::cout << "{" << json("error", error.what()) << "}" << std::endl;
        return 1;
    }
}

}  // namespace floor_twin
