/* SPDX-License-Identifier: MIT */
/* What the kernel executes at a hit: a few instructions of its own virtual machine (eBPF), and the memory
 * that they share with this process. */
#ifndef SPEX_ATTACH_KERNEL_PROGRAM_H
#define SPEX_ATTACH_KERNEL_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/kind.h"

/* Counters of a site, in a cache line of their own. */
struct spex_site_counts {
    uint64_t executions, lost;
    /* With so many executions the kernel wakes who waits for alarms. This process writes it. */
    uint64_t alarm;
    uint64_t rest[5];
};

struct spex_kernel_memory {
    /* A ring of alarms is apart from that of records, of which none wakes anybody. */
    int counts_fd, ring_fd, alarms_fd;
    struct spex_site_counts *counts;
    size_t count;
    /* The position up to which records are read, which the kernel reads, and that up to which they are
     * written, with the records behind it: twice, one behind the other, so that none is torn. */
    uint64_t *consumed, *produced;
    const uint8_t *records;
    size_t ring_bytes, page_bytes;
    uint64_t *alarms_consumed, *alarms_produced;
};

/* For SPEX_SITES_MAX sites. 0, or a negative errno value with the name of what failed in *step. To be closed in any case. */
int spex_kernel_memory_open(struct spex_kernel_memory *memory, const char **step);
void spex_kernel_memory_close(struct spex_kernel_memory *memory);

/* Takes note of alarms. */
void spex_kernel_memory_note_alarms(struct spex_kernel_memory *memory);

/* A descriptor of the program, which is the same for all sites, or a negative errno value. `attached`:
 * what it is for, a number of the kernel's enum bpf_attach_type; 0: events of perf. */
int spex_kernel_program_load(const struct spex_kernel_memory *memory, uint32_t attached);

/* Instructions of a file, with the semaphore of each, and what the program gets of it: its site. */
struct spex_kernel_places {
    const char *path;
    const uint64_t *offsets, *semaphores, *cookies;
    uint32_t count;
};

/* What the program gets of a site. */
uint64_t spex_kernel_cookie(size_t number, enum spex_site_task task);

/* Attachments (links) of the program: descriptors, or negative errno values. To instructions of a process,
 * from Linux 6.12 on; and to an event of perf. */
enum { SPEX_KERNEL_LINK_UPROBES = 48 };
int spex_kernel_link_uprobes(int program, const struct spex_kernel_places *places, pid_t process);
int spex_kernel_link_event(int program, int event, uint64_t cookie);

/* Takes the oldest records. */
size_t spex_kernel_memory_take(struct spex_kernel_memory *memory, struct spex_site_record *records,
                               size_t room);

#endif
