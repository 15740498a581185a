/* SPDX-License-Identifier: MIT */
/* Attaches to places of a program, wherever it runs, and reads what the kernel records there: time,
 * thread, process and CPU. This is what perf and bpftrace do with USDT probes.
 *
 *     attach PROGRAM OFFSET …       prints "ready", or "missing: REASON" and ends with status 77
 *
 * An offset is that of an instruction in the file. Ends with its input, and prints how many records
 * it has read, how many were lost, and the CPU time, in ns, that it took. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CPUS_MAX = 256, RING_BYTES = 4 << 20, NOT_MEASURED = 77, PAUSE_MS = 20 };

/* A CPU's records. The kernel writes them as head, this program reads them as tail. */
struct ring {
    struct perf_event_mmap_page *page;
    int descriptor;
};

static struct ring rings[CPUS_MAX];
static uint64_t records, lost;

static __attribute__((noreturn)) void missing(const char *what) {
    printf("missing: %s: %s\n", what, strerror(errno));
    exit(NOT_MEASURED);
}

static uint32_t uprobe_type(void) {
    char text[32] = "";
    FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
    if (!file || !fgets(text, sizeof(text), file))
        missing("/sys/bus/event_source/devices/uprobe/type");
    (void)fclose(file);
    return (uint32_t)strtoul(text, NULL, 10);
}

static int attached(uint32_t type, const char *program, uint64_t offset, int cpu) {
    struct perf_event_attr attr = {.type = type,
                                   .size = sizeof(attr),
                                   .sample_period = 1,
                                   .sample_type =
                                       PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                                   .watermark = 1,
                                   .wakeup_watermark = RING_BYTES / 4,
                                   .uprobe_path = (uintptr_t)program,
                                   .probe_offset = offset};
    int descriptor = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0)
        missing("perf_event_open");
    return descriptor;
}

/* All events of a CPU write to the ring of its first. */
static void add(int cpu, int descriptor) {
    struct ring *ring = &rings[cpu];
    if (ring->page) {
        if (ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, ring->descriptor) != 0)
            missing("PERF_EVENT_IOC_SET_OUTPUT");
        return;
    }
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES;
    ring->descriptor = descriptor;
    ring->page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (ring->page == MAP_FAILED)
        missing("mmap");
}

/* Part of a record may be at the ring's end, and the rest at its begin, never of eight bytes. */
static uint64_t word(const struct ring *ring, uint64_t at) {
    uint64_t value;
    const char *data = (const char *)ring->page + ring->page->data_offset;
    memcpy(&value, data + (at & (RING_BYTES - 1)), sizeof(value));
    return value;
}

static void count(const struct ring *ring, uint64_t at, const struct perf_event_header *header) {
    /* After the header: an id, and how many. */
    if (header->type == PERF_RECORD_LOST)
        lost += word(ring, at + sizeof(*header) + sizeof(uint64_t));
    else
        records += header->type == PERF_RECORD_SAMPLE;
}

static void drain(struct ring *ring) {
    /* Pairs with the kernel's release: records up to head are complete. */
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE),
             at = ring->page->data_tail;
    while (at < head) {
        struct perf_event_header header;
        uint64_t first = word(ring, at);
        memcpy(&header, &first, sizeof(header));
        count(ring, at, &header);
        at += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, at, __ATOMIC_RELEASE);
}

int main(int argc, char **argv) {
    int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec taken;
    if (argc < 3 || cpus > CPUS_MAX) {
        (void)fprintf(stderr, "usage: attach PROGRAM OFFSET …\n");
        return 2;
    }
    uint32_t type = uprobe_type();
    for (int cpu = 0; cpu < cpus; cpu++)
        for (int i = 2; i < argc; i++)
            add(cpu, attached(type, argv[1], strtoull(argv[i], NULL, 0), cpu));
    puts("ready");
    (void)fflush(stdout);
    for (bool ended = false; !ended;) {
        ended = poll(&input, 1, PAUSE_MS) != 0;
        for (int cpu = 0; cpu < cpus; cpu++)
            drain(&rings[cpu]);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", records, lost,
           (uint64_t)taken.tv_sec * 1000000000u + (uint64_t)taken.tv_nsec);
    return 0;
}
