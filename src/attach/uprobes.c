/* SPDX-License-Identifier: MIT */
/* Breakpoints of the kernel, with a program of the kernel that counts (kernel_program.h). Each is held by
 * a descriptor: when it is closed, or when this process ends in whatever way, the kernel removes it.
 *
 * From Linux 6.12 on a descriptor attaches the program to the instruction in one process. Before, or for a
 * process whose first thread has ended, it is an event of perf_event_open, of a thread of the process,
 * with the program on it. Both run the program for hits in all threads with the process's memory.
 * Closing an event waits, for a tenth of a second, until nothing can run the program any more, and removes
 * the breakpoint after that.
 *
 * perf's own counting is not used. An event counts in one thread. Its attribute `inherit` has the kernel
 * make events of new threads within the thread that makes them: it reads the path of the file from that
 * process's memory, and asks for that process's rights. Where that fails, pthread_create and fork of the
 * program fail. */
#define _GNU_SOURCE
#include "attach/kind.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/kernel_program.h"
#include "attach/program.h"
#include "attach/tasks/beside.h"
#include "base/clock.h"

#define DEVICE "/sys/bus/event_source/devices/uprobe/type"

/* The kernel's own errno for what it cannot do; and where an event has the place of a semaphore. */
enum { NOT_SUPPORTED = 524, SEMAPHORE_SHIFT = 32 };

struct spex_sites {
    struct spex_kernel_memory memory;
    int program;
    /* The type of events; whether there are links to instructions in their place. */
    uint32_t type;
    bool links;
    pid_t thread;
    /* How long the last closing of an event has taken, in seconds. */
    double lingers;
    /* CPU time of processes that have closed something. */
    double used;
    /* Sets breakpoints, for one thread at a time. */
    struct spex_beside beside;
    pthread_mutex_t beside_lock;
    size_t count;
    /* Threads that wait until something is closed. */
    pthread_mutex_t lock;
    pthread_cond_t closed;
    unsigned closing;
    /* What holds each site, -1: it is off, or it is held with the site before it; and its event. */
    struct held {
        int link, event;
    } held[];
};

static int fail_rights(int err, const char *what, struct spex_error *error) {
    if (err == -EPERM || err == -EACCES)
        return spex_fail(error, err,
                         "%s is not allowed: the capabilities PERFMON and BPF are needed, and "
                         "SYS_PTRACE for other users' programs: %s",
                         what, spex_without_capability());
    return spex_fail(error, err, "%s fails: %s", what, strerror(-err));
}

/* The number by which the kernel knows this kind of events. */
static int read_type(uint32_t *type, struct spex_error *error) {
    FILE *file = fopen(DEVICE, "re");
    unsigned number = 0;
    bool read = file && fscanf(file, "%u", &number) == 1; /* NOLINT(cert-err34-c): the kernel's */
    if (file)
        fclose(file);
    if (!read)
        return spex_fail(error, -ENOTSUP,
                         "this kernel has no uprobes (CONFIG_UPROBE_EVENTS): there is no " DEVICE);
    *type = number;
    return 0;
}

/* Kernels that have links, but are older, count in one thread with them. The first thread of a process
 * has the process's number; a descriptor of a process is refused for others. */
static bool has_links(pid_t thread) {
    struct utsname name;
    unsigned major, minor;
    if (uname(&name) != 0 ||
        sscanf(name.release, "%u.%u", &major, &minor) != 2 || /* NOLINT(cert-err34-c) */
        major < 6 || (major == 6 && minor < 12))
        return false;
    int process = (int)syscall(SYS_pidfd_open, thread, 0);
    if (process >= 0)
        close(process);
    return process >= 0;
}

/* Those that were switched on with the first one, which are none of another group: these have links. */
static unsigned take_group(struct spex_sites *sites, size_t first, struct held *taken) {
    unsigned count = 0;
    for (size_t s = first; s < sites->count && count < SPEX_SITES_TOGETHER_MAX; s++) {
        if (sites->held[s].link < 0 || (s > first && sites->held[s].event < 0))
            break;
        taken[count++] = sites->held[s];
        sites->held[s] = (struct held){-1, -1};
    }
    return count;
}

/* Returns the CPU time that it has taken elsewhere. */
static double close_group(const struct held *taken, unsigned count) {
    int descriptors[2 * SPEX_SITES_TOGETHER_MAX];
    for (unsigned s = 0; s < count; s++) {
        descriptors[2 * s] = taken[s].link;
        descriptors[2 * s + 1] = taken[s].event;
    }
    return spex_beside_end(descriptors, 2 * (size_t)count);
}

static void switch_off(struct spex_sites *sites, size_t first, void (*soon)(void *user),
                       void *user) {
    struct held taken[SPEX_SITES_TOGETHER_MAX];
    pthread_mutex_lock(&sites->lock);
    unsigned count = take_group(sites, first, taken);
    sites->closing++;
    pthread_mutex_unlock(&sites->lock);
    if (soon)
        soon(user);
    double begin = spex_clock_seconds(CLOCK_MONOTONIC);
    double used = close_group(taken, count);
    pthread_mutex_lock(&sites->lock);
    sites->lingers = sites->links ? 0 : spex_clock_seconds(CLOCK_MONOTONIC) - begin;
    sites->used += used;
    sites->closing--;
    pthread_cond_broadcast(&sites->closed);
    pthread_mutex_unlock(&sites->lock);
}

static double used_elsewhere(struct spex_sites *sites) {
    pthread_mutex_lock(&sites->lock);
    double used = sites->used;
    pthread_mutex_unlock(&sites->lock);
    return used + spex_beside_used(&sites->beside);
}

static void close_all(struct spex_sites *sites) {
    int descriptors[2 * SPEX_SITES_MAX];
    size_t count = 0;
    for (size_t s = 0; s < sites->count; s++)
        for (int end = 0; sites->held[s].link >= 0 && end < 2; end++)
            descriptors[count++] = end ? sites->held[s].event : sites->held[s].link;
    spex_beside_end_many(descriptors, count);
}

static void uprobes_close(struct spex_sites *sites) {
    if (!sites)
        return;
    close_all(sites);
    pthread_mutex_lock(&sites->lock);
    while (sites->closing)
        pthread_cond_wait(&sites->closed, &sites->lock);
    pthread_mutex_unlock(&sites->lock);
    spex_beside_close(&sites->beside);
    if (sites->program >= 0)
        close(sites->program);
    spex_kernel_memory_close(&sites->memory);
    free(sites);
}

static int load(struct spex_sites *sites, struct spex_error *error) {
    const char *step = "";
    int err = spex_kernel_memory_open(&sites->memory, &step);
    if (err)
        return fail_rights(err, step, error);
    sites->program =
        spex_kernel_program_load(&sites->memory, sites->links ? SPEX_KERNEL_LINK_UPROBES : 0);
    return sites->program < 0 ? fail_rights(sites->program, "a program of the kernel (BPF)", error)
                              : 0;
}

static int uprobes_open(struct spex_sites **opened, size_t count, pid_t thread,
                        struct spex_error *error) {
    uint32_t type = 0;
    *opened = NULL;
    int err = read_type(&type, error);
    if (err)
        return err;
    struct spex_sites *sites = calloc(1, sizeof(*sites) + count * sizeof(sites->held[0]));
    if (!sites)
        return spex_fail(error, -ENOMEM, "out of memory");
    sites->program = -1;
    sites->type = type;
    sites->links = has_links(thread);
    sites->thread = thread;
    sites->count = count;
    pthread_mutex_init(&sites->lock, NULL);
    pthread_cond_init(&sites->closed, NULL);
    pthread_mutex_init(&sites->beside_lock, NULL);
    spex_beside_open(&sites->beside);
    memset(sites->held, -1, count * sizeof(sites->held[0]));
    err = load(sites, error);
    if (err)
        uprobes_close(sites);
    else
        *opened = sites;
    return err;
}

/* An event of an instruction of a file, wherever the process has mapped it, with the program on it. It is
 * disabled: nothing is for perf to count. */
static int open_event(const struct spex_sites *sites, const struct spex_kernel_places *places,
                      unsigned place, struct held *held) {
    struct perf_event_attr attributes;
    if (places->semaphores[place] > UINT32_MAX)
        return -ENOTSUP;
    memset(&attributes, 0, sizeof(attributes));
    attributes.type = sites->type;
    attributes.size = sizeof(attributes);
    attributes.disabled = 1;
    attributes.config = places->semaphores[place] << SEMAPHORE_SHIFT;
    attributes.uprobe_path = (uintptr_t)places->path;
    attributes.probe_offset = places->offsets[place];
    held->event =
        (int)syscall(SYS_perf_event_open, &attributes, sites->thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (held->event < 0) {
        held->event = -1;
        return -errno;
    }
    held->link = spex_kernel_link_event(sites->program, held->event, places->cookies[place]);
    if (held->link >= 0)
        return held->link;
    int err = held->link;
    close(held->event);
    *held = (struct held){-1, -1};
    return err;
}

static int fail_on(int err, struct spex_error *error) {
    if (err == -NOT_SUPPORTED || err == -EINVAL || err == -EOPNOTSUPP)
        return spex_fail(error, -ENOTSUP, "the kernel has no breakpoint for this instruction");
    if (err == -ESRCH)
        return spex_fail(error, err, "the program has ended");
    if (err == -EMFILE || err == -ENFILE)
        return spex_fail(error, err, "there are too many open files: ulimit -n");
    return fail_rights(err, "a uprobe", error);
}

/* What is to be held, and by what. */
struct holding {
    const struct spex_sites *sites;
    const struct spex_kernel_places *places;
    struct held *held;
};

/* One link for all, or an event for each site. Makes system calls alone. */
static int hold(void *argument) {
    const struct holding *holding = argument;
    const struct spex_sites *sites = holding->sites;
    int err = 0;
    if (sites->links) {
        int link = spex_kernel_link_uprobes(sites->program, holding->places, sites->thread);
        holding->held[0].link = link < 0 ? -1 : link;
        return link;
    }
    for (unsigned s = 0; err >= 0 && s < holding->places->count; s++)
        err = open_event(sites, holding->places, s, &holding->held[s]);
    return err;
}

/* A process that is killed while the kernel sets the second of several breakpoints leaves the first: another one waits for
 * that. */
static int hold_beside(struct spex_sites *sites, size_t first,
                       const struct spex_kernel_places *places) {
    struct holding holding = {sites, places, &sites->held[first]};
    pthread_mutex_lock(&sites->beside_lock);
    int err = spex_beside_call(&sites->beside, hold, &holding);
    pthread_mutex_unlock(&sites->beside_lock);
    if (err < 0)
        switch_off(sites, first, NULL, NULL);
    return err;
}

static int switch_on(struct spex_sites *sites, size_t first,
                     const struct spex_instruction_site *list, unsigned count,
                     struct spex_error *error) {
    uint64_t offsets[SPEX_SITES_TOGETHER_MAX], semaphores[SPEX_SITES_TOGETHER_MAX],
        cookies[SPEX_SITES_TOGETHER_MAX];
    char path[64];
    if (count > SPEX_SITES_TOGETHER_MAX || first + count > sites->count)
        return spex_fail(error, -E2BIG, "too many sites");
    for (unsigned s = 0; s < count; s++) {
        offsets[s] = list[s].offset;
        semaphores[s] = list[s].semaphore;
        cookies[s] = spex_kernel_cookie(first + s, list[s].task);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", list[0].fd);
    const struct spex_kernel_places places = {path, offsets, semaphores, cookies, count};
    int err = hold_beside(sites, first, &places);
    return err < 0 ? fail_on(err, error) : 0;
}

static double linger(struct spex_sites *sites) {
    pthread_mutex_lock(&sites->lock);
    double lingers = sites->lingers;
    pthread_mutex_unlock(&sites->lock);
    return lingers;
}

static uint64_t executions(const struct spex_sites *sites, size_t number) {
    return __atomic_load_n(&sites->memory.counts[number].executions, __ATOMIC_RELAXED);
}

static uint64_t lost(const struct spex_sites *sites, size_t number) {
    return __atomic_load_n(&sites->memory.counts[number].lost, __ATOMIC_RELAXED);
}

static void set_alarm(struct spex_sites *sites, size_t number, uint64_t count) {
    __atomic_store_n(&sites->memory.counts[number].alarm, count, __ATOMIC_RELAXED);
}

static int alarms(const struct spex_sites *sites) {
    return sites->memory.alarms_fd;
}

static void note_alarms(struct spex_sites *sites) {
    spex_kernel_memory_note_alarms(&sites->memory);
}

static size_t take_records(struct spex_sites *sites, struct spex_site_record *records,
                           size_t room) {
    return spex_kernel_memory_take(&sites->memory, records, room);
}

const struct spex_kind_of_site spex_uprobes = {.name = "uprobe",
                                               .open = uprobes_open,
                                               .close = uprobes_close,
                                               .switch_on = switch_on,
                                               .switch_off = switch_off,
                                               .linger = linger,
                                               .used_elsewhere = used_elsewhere,
                                               .executions = executions,
                                               .lost = lost,
                                               .set_alarm = set_alarm,
                                               .alarms = alarms,
                                               .note_alarms = note_alarms,
                                               .records = take_records};
