/* SPDX-License-Identifier: MIT */
/* Probes that do not count events make no system call on the program's thread but the one that wakes
 * a collector, so a sandbox that forbids all others does not harm a program whose probes are
 * switched on: in threads that have made records before and in others, however they are sampled. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "../check.h"
#include "places.h"

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

enum { EXECUTIONS = 20000 };

#define WITHOUT_COUNTERS "40:cnt%s,40:lat%s,40:tpt%s,40:snapshot%s,40:kernel%s,40:span%s"

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* The system calls that the page of programs tells, and those that end the thread. Others come to a
 * handler, which notes the first. */
static bool sandbox_enter(void) {
    static struct sock_filter calls[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_futex),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const struct sock_fprog program = {COUNT_OF(calls), calls};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int forbidden; /* the number of the first that was not allowed, and 1 */

/* The call fails as where the system refuses it. */
static void forbidden_note(int signal, siginfo_t *info, void *context) {
    mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
    int none = 0;
    (void)signal;
    spex_cas_relaxed(&forbidden, &none, info->si_syscall + 1);
#if defined(__x86_64__)
    registers->gregs[REG_RAX] = -EPERM;
#else
    registers->regs[0] = (unsigned long long)-EPERM;
#endif
}

/* The thread, and where it waits for what the test does. */
static struct {
    pthread_barrier_t is_in, goes_on;
    bool warm, confined;
} worker;

COMPILED_ONCE static void without_counters(void) {
    place_cnt();
    place_lat();
    place_tpt();
    place_snapshot();
    place_kernel();
    place_span();
}

COMPILED_ONCE static void nested(void) {
    SPEX_LAT_SCOPE(PLACES_ID, 1);
    SPEX_KERNEL_SCOPE(PLACES_ID, 1, 1, 2);
    without_counters();
}

/* Ends by the system call alone: what libc does at a thread's end may be forbidden. */
static void *worker_run(void *arg) {
    (void)arg;
    if (worker.warm)
        nested();
    worker.confined = sandbox_enter();
    pthread_barrier_wait(&worker.is_in);
    pthread_barrier_wait(&worker.goes_on);
    for (unsigned e = 0; worker.confined && e < EXECUTIONS; e++)
        nested();
    syscall(SYS_exit, 0);
    return NULL;
}

static void selection_write(char *text, size_t bytes, const char *sampling) {
    snprintf(text, bytes, WITHOUT_COUNTERS, sampling, sampling, sampling, sampling, sampling,
             sampling);
}

/* The probes go on when the thread is in its sandbox; before, too, where it is to be warm. */
static void confined_run(const char *sampling, const char *budget, bool warm) {
    char selection[256];
    pthread_t thread;
    const struct spex_options options = {
        .size = sizeof(options), .out = "/dev/null", .ring_records = 1024, .budget = budget};
    selection_write(selection, sizeof(selection), sampling);
    worker.warm = warm;
    pthread_barrier_init(&worker.is_in, NULL, 2);
    pthread_barrier_init(&worker.goes_on, NULL, 2);
    assert_int_equal(spex_start(&options), 0);
    if (warm)
        assert_true(spex_set(selection) > 0);
    assert_int_equal(pthread_create(&thread, NULL, worker_run, NULL), 0);
    pthread_barrier_wait(&worker.is_in);
    assert_true(spex_set(selection) > 0);
    pthread_barrier_wait(&worker.goes_on);
    pthread_join(thread, NULL);
    spex_stop();
    if (!worker.confined) {
        print_message("SKIP: no seccomp here\n");
        skip();
    }
    if (forbidden)
        fail_msg("'%s'%s%s, %s: system call %d", sampling, budget ? " with a budget of " : "",
                 budget ? budget : "", warm ? "warm" : "cold", forbidden - 1);
}

TEST(no_probe_is_forbidden) {
    static const char *const samplings[] = {"", "@100", "@~100", "@100x4", "@poll"};
    const struct sigaction noted = {.sa_sigaction = forbidden_note, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGSYS, &noted, NULL), 0);
    for (unsigned warm = 0; warm < 2; warm++)
        for (unsigned s = 0; s < COUNT_OF(samplings); s++)
            confined_run(samplings[s], NULL, warm);
    for (unsigned warm = 0; warm < 2; warm++)
        confined_run("", "2%", warm);
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    printf("SKIP: sanitizers make system calls of their own\n");
    return 77;
#endif
    return tests_run(NULL, NULL);
}
