/* SPDX-License-Identifier: MIT */
/* The pages are made by system calls that a thread of the process is had make. The counters are a segment of shared memory,
 * which is removed as soon as this process has it: the other one gets it by its number, and needs no descriptor. */
#define _GNU_SOURCE
#include "attach/slots/region.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/slots/imports.h"
#include "attach/slots/injection.h"
#include "attach/slots/slot_objects.h"
#include "attach/slots/stub.h"

/* How often it is tried where something comes between; what is kept free around a region, as stacks and heaps grow. */
enum { TRIES = 16, NUMBERS = 255 };
static const uint64_t free_around = UINT64_C(1) << 30;

/* A line of /proc/PID/maps. */
struct line {
    unsigned long start, end, segment;
    bool shared;
};

static bool next_line(FILE *maps, struct line *line) {
    char *text = NULL;
    size_t room = 0;
    int name = 0, got = 0;
    while (got != 3 && getline(&text, &room, maps) > 0)
        got =
            sscanf(text, "%lx-%lx %*s %*x %*x:%*x %lu %n", /* NOLINT(cert-err34-c): the kernel's */
                   &line->start, &line->end, &line->segment, &name);
    line->shared = got == 3 && strncmp(text + name, "/SYSV", 5) == 0;
    free(text);
    return got == 3;
}

static FILE *open_maps(pid_t process) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)process);
    return fopen(path, "re");
}

/* Whether the command that made a segment goes on. */
static bool is_used(unsigned long segment) {
    struct shmid_ds about;
    return shmctl((int)segment, IPC_STAT, &about) == 0 &&
           (kill(about.shm_cpid, 0) == 0 || errno == EPERM);
}

/* Whether nothing is mapped at a region or near it; and whether one there is another command's. */
static bool is_free(pid_t process, uint64_t code, bool *used) {
    struct line line;
    bool found = false, read = false;
    FILE *maps = open_maps(process);
    *used = false;
    while (maps && next_line(maps, &line)) {
        read = true;
        found |=
            line.start < code + SPEX_STUB_REGION + free_around && code < line.end + free_around;
        *used |= line.shared && line.start == code + 2 * (uint64_t)SPEX_STUB_PAGE &&
                 is_used(line.segment);
    }
    if (maps)
        fclose(maps);
    return read && !found;
}

static bool add_region(struct spex_stub_region **list, size_t *count,
                       const struct spex_stub_region *one) {
    struct spex_stub_region *grown = realloc(*list, (*count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    grown[*count] = *one;
    *list = grown;
    ++*count;
    return true;
}

/* The function's place in its page is the stub's. */
static struct spex_stub_region region_at(int memory, uint64_t code) {
    uint8_t page[SPEX_STUB_PAGE];
    struct spex_stub_region region = {.function = 0};
    if (pread(memory, page, sizeof(page), (off_t)code) == sizeof(page)) {
        region.stub = code + spex_stub_place(page);
        region.function = spex_stub_function(region.stub, page);
    }
    return region;
}

struct spex_stub_region *spex_stub_regions_left(pid_t process, size_t *count) {
    char path[64];
    struct line line;
    struct spex_stub_region *list = NULL;
    bool room = true;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)process);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    FILE *maps = memory < 0 ? NULL : open_maps(process);
    *count = 0;
    while (maps && room && next_line(maps, &line)) {
        struct spex_stub_region one = {.function = 0};
        if (line.shared && !is_used(line.segment))
            one = region_at(memory, line.start - 2 * (uint64_t)SPEX_STUB_PAGE);
        room = !one.function || add_region(&list, count, &one);
    }
    if (maps)
        fclose(maps);
    if (memory >= 0)
        close(memory);
    return list;
}

/* Where a region is to be made, by code in this room. */
struct place {
    pid_t process;
    int memory;
    uint64_t room;
};

/* A stub of the function that an earlier command has left, or the place for a new one. */
static int find_place(const struct place *place, struct spex_stub_region *region, bool *made,
                      struct spex_error *error) {
    uint64_t function = region->function;
    bool used;
    *made = false;
    for (unsigned n = 1; n <= NUMBERS && !*made; n++) {
        region->stub = spex_stub_address(function, n);
        *made = region->stub && spex_imports_function_at(place->memory, region->stub) == function;
    }
    if (*made) {
        is_free(place->process, spex_stub_code(region->stub), &used);
        return used ? spex_fail(error, -EBUSY, "another command counts its calls") : 0;
    }
    for (unsigned n = 1; n <= NUMBERS; n++) {
        region->stub = spex_stub_address(function, n);
        if (region->stub && is_free(place->process, spex_stub_code(region->stub), &used))
            return 0;
    }
    return spex_fail(error, -ENOMEM, "there is no free place in its memory");
}

/* Gives a segment to the owner of a process. */
static int give_segment(int segment, pid_t process) {
    char path[64];
    struct stat owner;
    struct shmid_ds about = {.shm_nattch = 0};
    snprintf(path, sizeof(path), "/proc/%d", (int)process);
    if (stat(path, &owner) != 0 || shmctl(segment, IPC_STAT, &about) != 0)
        return -errno;
    about.shm_perm.uid = owner.st_uid;
    return shmctl(segment, IPC_SET, &about) == 0 ? 0 : -errno;
}

/* Makes a segment that ends with those that have it. Returns its number, or a negative errno value. */
static int make_segment(pid_t process, uint64_t **counters) {
    int segment = shmget(IPC_PRIVATE, SPEX_STUB_PAGE, 0600);
    *counters = NULL;
    if (segment < 0)
        return -errno;
    void *there = shmat(segment, NULL, 0);
    int err = there == (void *)-1 ? -errno : give_segment(segment, process);
    shmctl(segment, IPC_RMID, NULL);
    if (err && there != (void *)-1)
        shmdt(there);
    if (err)
        return err;
    *counters = there;
    return segment;
}

/* The calls that make a region, or give one that is there other counters. */
static void fill_calls(struct spex_injection *injection, uint64_t stub, bool made, int segment) {
    enum { NOREPLACE = 0x100000, WIPE = 18, REMAP = 040000 };
    uint64_t code = spex_stub_code(stub), gate = spex_stub_gate(stub),
             counters = spex_stub_counters(stub);
    const uint64_t flags = MAP_PRIVATE | MAP_ANONYMOUS | NOREPLACE;
    const struct spex_injected_call all[] = {
        {SYS_mmap, {code, SPEX_STUB_PAGE, PROT_READ | PROT_EXEC, flags}, code},
        {SYS_mmap, {gate, SPEX_STUB_PAGE, PROT_READ | PROT_WRITE, flags}, gate},
        {SYS_madvise, {gate, SPEX_STUB_PAGE, WIPE}, 0},
        {SYS_shmat, {(uint64_t)segment, counters, made ? REMAP : 0}, counters}};
    injection->count = made ? 1 : SPEX_INJECTION_CALLS;
    memcpy(injection->calls, &all[SPEX_INJECTION_CALLS - injection->count],
           injection->count * sizeof(all[0]));
}

/* Writes the code, opens the gate, and looks whether the process has these counters. */
static int fill_region(int memory, const struct spex_stub_region *region,
                       struct spex_error *error) {
    static const uint64_t open_gate = 1, mark = 0x5be8;
    uint8_t code[SPEX_STUB_PAGE];
    uint64_t seen = 0, stub = region->stub;
    spex_stub_write(stub, region->function, code);
    region->counters[0] = mark;
    bool filled =
        pwrite(memory, code, sizeof(code), (off_t)spex_stub_code(stub)) == sizeof(code) &&
        pwrite(memory, &open_gate, sizeof(open_gate), (off_t)spex_stub_gate(stub)) ==
            sizeof(open_gate) &&
        spex_imports_function_at(memory, stub) == region->function &&
        pread(memory, &seen, sizeof(seen), (off_t)spex_stub_counters(stub)) == sizeof(seen) &&
        seen == mark;
    region->counters[0] = 0;
    return filled ? 0 : spex_fail(error, -EACCES, "its memory cannot be written");
}

/* Once. -EIO: something came between. */
static int make_region(const struct place *place, struct spex_stub_region *region,
                       struct spex_error *error) {
    struct spex_injection injection = {
        .process = place->process, .memory = place->memory, .room = place->room};
    bool made;
    int err = find_place(place, region, &made, error);
    if (err)
        return err;
    int segment = make_segment(place->process, &region->counters);
    if (!region->counters)
        return spex_fail(error, segment, "there is no shared memory: %s", strerror(-segment));
    fill_calls(&injection, region->stub, made, segment);
    err = spex_injection_run(&injection, error);
    if (!err)
        err = fill_region(place->memory, region, error);
    if (err)
        spex_stub_region_leave(region);
    return err;
}

/* Whether both have the same segments of shared memory. */
static bool shares_segments(pid_t process) {
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)process);
    return stat("/proc/self/ns/ipc", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

int spex_stub_region_make(pid_t process, int memory, struct spex_stub_region *region,
                          struct spex_error *error) {
    struct spex_slot_objects objects;
    struct place place = {.process = process, .memory = memory};
    const char *refused = spex_injection_refused(process);
    if (refused)
        return spex_fail(error, -EPERM, "%s", refused);
    if (!shares_segments(process))
        return spex_fail(error, -EPERM, "it has an IPC namespace of its own: run this in there");
    int err = spex_slot_objects_read(&objects, process, memory, error);
    place.room = err ? 0 : spex_slot_objects_room(&objects, SPEX_INJECTION_BYTES);
    if (!err && !place.room)
        err = spex_fail(error, -ENOMEM, "there is no room for code in its objects");
    spex_slot_objects_free(&objects);
    if (err)
        return err;
    err = -EIO;
    for (unsigned t = 0; err == -EIO && t < TRIES; t++)
        err = make_region(&place, region, error);
    return err;
}

void spex_stub_region_leave(struct spex_stub_region *region) {
    shmdt(region->counters);
    region->counters = NULL;
}
