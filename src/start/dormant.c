/* SPDX-License-Identifier: MIT */
/* A dormant program has no thread of the library. Once a command has called it, the next thread
 * that executes a probe starts the thread, in the middle of whatever the program does there. That is
 * allowed everywhere but in a handler of a signal, which may have interrupted the C library with its
 * heap half changed (signal_frame.h), and in a heap of the program's own, which the start of a
 * thread would call again. So a program is dormant only where the heap is the C library's.
 *
 * A command needs the right to write to the memory of the program: that of ptrace. */
#define _GNU_SOURCE
#include "start/dormant.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/process.h"
#include "base/service_thread.h"
#include "base/signal_frame.h"
#include "base/uninterrupted.h"
#include "serve/own_profile.h"
#include "site/provider.h"
#include "site/registry.h"
#include "start/life_state.h"
#include "wire/dormant.h"

/* Weak: before glibc 2.34 the function is in libdl, and a statically linked program has none. */
#pragma weak dlsym

/* Commands find it by the section. The state is relaxed: threads agree on it by itself, and commands
 * look at the rest when the socket is there. */
__attribute__((section(SPEX_DORMANT_SECTION), used,
               aligned(64))) static struct spex_dormant dormant = {
    .magic = {'s', 'p', 'e', 'x', 'd', 'o', 'r', 'm'}, .version = SPEX_DORMANT_VERSION};

/* Executions since the program was called, while the thread could not be started. */
static uint32_t attempts;

/* The first attempts, then fewer and fewer, then one in so many: an attempt looks through the
 * stack. */
enum { ATTEMPTS_APART = 4096 };

static bool is_attempt_due(uint32_t executions) {
    return !(executions & (executions - 1)) || executions % ATTEMPTS_APART == 0;
}

/* A program that has executed none of its probes for so long is idle: what it does now may be what the
 * command is to see. */
#define IDLE_NS 20000000u

/* Most that an execution waits for what the command has asked for. */
#define ANSWER_NS 100000000u

/* Until then executions of an idle program wait, CLOCK_MONOTONIC; 0: they do not. */
static uint64_t wait_until_ns;

/* Waits until what was asked for is on. The type of a probe is calibrated before, which takes most of
 * the time. */
static void answer_await(void) {
    static int32_t never;
    const struct timespec rest = {.tv_nsec = 500000};
    uint64_t until_ns = spex_load_relaxed(&wait_until_ns);
    int error = errno;
    while (until_ns && !spex_sites_on() && spex_clock_ns(CLOCK_MONOTONIC) < until_ns)
        spex_futex_wait(&never, 0, &rest);
    errno = error;
}

static bool is_idle(uint64_t now_ns) {
    uint64_t called_ns = spex_load_relaxed(&dormant.called_ns);
    return called_ns && now_ns > called_ns + IDLE_NS;
}

/* In an ordinary place. A function of its own: what it has on the stack would leave room in the frame
 * of its caller, in which the frame of a handler that has returned would stay and be found. */
__attribute__((noinline)) static void wake_here(void) {
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spex_store_relaxed(&wait_until_ns, is_idle(now_ns) ? now_ns + ANSWER_NS : 0);
    int err = spex_control_wake();
    spex_store_relaxed(&dormant.state, err ? SPEX_DORMANT_NOW : SPEX_DORMANT_NEVER);
    if (!err)
        answer_await();
    spex_uninterrupted_end(&before);
}

static bool may_wake_here(void) {
    uint32_t state = SPEX_DORMANT_NOW;
    return spex_load_relaxed(&dormant.state) == SPEX_DORMANT_NOW &&
           is_attempt_due(spex_fetch_add_relaxed(&attempts, 1) + 1) && !spex_signal_frame_above() &&
           spex_cas_relaxed(&dormant.state, &state, SPEX_DORMANT_WAKES);
}

/* Called by a thread that executes a site which a command has called. Any thread, signal
 * handlers. */
static void answer_call(void) {
    if (spex_process_is_unknown())
        return;
    if (may_wake_here())
        wake_here();
    else if (spex_load_relaxed(&dormant.state) == SPEX_DORMANT_NEVER)
        answer_await();
}

/* The heap and the start of threads are of one object, the C library. */
static bool has_heap_of_libc(const void **libc) {
    const void *heap = dlsym ? dlsym(RTLD_DEFAULT, "malloc") : NULL;
    const void *start = dlsym ? dlsym(RTLD_DEFAULT, "pthread_create") : NULL;
    *libc = dlsym ? dlsym(RTLD_DEFAULT, "sigaction") : NULL;
    return heap && start && *libc && spex_is_of_one_object(heap, *libc) &&
           spex_is_of_one_object(start, *libc);
}

/* Reads the beginning of a file of /proc. False: it cannot be read. */
static bool proc_read(const char *path, char *text, size_t size) {
    struct spex_descriptor file = spex_descriptor_brief(open(path, O_RDONLY | O_CLOEXEC));
    ssize_t bytes = file.number < 0 ? -1 : read(file.number, text, size - 1);
    spex_descriptor_close(&file);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

/* Returns the number behind `name` in /proc/self/status; 0 where there is no such line. */
static uint64_t status_number(const char *status, const char *name, int base) {
    const char *line = strstr(status, name);
    return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

/* Whether commands of the same user may write to this program's memory. 0: ptrace is restricted to
 * nobody; up to 2: to those with a capability, which who calls a program with it has, too. */
static bool may_be_written(const char *status) {
    char text[16];
    unsigned long restricted = 0;
    if (proc_read("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)))
        restricted = strtoul(text, NULL, 10);
    bool capable = status_number(status, "\nCapEff:\t", 16) >> CAP_SYS_PTRACE & 1;
    return prctl(PR_GET_DUMPABLE) == 1 && (restricted == 0 || (restricted <= 2 && capable));
}

/* Whether memory can be written as a command does it: some sandboxes have no such file. */
static bool writes_reach(void) {
    static const uint64_t none = 0;
    struct spex_descriptor memory =
        spex_descriptor_brief(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    ssize_t bytes = memory.number < 0 ? -1
                                      : pwrite(memory.number, &none, sizeof(none),
                                               (off_t)(uintptr_t)&dormant.called_ns);
    spex_descriptor_close(&memory);
    return bytes == sizeof(none);
}

/* What /proc tells of this process. */
static bool suits_of_status(void) {
    char status[4096];
    if (!proc_read("/proc/self/status", status, sizeof(status)))
        return false;
    dormant.filters = spex_dormant_filters(status);
    return status_number(status, "\nThreads:\t", 10) == 1 &&
           dormant.filters != SPEX_DORMANT_FILTERS_UNKNOWN && may_be_written(status);
}

/* Nothing is to be collected, and a command can call. */
static bool suits_by_settings(const struct spex_life *life) {
    const struct spex_settings *settings = &life->settings;
    return !settings->waits && !settings->polls && !settings->closed && !settings->probes &&
           !settings->out && !settings->functions && !settings->models && !settings->budget &&
           !settings->follow;
}

static bool suits_of_objects(void) {
    struct spex_sites_range ranges[SPEX_DORMANT_OBJECTS];
    int count = spex_sites_stay(ranges, SPEX_DORMANT_OBJECTS);
    dormant.object_count = count > 0 ? (uint32_t)count : 0;
    for (int o = 0; o < count; o++) {
        dormant.objects[o].begin = (uintptr_t)ranges[o].begin;
        dormant.objects[o].end = (uintptr_t)ranges[o].end;
    }
    return count >= 0;
}

static bool suits(void) {
    const void *libc;
    return suits_by_settings(&spex_life) && spex_is_of_program(&spex_life) && suits_of_objects() &&
           suits_of_status() && writes_reach() && has_heap_of_libc(&libc) &&
           spex_signal_frames_expect(libc) && !spex_signal_frame_above();
}

/* The state comes before the socket: who sees the socket's bit finds it. */
bool spex_dormant_begin(const struct spex_control_requests *requests, int *err,
                        struct spex_error *error) {
    if (!suits())
        return false;
    attempts = 0;
    wait_until_ns = 0;
    dormant.process_id = (uint32_t)getpid();
    dormant.sites = spex_sites_of_probes();
    snprintf(dormant.command, sizeof(dormant.command), "%s", spex_profile_own_name());
    dormant.loaded_ns = spex_profile_loaded_ns();
    spex_sites_await_calls(answer_call, spex_dormant_wake);
    spex_store_relaxed(&dormant.state, SPEX_DORMANT_NOW);
    *err = spex_control_start_dormant(requests, spex_life.settings.control, error);
    if (*err)
        spex_dormant_end();
    return true;
}

void spex_dormant_wake(void) {
    uint32_t state = SPEX_DORMANT_NOW;
    if (!spex_cas_relaxed(&dormant.state, &state, SPEX_DORMANT_WAKES))
        return;
    int err = spex_control_wake();
    spex_store_relaxed(&dormant.state, err ? SPEX_DORMANT_NOW : SPEX_DORMANT_NEVER);
}

void spex_dormant_end(void) {
    uint32_t state = SPEX_DORMANT_NOW;
    if (!spex_cas_relaxed(&dormant.state, &state, SPEX_DORMANT_STOPPED))
        spex_store_relaxed(&dormant.state, SPEX_DORMANT_NEVER);
    spex_sites_await_calls(NULL, NULL);
}
