// SPDX-License-Identifier: Apache-2.0
// Lets a wheel made with a newer g++ and glibc run with those of manylinux_2_28, as dpctl's and
// oneDNN's wheels do (GLIBC_2.28, GLIBCXX_3.4.25, CXXABI_1.3.11). Compiled into wheels only
// (SYCL_DNN_OLDER_SYMBOLS): the linker turns a call of `dlopen` into one of `__wrap_dlopen`
// (--wrap in CMakeLists.txt), which asks for the version of the symbol that both have. What older
// libraries have under no name is defined here, hidden.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>
#include <new>

#define HIDDEN __attribute__((visibility("hidden")))

// A function of glibc whose version changed when libpthread and libdl became part of libc.
#define OLDER(result, name, parameters, arguments)            \
    __asm__(".symver older_" #name "," #name "@GLIBC_2.2.5"); \
    extern "C" result older_##name parameters;                \
    extern "C" HIDDEN result __wrap_##name parameters;        \
    extern "C" result __wrap_##name parameters { return older_##name arguments; }

OLDER(void *, dlopen, (const char *file, int mode), (file, mode))
OLDER(void *, dlsym, (void *handle, const char *name), (handle, name))
OLDER(char *, dlerror, (), ())
OLDER(int, pthread_once, (pthread_once_t * flag, void (*run)()), (flag, run))
OLDER(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
OLDER(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))

// 0: "there may be several threads", which is always right. glibc 2.32 added it for speed.
extern "C" {
HIDDEN char __libc_single_threaded = 0;

// Since glibc 2.30. A return before the deadline is a spurious wake-up, which callers expect.
HIDDEN int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  clockid_t clock, const timespec *deadline) {
    timespec now, wall;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &wall);
    const long second = 1000000000;
    const long nanoseconds = wall.tv_nsec + deadline->tv_nsec - now.tv_nsec;
    wall.tv_sec += deadline->tv_sec - now.tv_sec;
    wall.tv_nsec = nanoseconds;
    if (wall.tv_nsec < 0) wall = {wall.tv_sec - 1, wall.tv_nsec + second};
    if (wall.tv_nsec >= second) wall = {wall.tv_sec + 1, wall.tv_nsec - second};
    const int status = pthread_cond_timedwait(condition, mutex, &wall);
    if (status != ETIMEDOUT) return status;
    clock_gettime(clock, &now);
    const bool late = now.tv_sec != deadline->tv_sec ? now.tv_sec > deadline->tv_sec
                                                     : now.tv_nsec >= deadline->tv_nsec;
    return late ? ETIMEDOUT : 0;
}
}

namespace std {
HIDDEN void __throw_bad_array_new_length();
void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std

// std::condition_variable::wait, which became noexcept.
#define WAIT "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
__asm__(".symver older_wait," WAIT "@GLIBCXX_3.4.11");
extern "C" void older_wait(void *self, void *lock);
HIDDEN void wrapped_wait(void *self, void *lock) __asm__("__wrap_" WAIT);
void wrapped_wait(void *self, void *lock) { older_wait(self, lock); }

// std::exception_ptr counts in two functions that newer headers call and older libraries keep to
// themselves: a copy that is never destroyed adds one, the end of a copy that was never made
// takes one.
#define POINTER "_ZNSt15__exception_ptr13exception_ptr"
__asm__(".symver older_copy," POINTER "C1ERKS0_@CXXABI_1.3.3");
__asm__(".symver older_end," POINTER "D1Ev@CXXABI_1.3.3");
extern "C" void older_copy(void *self, const void *from);
extern "C" void older_end(void *self);
HIDDEN void add_reference(void *self) __asm__(POINTER "9_M_addrefEv");
HIDDEN void release_reference(void *self) __asm__(POINTER "10_M_releaseEv");
void add_reference(void *self) {
    void *copy;
    older_copy(&copy, self);
}
void release_reference(void *self) {
    older_end(self);
    *static_cast<void **>(self) = nullptr;
}
