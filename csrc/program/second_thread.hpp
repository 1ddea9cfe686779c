// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sycl_dnn {

// A second thread that takes parts of the work of a host sequence.
//
// It sleeps until a sequence opens a session, and looks for work until some microseconds after the
// session's end, so that sequences that follow each other need not wake it. A part that it has not
// taken is computed by the thread of the sequence, which never waits for it to wake up.
class SecondThread {
  public:
    // A session of the calling thread if the work is worth it, and no other thread has one.
    SecondThread(bool is_wanted, bool is_short);
    ~SecondThread();
    SecondThread(const SecondThread &) = delete;

    // Calls f(i) once for each i below n, some in the second thread if the caller has a session.
    template <class F>
    static void each(int64_t n, const F &f) {
        const auto call = [](const void *of, int64_t i) { (*static_cast<const F *>(of))(i); };
        run(n, call, &f);
    }

  private:
    using function = void (*)(const void *, int64_t);
    static void run(int64_t n, function call, const void *of);

    bool is_open = false;
};

}  // namespace sycl_dnn
