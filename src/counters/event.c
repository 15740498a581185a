/* SPDX-License-Identifier: MIT */
/* Perf events by perf_event_open(2). Ways of reading: ways.h.
 *
 * Programs close descriptors that they do not know, and then get the same numbers for files of
 * their own. A mapped way closes its descriptor at once, since the mapping keeps the event. Other
 * ways use numbers that the system gives out only when some hundred descriptors are open, and ask
 * before each use whether the number is still the library's. Before closing they ask by the event's
 * id. Before reading they ask by a mark on the open file: asking by the id would take half as long
 * as the reading itself. (pread, which is harmless on other files, does not work on events.)
 * Between the question and the use another thread may still close the number and open it again;
 * those few hundred nanoseconds cannot be guarded. */
#define _GNU_SOURCE
#include "counters/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <spex/compiler.h>

#include "base/descriptor.h"

#define READ_FORMAT                                                                                \
    (PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* The mark: the number of the signal for input on the file (F_SETSIG), which other files do not
 * have set. The signal is never sent, since O_ASYNC stays off. */
#define MARK_SIGNAL 61

/* Size of a record without sample fields, struct perf_event_header alone: see
 * perf_event_open(2). */
#define RECORD_BYTES_LOG2 3

/* Whether the count is the head of a ring of records. */
static bool has_ring(enum spex_way way) {
    return way == SPEX_WAY_FAULT_RECORDS || way == SPEX_WAY_SWITCH_RECORDS;
}

/* Whether the count is read from a mapping alone, so that the descriptor can be closed. */
static bool is_mapped(enum spex_way way) {
    return has_ring(way) || way == SPEX_WAY_SWITCH_COUNT;
}

/* Attributes of the event for one way of reading. `grouped`: one of several events that are read
 * together. */
static struct perf_event_attr event_attributes(const struct spex_event_code *code,
                                               enum spex_way way, bool grouped) {
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = code->type,
        .config = code->config,
        .config1 = code->config1,
        .config2 = code->config2,
        .read_format = READ_FORMAT | (grouped ? PERF_FORMAT_GROUP : 0),
        .exclude_user = !!(code->exclude & SPEX_EXCLUDE_USER),
        .exclude_kernel = !!(code->exclude & SPEX_EXCLUDE_KERNEL),
        .exclude_hv = !!(code->exclude & SPEX_EXCLUDE_HYPERVISOR),
        .exclude_guest = !!(code->exclude & SPEX_EXCLUDE_GUEST),
        .exclude_host = !!(code->exclude & SPEX_EXCLUDE_HOST),
    };
    if (way == SPEX_WAY_FAULT_RECORDS) {
        attr.sample_period = 1;
    } else if (way == SPEX_WAY_SWITCH_RECORDS) {
        attr.config = PERF_COUNT_SW_DUMMY;
        attr.context_switch = 1;
        /* The dummy event never happens, so it needs no permission for the kernel's events.
         * Records of context switches are made all the same. */
        attr.exclude_kernel = 1;
    }
    if (has_ring(way)) {
        /* No thread waits for the records, so the kernel should wake as seldom as possible. */
        attr.watermark = 1;
        attr.wakeup_watermark = UINT32_MAX;
    }
    return attr;
}

/* Opens an event of the calling thread on any processor. `leader`: the descriptor of the group's
 * first event; -1: this is the first. A descriptor, or a negative errno value. */
SPEX_COLD static int descriptor_open(const struct spex_event_code *code, enum spex_way way,
                                     bool grouped, int leader) {
    struct perf_event_attr attr = event_attributes(code, way, grouped);
    long descriptor =
        syscall(SYS_perf_event_open, &attr, 0, -1, leader, (unsigned long)PERF_FLAG_FD_CLOEXEC);
    return descriptor < 0 ? -errno : (int)descriptor;
}

/* Whether the number still stands for the event with this id. */
static bool descriptor_is_ours(int descriptor, uint64_t id) {
    uint64_t found;
    return id && ioctl(descriptor, PERF_EVENT_IOC_ID, &found) == 0 && found == id;
}

static void descriptor_close(int descriptor, uint64_t id) {
    if (descriptor_is_ours(descriptor, id))
        close(descriptor);
}

/* Closes the descriptors that still stand for the events. The program may have closed the
 * others. */
static void descriptors_close(const struct spex_event *event) {
    /* Closes the group's leader last: the other events would go on counting by themselves. */
    for (int i = event->events - 1; i >= 0; i--)
        descriptor_close(event->descriptors[i], event->ids[i]);
}

/* Maps the page of event `i`, with one more page for the records of a ring. */
static int page_map(struct spex_event *event, int descriptor, int i) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    event->page_bytes = has_ring(event->way) ? 2 * page : page;
    /* A read-only mapping lets the kernel overwrite old records, so the ring is never full. */
    void *memory = mmap(NULL, event->page_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        return -errno;
    event->pages[i] = memory;
    return 0;
}

/* Finds the word that holds the count, and how far it must be shifted. In the page of a switch
 * count that is `offset`, the count as of the last switch to this thread; a ring's head counts
 * bytes. */
static void event_find_word(struct spex_event *event) {
    const struct perf_event_mmap_page *page = event->pages[0];
    if (event->way == SPEX_WAY_SWITCH_COUNT) {
        event->word = (const uint64_t *)&page->offset;
        return;
    }
    event->word = (const uint64_t *)&page->data_head;
    /* A context switch leaves two records: out, and in again. */
    event->shift = RECORD_BYTES_LOG2 + (event->way == SPEX_WAY_SWITCH_RECORDS);
}

/* The mapping keeps the event open after its descriptor is closed. */
static int event_open_mapped(struct spex_event *event, const struct spex_counter_plan *plan,
                             const char **step) {
    *step = "perf_event_open";
    int descriptor = descriptor_open(&plan->codes[0], event->way, false, -1);
    if (descriptor < 0)
        return descriptor;
    /* Without an id it is no event any more. */
    uint64_t id = 0;
    *step = "ioctl";
    if (ioctl(descriptor, PERF_EVENT_IOC_ID, &id) != 0)
        return -errno;
    *step = "mmap";
    int err = page_map(event, descriptor, 0);
    descriptor_close(descriptor, id);
    if (!err)
        event_find_word(event);
    return err;
}

/* Opens event `i` of a way that keeps its descriptor, moves the descriptor to a high number, and
 * marks the file. */
static int event_open_one(struct spex_event *event, const struct spex_event_code *code, int i,
                          const char **step) {
    *step = "perf_event_open";
    int descriptor =
        descriptor_open(code, event->way, event->events > 1, i ? event->descriptors[0] : -1);
    if (descriptor < 0)
        return descriptor;
    *step = "ioctl";
    uint64_t id;
    if (ioctl(descriptor, PERF_EVENT_IOC_ID, &id) != 0)
        return -errno;
    int high = spex_descriptor_high(descriptor);
    if (descriptor_is_ours(high, id)) {
        descriptor_close(descriptor, id);
        descriptor = high;
    }
    if (!descriptor_is_ours(descriptor, id) || fcntl(descriptor, F_SETSIG, MARK_SIGNAL) != 0) {
        int err = -errno;
        descriptor_close(descriptor, id);
        return err;
    }
    event->descriptors[i] = descriptor;
    event->ids[i] = id;
    *step = "mmap";
    return event->way == SPEX_WAY_RDPMC ? page_map(event, descriptor, i) : 0;
}

/* SPEX_WAY_NONE and getrusage open nothing, and always succeed. */
SPEX_COLD int spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                              enum spex_way way, const char **step) {
    *step = "";
    event->way = (uint8_t)way;
    int err = 0;
    if (is_mapped(way)) {
        err = event_open_mapped(event, plan, step);
    } else if (way == SPEX_WAY_READ || way == SPEX_WAY_RDPMC) {
        event->events = (uint8_t)plan->events;
        for (int i = 0; !err && i < event->events; i++)
            err = event_open_one(event, &plan->codes[i], i, step);
    }
    if (err) {
        spex_event_release(event);
        *event = (struct spex_event){0};
    }
    return err;
}

/* Reads the kernel's count of the calling thread. False: the system call failed. */
static bool read_rusage(enum spex_counter counter, struct spex_reading *reading) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return false;
    reading->values[0] = counter == SPEX_COUNTER_FAULTS
                             ? (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt
                             : (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
    return true;
}

/* Whether the number still stands for a file that event_open_one() has marked. */
static bool descriptor_is_marked(int descriptor) {
    return fcntl(descriptor, F_GETSIG) == MARK_SIGNAL;
}

/* As read, which would be a point at which the program's thread can be cancelled. */
static ssize_t event_read(const struct spex_event *event, void *values, size_t bytes) {
    return syscall(SYS_read, event->descriptors[0], values, bytes);
}

/* Results of read(2) for READ_FORMAT: of a single event, and of a group. */
struct single {
    uint64_t value;
    uint64_t enabled;
    uint64_t running;
    uint64_t id;
};

struct group {
    uint64_t count;
    uint64_t enabled;
    uint64_t running;
    struct {
        uint64_t value;
        uint64_t id;
    } events[2];
};

/* Reads a single event. The id in what was read tells once more that the file was the event: the
 * number may have been given to another file after the mark was seen. */
static bool read_single(const struct spex_event *event, struct spex_reading *reading) {
    struct single single;
    if (event_read(event, &single, sizeof(single)) != sizeof(single) || single.id != event->ids[0])
        return false;
    reading->values[0] = single.value;
    reading->enabled = single.enabled;
    reading->running = single.running;
    return true;
}

/* Reads a group. Each event in it must have the id that it had when it was opened. */
static bool read_group(const struct spex_event *event, struct spex_reading *reading) {
    struct group group;
    if (event_read(event, &group, sizeof(group)) != sizeof(group) || group.count != event->events)
        return false;
    for (int i = 0; i < event->events; i++) {
        if (group.events[i].id != event->ids[i])
            return false;
        reading->values[i] = group.events[i].value;
    }
    reading->enabled = group.enabled;
    reading->running = group.running;
    return true;
}

static bool read_events(const struct spex_event *event, struct spex_reading *reading) {
    if (!descriptor_is_marked(event->descriptors[0]))
        return false;
    return event->events > 1 ? read_group(event, reading) : read_single(event, reading);
}

#if defined(__x86_64__)

/* Reads by the processor's instruction, as linux/perf_event.h tells at struct perf_event_mmap_page:
 * `lock` is a sequence lock. False: the event is not on a counter at the moment, or shares one. */
static bool read_page(const struct perf_event_mmap_page *page, uint64_t *value) {
    uint32_t sequence, index;
    bool whole;
    do {
        sequence = spex_load_relaxed(&page->lock);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        whole = page->cap_user_rdpmc && page->time_enabled == page->time_running;
        index = page->index;
        *value = (uint64_t)page->offset;
        if (whole && index) {
            unsigned unused_bits = 64u - page->pmc_width;
            uint64_t counter = __rdpmc((int)index - 1);
            *value += (uint64_t)((int64_t)(counter << unused_bits) >> unused_bits);
        }
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (spex_load_relaxed(&page->lock) != sequence);
    return whole && index;
}

static bool read_pages(const struct spex_event *event, struct spex_reading *reading) {
    for (int i = 0; i < event->events; i++)
        if (!read_page(event->pages[i], &reading->values[i]))
            return false;
    return true;
}

#else

static bool read_pages(const struct spex_event *event, struct spex_reading *reading) {
    (void)event;
    (void)reading;
    return false;
}

#endif

/* Reading by the instruction falls back on the system call where the event is not on a counter
 * at the moment. */
void spex_event_read(const struct spex_event *event, enum spex_counter counter,
                     struct spex_reading *reading) {
    *reading = (struct spex_reading){.source = event->source};
    if (event->word) {
        reading->values[0] = spex_load_relaxed(event->word) >> event->shift;
        reading->available = true;
    } else if (event->way == SPEX_WAY_RUSAGE) {
        reading->available = read_rusage(counter, reading);
    } else if (event->way == SPEX_WAY_READ) {
        reading->available = read_events(event, reading);
    } else if (event->way == SPEX_WAY_RDPMC) {
        reading->available = read_pages(event, reading) || read_events(event, reading);
    }
}

bool spex_event_intact(const struct spex_event *event) {
    for (int i = 0; i < event->events; i++)
        if (!descriptor_is_ours(event->descriptors[i], event->ids[i]))
            return false;
    return true;
}

void spex_event_release(const struct spex_event *event) {
    for (int i = 0; i < 2; i++)
        if (event->pages[i])
            munmap(event->pages[i], event->page_bytes);
    descriptors_close(event);
}

void spex_event_abandon(const struct spex_event *event) {
    descriptors_close(event);
}
