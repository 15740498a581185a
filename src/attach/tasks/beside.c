/* SPDX-License-Identifier: MIT */
/* The other process shares this one's memory and runs on a stack of its own. It makes system calls alone: errno is that of the
 * thread which it was made by, and which waits for it, or closes descriptors meanwhile. */
#define _GNU_SOURCE
#include "attach/tasks/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { STACK_BYTES = 1 << 16 };

/* 0: there is none, as there is no room. No signal but SIGKILL ends it. */
static pid_t start(int (*run)(void *user), void *user, int flags, void **stack) {
    sigset_t all, before;
    *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (*stack == MAP_FAILED) {
        *stack = NULL;
        return 0;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t process = clone(run, (char *)*stack + STACK_BYTES, CLONE_VM | flags, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return process < 0 ? 0 : process;
}

/* Returns the seconds of CPU time that it has taken. */
static double wait_for(pid_t process, void *stack) {
    struct rusage used = {.ru_utime = {0}};
    pid_t got = 0;
    while (process && (got = wait4(process, NULL, __WALL, &used)) < 0 && errno == EINTR)
        ;
    if (stack)
        munmap(stack, STACK_BYTES);
    return got > 0 ? (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6
                   : 0;
}

/* The kernel's calls: those of the C library have an errno each, and may wait for other threads. */
static bool take(int event, int end) {
    struct pollfd either[] = {{.fd = event, .events = POLLIN}, {.fd = end, .events = POLLIN}};
    uint64_t count;
    while (syscall(SYS_ppoll, either, 2, NULL, NULL, 0) < 0)
        ;
    return either[0].revents && syscall(SYS_read, event, &count, sizeof(count)) == sizeof(count);
}

static void give(int event) {
    const uint64_t one = 1;
    syscall(SYS_write, event, &one, sizeof(one));
}

enum { PARTS = 32 };

/* Descriptors that processes end with; NULL: all numbers. Of two pipes nothing is read but the end: who has ended closes the
 * gate for them, and they close `ready` when they hold nothing else. */
struct sharing {
    const int *descriptors;
    int gate[2], ready[2];
};

/* Those that one of them ends with. */
struct share {
    const struct sharing *of;
    size_t from, to;
    pid_t process;
    void *stack;
};

static int nearer(int one, int from, int next) {
    return one >= from && one < next ? one : next;
}

/* The lowest number from there on that is its own, or of what it needs; INT_MAX: none. */
static int next_kept(const struct share *share, int from) {
    int next = nearer(share->of->gate[0], from, nearer(share->of->ready[1], from, INT_MAX));
    for (size_t d = share->from; d < share->to; d++)
        next = nearer(share->of->descriptors ? share->of->descriptors[d] : (int)d, from, next);
    return next;
}

/* Closes all descriptors but these. */
static void keep(const int *kept, size_t count) {
    for (int from = 0, next; from < INT_MAX; from = next < INT_MAX ? next + 1 : next) {
        next = INT_MAX;
        for (size_t k = 0; k < count; k++)
            next = nearer(kept[k], from, next);
        if (next > from)
            syscall(SYS_close_range, from, next - 1, 0);
    }
}

/* The other process does not change what it has shared. A process that is killed at close_range leaves what it was the last to
 * hold, as it may be where all others have ended meanwhile: hence a session of its own. */
static int hold_share(void *user) {
    const struct share *share = user;
    const struct sharing *of = share->of;
    char byte;
    syscall(SYS_setsid);
    for (int from = 0, kept; from < INT_MAX; from = kept < INT_MAX ? kept + 1 : kept) {
        kept = next_kept(share, from);
        if (kept > from)
            syscall(SYS_close_range, from, kept - 1, 0);
    }
    syscall(SYS_close, of->gate[1]);
    syscall(SYS_close, of->ready[0]);
    syscall(SYS_close, of->ready[1]);
    syscall(SYS_read, of->gate[0], &byte, 1);
    syscall(SYS_exit, 0);
    return 0;
}

static void close_end(int end) {
    if (end >= 0)
        syscall(SYS_close, end);
}

static bool open_pipe(int *ends) {
    ends[0] = ends[1] = -1;
    return syscall(SYS_pipe2, ends, O_CLOEXEC) == 0;
}

/* Starts a process for each share. The gate is to be closed. */
static void share_out(struct sharing *sharing, struct share *shares, size_t parts, size_t count) {
    size_t each = count / parts + 1;
    char byte;
    for (size_t p = 0; p < parts; p++) {
        size_t from = p * each < count ? p * each : count;
        shares[p] =
            (struct share){sharing, from, from + each < count ? from + each : count, 0, NULL};
        if (sharing->gate[0] >= 0 && shares[p].to > from)
            shares[p].process = start(hold_share, &shares[p], 0, &shares[p].stack);
    }
    close_end(sharing->ready[1]);
    if (sharing->ready[0] >= 0)
        syscall(SYS_read, sharing->ready[0], &byte, 1);
    close_end(sharing->ready[0]);
}

/* The kernel waits for some hundredths of a second after each that it removes: several processes do so at a time. What they do
 * not hold this one closes, since it is not being killed. */
static void end_in_parts(int highest) {
    struct sharing sharing = {.descriptors = NULL};
    struct share shares[PARTS];
    open_pipe(sharing.gate);
    open_pipe(sharing.ready);
    share_out(&sharing, shares, PARTS, (size_t)highest + 1);
    int gate = sharing.gate[1];
    if (gate > 0) {
        syscall(SYS_close_range, 0, gate - 1, 0);
        syscall(SYS_close_range, gate + 1, ~0U, 0);
    }
    syscall(SYS_exit, 0);
}

/* In a session of its own, as who kills this process may kill all of its group; and under a name of its own. */
static int make_calls(void *user) {
    struct spex_beside *beside = user;
    syscall(SYS_setsid);
    syscall(SYS_prctl, PR_SET_NAME, "spex-beside", 0, 0, 0);
    const int kept[] = {beside->wanted, beside->done, beside->end, beside->kept};
    bool wanted;
    if (beside->orphaned)
        keep(kept, sizeof(kept) / sizeof(kept[0]));
    while ((wanted = take(beside->wanted, beside->end)) && beside->call) {
        beside->result = beside->call(beside->argument);
        if (beside->result > beside->highest)
            beside->highest = beside->result;
        give(beside->done);
    }
    if (!wanted && beside->orphaned)
        beside->orphaned(beside->left);
    else if (!wanted)
        end_in_parts(beside->highest);
    syscall(SYS_exit, 0);
    return 0;
}

void spex_beside_open(struct spex_beside *beside) {
    spex_beside_open_for(beside, NULL, NULL, -1);
}

/* Descriptors are shared by processes that close all of them when this one has ended. */
void spex_beside_open_for(struct spex_beside *beside, void (*orphaned)(void *left), void *left,
                          int kept) {
    *beside = (struct spex_beside){.wanted = eventfd(0, EFD_CLOEXEC),
                                   .done = eventfd(0, EFD_CLOEXEC),
                                   .end = (int)syscall(SYS_pidfd_open, getpid(), 0),
                                   .ended = -1,
                                   .orphaned = orphaned,
                                   .left = left,
                                   .kept = kept};
    if (beside->wanted >= 0 && beside->done >= 0 && beside->end >= 0)
        beside->process = start(make_calls, beside, orphaned ? 0 : CLONE_FILES, &beside->stack);
    if (beside->process)
        beside->ended = (int)syscall(SYS_pidfd_open, beside->process, 0);
    if (beside->process && clock_getcpuclockid(beside->process, &beside->clock) != 0)
        beside->clock = CLOCK_PROCESS_CPUTIME_ID;
}

void spex_beside_close(struct spex_beside *beside) {
    const int descriptors[] = {beside->wanted, beside->done, beside->end, beside->ended};
    beside->call = NULL;
    if (beside->process)
        give(beside->wanted);
    wait_for(beside->process, beside->stack);
    for (size_t d = 0; d < 4; d++)
        if (descriptors[d] >= 0)
            close(descriptors[d]);
}

int spex_beside_call(struct spex_beside *beside, int (*call)(void *argument), void *argument) {
    if (!beside->process)
        return call(argument);
    beside->call = call;
    beside->argument = argument;
    give(beside->wanted);
    return take(beside->done, beside->ended) ? beside->result : -EINTR;
}

struct apart {
    int (*call)(void *argument);
    void *argument;
    int result;
};

static int make_call(void *user) {
    struct apart *apart = user;
    apart->result = apart->call(apart->argument);
    syscall(SYS_exit, 0);
    return 0;
}

int spex_beside_apart(int (*call)(void *argument), void *argument, double *used) {
    struct apart apart = {call, argument, -EINTR};
    void *stack;
    pid_t process = start(make_call, &apart, CLONE_FILES, &stack);
    *used += wait_for(process, stack);
    return process ? apart.result : -EAGAIN;
}

double spex_beside_used(const struct spex_beside *beside) {
    uint64_t ns = 0;
    return beside->process && spex_clock_read(beside->clock, &ns) == 0 ? (double)ns / 1e9 : 0;
}

static double end_shares(struct sharing *sharing, const int *descriptors, size_t count,
                         size_t parts) {
    struct share shares[PARTS];
    double used = 0;
    sharing->descriptors = descriptors;
    open_pipe(sharing->gate);
    share_out(sharing, shares, parts, count);
    for (size_t d = 0; d < count; d++)
        if (descriptors[d] >= 0)
            close(descriptors[d]);
    close_end(sharing->gate[0]);
    close_end(sharing->gate[1]);
    for (size_t p = 0; p < parts; p++)
        used += wait_for(shares[p].process, shares[p].stack);
    return used;
}

double spex_beside_end(const int *descriptors, size_t count) {
    struct sharing sharing = {.ready = {-1, -1}};
    return end_shares(&sharing, descriptors, count, 1);
}

double spex_beside_end_many(const int *descriptors, size_t count) {
    struct sharing sharing;
    open_pipe(sharing.ready);
    return end_shares(&sharing, descriptors, count, PARTS);
}
