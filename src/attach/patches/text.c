/* SPDX-License-Identifier: MIT */
/* The first thread is stopped first, unless it has ended: no two commands trace it at a time. A thread that is stopped makes no
 * new one: all are stopped when a look at them finds none that is new. */
#define _GNU_SOURCE
#include "attach/patches/text.h"

#include <errno.h>
#include <string.h>

#ifdef __x86_64__

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/slots/stops.h"
#include "attach/slots/unfinished.h"
#include "attach/tasks/beside.h"
#include "base/clock.h"

static const double stop_seconds = 0.1;
static const long pause_ns = 1000000;

/* Bytes of stack that are looked through at most; and what is told of an entry of a directory. */
#define STACK_BYTES_MAX (UINT64_C(1) << 27)
enum { ENTRY_LENGTH = 16, ENTRY_NAME = 19, WORDS = 512 };

static int open_of(pid_t process, const char *what) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, what);
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

static bool is_known(const struct spex_text *text, pid_t thread) {
    for (unsigned t = 0; t < text->thread_count; t++)
        if (text->threads[t].thread == thread)
            return true;
    return false;
}

/* The first thread of a process stays so until the others end. */
static bool has_ended(pid_t thread) {
    char line[128] = "";
    int fd = open_of(thread, "stat");
    ssize_t got = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    if (fd >= 0)
        close(fd);
    const char *name_end = strrchr(line, ')');
    return got > 0 && name_end && strchr("ZX", name_end[1] ? name_end[2] : '-');
}

/* Traces a thread, and asks it to stop. */
static int hold(struct spex_text *text, pid_t thread) {
    if (is_known(text, thread) || has_ended(thread))
        return 0;
    if (text->thread_count == SPEX_TEXT_THREADS_MAX)
        return -E2BIG;
    if (spex_stop_doing(text->process, thread) == SPEX_STOP_NOTICES)
        return -EAGAIN;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
        return errno == ESRCH ? 0 : -EAGAIN;
    text->threads[text->thread_count++] = (struct spex_text_thread){.thread = thread, .status = -1};
    return ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0 ? 0 : -EAGAIN;
}

/* Those of one reading of the directory. */
static int hold_listed(struct spex_text *text, long bytes) {
    int err = 0;
    for (long at = 0; !err && at + ENTRY_NAME < bytes;) {
        const char *entry = text->listing + at;
        uint16_t length;
        memcpy(&length, entry + ENTRY_LENGTH, sizeof(length));
        pid_t thread = (pid_t)strtol(entry + ENTRY_NAME, NULL, 10);
        err = thread > 0 ? hold(text, thread) : 0;
        at += length ? length : bytes;
    }
    return err;
}

static int hold_all(struct spex_text *text) {
    int fd = open_of(text->process, "task"), err = fd < 0 ? -ESRCH : 0;
    long got = 0;
    while (!err && (got = syscall(SYS_getdents64, fd, text->listing, sizeof(text->listing))) > 0)
        err = hold_listed(text, got);
    if (fd >= 0)
        close(fd);
    return err ? err : (int)got;
}

/* Its stack pointer, and whether it is in bytes that are changed. */
static int look_at(struct spex_text *text, struct spex_text_thread *one) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, one->thread, NULL, &registers) != 0)
        return -ESRCH;
    uint64_t before = registers.rax;
    spex_stop_restart(&registers);
    if (registers.rax != before ||
        spex_unfinished_go_on(one->thread, text->memory, text->unfinished, &registers))
        ptrace(PTRACE_SETREGS, one->thread, NULL, &registers);
    one->stack = registers.rsp;
    for (size_t c = 0; c < text->count; c++) {
        const struct spex_text_change *change = &text->changes[c];
        if (change->wanted && registers.rip > change->address &&
            registers.rip - change->address < change->bytes)
            return -EAGAIN;
    }
    return 0;
}

static int stop_new(struct spex_text *text) {
    int err = 0;
    for (unsigned t = 0; t < text->thread_count; t++) {
        struct spex_text_thread *one = &text->threads[t];
        if (one->status >= 0)
            continue;
        one->status = spex_stop_wait(one->thread, stop_seconds);
        int seen = one->status < 0 ? -EAGAIN : look_at(text, one);
        err = err ? err : seen;
    }
    return err;
}

static int stop_held(struct spex_text *text, int err) {
    int stopped = stop_new(text);
    return err ? err : stopped;
}

static int stop_all(struct spex_text *text) {
    int err = stop_held(text, hold(text, text->process));
    unsigned before;
    do {
        before = text->thread_count;
        err = err ? err : stop_held(text, hold_all(text));
    } while (!err && text->thread_count > before);
    return err;
}

static void release_all(struct spex_text *text) {
    for (unsigned t = 0; t < text->thread_count; t++)
        spex_stop_let_go(text->threads[t].thread, text->threads[t].status);
    text->thread_count = 0;
}

/* A line of /proc/PID/maps: the stacks of threads end with what is mapped around their stack pointers. */
static void take_mapping(struct spex_text *text, const char *line) {
    char *rest;
    uint64_t start = strtoull(line, &rest, 16),
             end = *rest == '-' ? strtoull(rest + 1, NULL, 16) : 0;
    for (unsigned t = 0; t < text->thread_count; t++)
        if (text->threads[t].stack >= start && text->threads[t].stack < end)
            text->threads[t].stack_end = end;
}

static int find_stacks(struct spex_text *text) {
    int fd = text->thread_count ? open_of(text->threads[0].thread, "maps") : -1;
    size_t kept = 0;
    ssize_t got;
    if (fd < 0)
        return -ESRCH;
    while ((got = read(fd, text->listing + kept, sizeof(text->listing) - 1 - kept)) > 0) {
        char *line = text->listing, *end;
        text->listing[kept + (size_t)got] = '\0';
        for (; (end = strchr(line, '\n')); line = end + 1)
            take_mapping(text, line);
        kept = strlen(line);
        memmove(text->listing, line, kept);
    }
    close(fd);
    return 0;
}

static bool leads_inside(const struct spex_text *text, uint64_t word) {
    for (size_t c = 0; c < text->count; c++)
        if (text->changes[c].wanted && word > text->changes[c].address &&
            word - text->changes[c].address < text->changes[c].bytes)
            return true;
    return false;
}

/* What a handler returns to is in its frame. */
static int look_through(const struct spex_text *text, const struct spex_text_thread *one) {
    uint64_t words[WORDS], at = one->stack & ~UINT64_C(7);
    if (one->stack_end - at > STACK_BYTES_MAX || !one->stack_end)
        return -EAGAIN;
    while (at < one->stack_end) {
        size_t left = one->stack_end - at, wanted = left < sizeof(words) ? left : sizeof(words);
        if (pread(text->memory, words, wanted, (off_t)at) != (ssize_t)wanted)
            return -EAGAIN;
        for (size_t w = 0; w < wanted / sizeof(words[0]); w++)
            if (leads_inside(text, words[w]))
                return -EAGAIN;
        at += wanted;
    }
    return 0;
}

static int look_through_all(struct spex_text *text) {
    bool any = false;
    for (size_t c = 0; c < text->count; c++)
        any |= text->changes[c].wanted && text->changes[c].bytes > 1;
    int err = any ? find_stacks(text) : 0;
    for (unsigned t = 0; any && !err && t < text->thread_count; t++)
        err = look_through(text, &text->threads[t]);
    return err;
}

/* The bytes are in one page: the kernel copies them at once, or not at all. When the command has been killed, who takes its
 * changes back waits until the threads are let go. */
static int write_all(const struct spex_text *text) {
    int err = text->command && syscall(SYS_getppid) != text->command ? -ECANCELED : 0;
    for (size_t c = 0; !err && c < text->count; c++) {
        struct spex_text_change *change = &text->changes[c];
        uint8_t there[SPEX_PATCH_BYTES];
        if (!change->wanted ||
            pread(text->memory, there, sizeof(there), (off_t)change->address) != sizeof(there) ||
            memcmp(there, change->from, sizeof(there)) != 0)
            continue;
        change->made = pwrite(text->memory, change->to, sizeof(change->to),
                              (off_t)change->address) == sizeof(change->to);
        err = change->made ? err : -EACCES;
    }
    return err;
}

static int change(struct spex_text *text) {
    for (size_t c = 0; c < text->count; c++)
        text->changes[c].made = false;
    text->thread_count = 0;
    int err = stop_all(text);
    err = err ? err : look_through_all(text);
    err = err ? err : write_all(text);
    release_all(text);
    return err;
}

/* What a process traces is let go when it ends: one that does nothing else leaves no thread that has not stopped in time. */
static int change_apart(void *user) {
    syscall(SYS_setsid);
    return change(user);
}

int spex_text_change(struct spex_text *text, double seconds) {
    const struct timespec pause = {.tv_nsec = pause_ns};
    double end = spex_clock_seconds(CLOCK_MONOTONIC) + seconds;
    int err;
    while ((err = spex_beside_apart(change_apart, text, &text->used)) == -EAGAIN &&
           spex_clock_seconds(CLOCK_MONOTONIC) < end)
        nanosleep(&pause, NULL);
    return err;
}

#else

int spex_text_change(struct spex_text *text, double seconds) {
    (void)text;
    (void)seconds;
    return -ENOTSUP;
}

#endif

const char *spex_text_error(int err) {
    switch (err) {
    case -EAGAIN:
        return "its threads cannot all be stopped unnoticed";
    case -E2BIG:
        return "it has too many threads to stop them all";
    case -EINTR:
        return "the process that changes its code was killed";
    case -ESRCH:
        return "the program has ended";
    case -ENOTSUP:
        return "this processor's code is not known";
    default:
        return strerror(-err);
    }
}
