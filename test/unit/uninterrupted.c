/* SPDX-License-Identifier: MIT */
/* Handlers of signals and cancellation wait until a call of the library has ended; a lock knows its
 * owner. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <spex/functions.h>
#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/watch.h>

#include "../check.h"
#include "../children.h"
#include "base/lock.h"
#include "base/uninterrupted.h"

static volatile sig_atomic_t handled;

static void handle(int signal) {
    (void)signal;
    handled++;
}

static void handler_set(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    assert_int_equal(sigaction(signal, &action, NULL), 0);
}

TEST(a_handler_runs_when_the_section_has_ended) {
    struct spex_uninterrupted outer, inner;
    handler_set(SIGTERM, handle);
    handled = 0;
    spex_uninterrupted_begin(&outer);
    spex_uninterrupted_begin(&inner);
    raise(SIGTERM);
    spex_uninterrupted_end(&inner);
    assert_int_equal(handled, 0);
    errno = EPIPE;
    spex_uninterrupted_end(&outer);
    assert_int_equal(handled, 1);
    handler_set(SIGTERM, SIG_DFL);
}

TEST(errno_is_as_before) {
    struct spex_uninterrupted before;
    errno = EXDEV;
    spex_uninterrupted_begin(&before);
    errno = 0;
    spex_uninterrupted_end(&before);
    assert_int_equal(errno, EXDEV);
}

/* How a child ends that gets the signal within a section. */
static int end_of_child(int signal) {
    const struct rlimit none = {0, 0};
    struct spex_uninterrupted before;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        handler_set(signal, SIG_DFL);
        spex_uninterrupted_begin(&before);
        raise(signal);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(what_ends_a_program_ends_it) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT};
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        assert_int_equal(end_of_child(signals[i]), signals[i]);
}

static int in_handler(int signal) {
    sigset_t blocked;
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    spex_uninterrupted_end(&before);
    return !sigismember(&blocked, signal);
}

TEST(what_a_thread_raises_itself_is_not_held) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        assert_true(in_handler(signals[i]));
    assert_false(in_handler(SIGALRM));
}

/* What the library calls while it starts a thread, with its locks taken. */
static int signal_within;

int sched_getscheduler(pid_t process) {
    (void)process;
    if (signal_within)
        raise(signal_within);
    return SCHED_OTHER;
}

static const struct spex_options options = {
    .size = sizeof(options), .probes = "*", .out = "/dev/null"};

COMPILED_ONCE static void work(void) {
    LAT_PROBE_BEGIN(1, 1);
    LAT_PROBE_END(1);
}

static void exit_handle(int signal) {
    (void)signal;
    exit(7);
}

static void fork_handle(int signal) {
    int status;
    (void)signal;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (waitpid(child, &status, 0) == child && status == 0)
        handled++;
}

/* How a process ends that gets the signal while it starts spex: 128 and the signal that ended it, or
 * its status. The alarm ends it where it hangs. */
static int status_of_start(void (*handler)(int)) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        handled = 0;
        handler_set(SIGUSR1, handler);
        signal_within = SIGUSR1;
        spex_start(&options);
        work();
        signal_within = 0;
        spex_stop();
        _exit(handled > 0 ? 3 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(a_handler_may_exit_while_spex_starts) {
    SKIP_WITHOUT_CHILDREN();
    assert_int_equal(status_of_start(exit_handle), 7);
}

TEST(a_handler_may_fork_while_spex_starts) {
    SKIP_WITHOUT_CHILDREN();
    assert_int_equal(status_of_start(fork_handle), 3);
}

/* Which step a thread has come to that would be cancelled at the first point for that. */
static int step;

COMPILED_ONCE static void probes_of_all_types(void) {
    uint64_t key = 1;
    LAT_PROBE_BEGIN(2, 1);
    CNT_PROBE_BEGIN(3, 1);
    TPT_PROBE_BEGIN(4, 1);
    LLC_PROBE_BEGIN(5, 1);
    FLT_PROBE_BEGIN(6, 1);
    CTXSW_PROBE_BEGIN(7, 1);
    PERFCNTR_PROBE_BEGIN(8, 1, 1);
    SNAPSHOT_PROBE(9, 1, key);
    SPAN_PROBE_BEGIN(10, 1, key);
    SPAN_PROBE_END(10, key);
    PERFCNTR_PROBE_END(8);
    CTXSW_PROBE_END(7);
    FLT_PROBE_END(6);
    LLC_PROBE_END(5);
    TPT_PROBE_END(4);
    CNT_PROBE_END(3);
    LAT_PROBE_END(2);
}

static void status_get(void) {
    struct spex_status status = {.size = sizeof(status)};
    (void)spex_status_get(&status);
}

static void describe(void) {
    char text[128];
    (void)spex_describe(SPEX_FLT, 0, text, sizeof(text));
}

static void start(void) {
    (void)spex_start(&options);
}

static void set(void) {
    (void)spex_set("*@2");
}

static void set_for(void) {
    (void)spex_set_for("+*", 10);
}

static void poll_once(void) {
    (void)spex_poll();
    (void)spex_poll_descriptor();
}

static void counter_named(void) {
    (void)spex_perfcntr_set_name(1, "PERF_COUNT_SW_CPU_CLOCK");
}

static void watch(void) {
    struct spex_watch_account account = {.size = sizeof(account)};
    (void)spex_watch_look(&account);
    (void)spex_watch_stop();
}

static void stop(void) {
    (void)spex_stop();
}

static void dump(void) {
    (void)spex_dump("nobody");
}

static void (*const steps[])(void) = {
    counter_named,
    start,
    probes_of_all_types,
    set,
    probes_of_all_types,
    set_for,
    status_get,
    describe,
    dump,
    poll_once,
    watch,
    stop,
    start,
    stop,
};

/* Cancellation waits for the thread's next point. */
static void *run_cancelled(void *arg) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (step = 0; step < (int)COUNT_OF(steps); step++)
        steps[step]();
    pthread_testcancel();
    return arg;
}

TEST(no_function_and_no_probe_is_a_point_of_cancellation) {
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, run_cancelled, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(step, COUNT_OF(steps));
}

TEST(a_lock_knows_its_owner) {
    struct spex_lock lock = SPEX_LOCK_FREE;
    int status;
    assert_false(spex_lock_is_mine(&lock));
    spex_lock_take(&lock);
    assert_true(spex_lock_is_mine(&lock));
    assert_false(spex_lock_try(&lock));
    pid_t child = fork();
    if (child == 0) {
        bool mine = spex_lock_is_mine(&lock);
        spex_lock_reset(&lock);
        _exit(mine && spex_lock_try(&lock) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    spex_lock_give(&lock);
    assert_false(spex_lock_is_mine(&lock));
    assert_true(spex_lock_take_soon(&lock));
    assert_false(spex_lock_take_soon(&lock));
    spex_lock_give(&lock);
}

#ifndef NDEBUG
static void take_twice(void) {
    struct spex_lock lock = SPEX_LOCK_FREE;
    spex_lock_take(&lock);
    spex_lock_take(&lock);
}

static void give_unowned(void) {
    struct spex_lock lock = SPEX_LOCK_FREE;
    spex_lock_give(&lock);
}

TEST(a_build_for_debugging_aborts_where_a_lock_is_misused) {
    static void (*const misuses[])(void) = {take_twice, give_unowned};
    const struct rlimit none = {0, 0};
    for (size_t i = 0; i < COUNT_OF(misuses); i++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            setrlimit(RLIMIT_CORE, &none);
            alarm(60);
            misuses[i]();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}
#endif
