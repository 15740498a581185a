/* SPDX-License-Identifier: MIT */
/* Counters while descriptors, locked memory, threads, forks and signal handlers come and go. */
#define SPEX_BUILDING /* so that the linker takes what is only referred to here */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <spex/probe.h>

#include "../check.h"
#include "counter_checks.h"
#include "counters/counters.h"
#include "counters/event.h"
#include "counters/prepare.h"

/* ---- no system calls ---- */

static volatile sig_atomic_t calls;

static void count_call(int signal) {
    (void)signal;
    calls++;
}

static void trap_system_calls(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = COUNT_OF(filter), .filter = filter};
    struct sigaction action = {.sa_handler = count_call, .sa_flags = SA_NODEFER};
    assert_int_equal(sigaction(SIGSYS, &action, NULL), 0);
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

static void check_calls(void) {
    static struct spex_thread_counters mine;
    static const enum spex_counter mapped[] = {SPEX_COUNTER_FAULTS, SPEX_COUNTER_SWITCHES};
    for (size_t i = 0; i < COUNT_OF(mapped); i++) {
        assert_int_equal(spex_counters_prepare(mapped[i]), 0);
        assert_true(read_now(&mine, mapped[i]).available);
        assert_non_null(mine.events[mapped[i]].word);
    }
    trap_system_calls();
    struct spex_reading reading;
    bool right = true;
    for (int i = 0; i < 100000; i++)
        for (size_t m = 0; m < COUNT_OF(mapped); m++) {
            right = right && spex_counter_ready(&mine, mapped[m]);
            spex_counter_read(&mine, mapped[m], &reading);
            right = right && reading.available;
        }
    int made = calls;
    (void)syscall(SYS_getppid); /* the trap is there */
    syscall(SYS_exit_group, right && made == 0 && calls == 1 ? 0 : 1);
}

TEST(no_system_call_to_read) {
    need_perf(false);
    in_child(check_calls);
}

/* ---- what goes missing ---- */

TEST(closed_descriptors) {
    struct spex_thread_counters mine = {0};
    int pipes[2];
    need_perf(false);
    prepare_some();
    assert_true(read_now(&mine, first_perfcntr).available);
    /* The program closes what it does not know; its own pipe gets the number. */
    int number = mine.events[first_perfcntr].descriptors[0];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(write(pipes[1], "hello", 5), 5);
    assert_int_equal(close(number), 0);
    assert_int_equal(dup2(pipes[0], number), number);

    struct spex_reading reading;
    errno = EXDEV;
    spex_counter_read(&mine, first_perfcntr, &reading);
    assert_int_equal(errno, EXDEV);
    assert_false(reading.available);
    assert_false(spex_counter_ready(&mine, first_perfcntr));
    assert_true(read_now(&mine, first_perfcntr).available);
    assert_int_not_equal(mine.events[first_perfcntr].descriptors[0], number);

    /* Once more; now the thread ends, and closes nothing of the program's. */
    int second = mine.events[first_perfcntr].descriptors[0];
    assert_int_equal(dup2(pipes[0], second), second);
    spex_counters_close(&mine);
    char text[8] = "";
    assert_int_equal(read(second, text, 2), 2);
    assert_int_equal(read(number, text + 2, 6), 3);
    assert_string_equal(text, "hello");
    close(number);
    close(second);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(event_descriptors(), 0);
}

/* Two events in a group, as for the cache, of which the program closes the second. */
TEST(a_group_that_is_torn) {
    static const struct spex_counter_plan plan = {
        .events = 2,
        .codes = {{.type = PERF_TYPE_SOFTWARE,
                   .config = PERF_COUNT_SW_PAGE_FAULTS,
                   .exclude = SPEX_EXCLUDE_KERNEL},
                  {.type = PERF_TYPE_SOFTWARE,
                   .config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
                   .exclude = SPEX_EXCLUDE_KERNEL}},
    };
    struct spex_event event = {0};
    struct spex_reading begin, end;
    uint64_t values[2];
    bool scaled;
    const char *step;
    need_perf(false);
    assert_int_equal(spex_event_open(&event, &plan, SPEX_WAY_READ, &step), 0);
    assert_int_equal(event_descriptors(), 2);
    spex_event_read(&event, SPEX_COUNTER_LLC, &begin);
    uint64_t before = by_getrusage(SPEX_COUNTER_FAULTS);
    touch_pages();
    uint64_t made = by_getrusage(SPEX_COUNTER_FAULTS) - before;
    spex_event_read(&event, SPEX_COUNTER_LLC, &end);
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_false(scaled);
    assert_true(made >= PAGES);
    /* The reading itself may touch a page or two. */
    assert_in_range(values[0], made, made + 10);
    assert_int_equal(values[1], values[0]);
    assert_true(spex_event_intact(&event));
    assert_int_equal(close(event.descriptors[1]), 0);
    spex_event_read(&event, SPEX_COUNTER_LLC, &end);
    assert_false(end.available);
    assert_false(spex_event_intact(&event));
    spex_event_release(&event);
    assert_int_equal(event_descriptors(), 0);
}

static void check_no_descriptors(void) {
    struct spex_thread_counters mine = {0};
    const struct rlimit none = {0, 0};
    prepare_some();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect_exact(&mine, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    assert_false(read_now(&mine, first_perfcntr).available);
    if (mine.events[SPEX_COUNTER_FAULTS].fallback) {
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 1);
        expect_text(SPEX_COUNTER_FAULTS, "; 1 threads fell back: Too many open files");
        assert_int_equal(spex_counter_fallbacks(first_perfcntr), 1);
    }
    spex_counters_close(&mine);
    assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 0);
}

TEST(no_descriptors_left) {
    in_child(check_no_descriptors);
}

static void check_no_memory(void) {
    enum { STATES = 4096 };
    struct spex_thread_counters *states = calloc(STATES, sizeof(*states));
    const struct rlimit none = {0, 0};
    assert_non_null(states);
    drop_privileges();
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
    /* What was prepared before may need privileges. */
    assert_int_equal(spex_counters_allow("fault-records,rusage"), 0);
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), 0);
    /* A thread may have several states; the kernel counts each. */
    int last = 0;
    while (last + 1 < STATES && !spex_counter_fallbacks(SPEX_COUNTER_FAULTS))
        (void)read_now(&states[last++], SPEX_COUNTER_FAULTS);
    if (perf_permits(false)) {
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 1);
        expect_text(SPEX_COUNTER_FAULTS, "1 threads fell back: Operation not permitted");
        expect_exact(&states[last - 1], SPEX_COUNTER_FAULTS, touch_pages, PAGES);
        expect_exact(&states[0], SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    }
    for (int i = 0; i < last; i++)
        spex_counters_close(&states[i]);
    assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 0);
    assert_int_equal(event_mappings(), 0);
    free(states);
}

TEST(no_memory_to_lock) {
    in_child(check_no_memory);
}

/* ---- forks and threads ---- */

static struct spex_thread_counters parents;
static struct spex_reading parents_reading;

static void check_fork(void) {
    uint64_t values[2];
    bool scaled;
    spex_thread_counters_fork_child(&parents);
    static const struct spex_thread_counters none;
    assert_memory_equal(&parents, &none, sizeof(none));
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
    struct spex_reading reading = read_now(&parents, SPEX_COUNTER_FAULTS);
    assert_false(spex_counter_delta(&parents_reading, &reading, values, &scaled));
    expect_exact(&parents, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    assert_true(read_now(&parents, SPEX_COUNTER_FAULTS).values[0] < 10 * PAGES);
    open_all(&parents);
    spex_counters_close(&parents);
    assert_int_equal(event_descriptors(), 0);
}

TEST(the_child_of_a_fork) {
    prepare_some();
    open_all(&parents);
    for (int i = 0; i < 10; i++)
        touch_pages();
    parents_reading = read_now(&parents, SPEX_COUNTER_FAULTS);
    in_child(check_fork);
    /* The parent's go on, and nothing of the child's is in them. */
    struct spex_reading reading = read_now(&parents, SPEX_COUNTER_FAULTS);
    assert_true(delta(&parents_reading, &reading) < PAGES);
    expect_exact(&parents, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    spex_counters_close(&parents);
}

static void *open_and_close(void *argument) {
    struct spex_thread_counters mine = {0};
    (void)argument;
    open_all(&mine);
    spex_counters_close(&mine);
    static const struct spex_thread_counters none;
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        assert_int_equal(mine.events[counter].source, none.events[counter].source);
    return NULL;
}

TEST(threads_leave_nothing) {
    prepare_some();
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, open_and_close, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        assert_int_equal(spex_counter_fallbacks(counter), 0);
}

/* ---- signal handlers ---- */

static struct spex_thread_counters handlers;
static unsigned long handled;

static void probe_in_handler(int signal) {
    (void)signal;
    struct spex_reading begin, end;
    int saved = errno;
    for (enum spex_counter counter = 0; counter <= first_perfcntr; counter++) {
        if (!spex_counter_ready(&handlers, counter))
            spex_counter_open(&handlers, counter);
        spex_counter_read(&handlers, counter, &begin);
        spex_counter_read(&handlers, counter, &end);
    }
    spex_fetch_add_relaxed(&handled, errno == saved);
}

struct target {
    pthread_t thread;
    int stop;
};

static void *send_signals(void *argument) {
    struct target *target = argument;
    while (!spex_load_relaxed(&target->stop))
        pthread_kill(target->thread, SIGUSR1);
    return NULL;
}

TEST(handlers_interrupt_everything) {
    struct target target = {.thread = pthread_self()};
    struct sigaction action = {.sa_handler = probe_in_handler, .sa_flags = SA_RESTART}, before;
    pthread_t sender;
    prepare_some();
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(pthread_create(&sender, NULL, send_signals, &target), 0);
    for (int i = 0; i < 300 || spex_load_relaxed(&handled) < 300; i++) {
        struct spex_reading reading;
        for (enum spex_counter counter = 0; counter <= first_perfcntr; counter++) {
            if (!spex_counter_ready(&handlers, counter))
                spex_counter_open(&handlers, counter);
            spex_counter_read(&handlers, counter, &reading);
            assert_true(reading.available || !spex_counter_cost(counter));
        }
        spex_counters_close(&handlers);
    }
    spex_store_relaxed(&target.stop, 1);
    assert_int_equal(pthread_join(sender, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    spex_counters_close(&handlers);
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
}
