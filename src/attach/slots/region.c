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

void spex_code_regions_visit(pid_t process, void (*seen)(void *user, uint64_t code, bool used),
                             void *user) {
    struct line line;
    FILE *maps = open_maps(process);
    while (maps && next_line(maps, &line))
        if (line.shared && line.start > 2 * SPEX_STUB_PAGE)
            seen(user, line.start - 2 * (uint64_t)SPEX_STUB_PAGE, is_used(line.segment));
    if (maps)
        fclose(maps);
}

bool spex_mappings_visit(pid_t process, void (*seen)(void *user, uint64_t start, uint64_t end),
                         void *user) {
    struct line line;
    bool read = false;
    FILE *maps = open_maps(process);
    while (maps && next_line(maps, &line)) {
        read = true;
        seen(user, line.start, line.end);
    }
    if (maps)
        fclose(maps);
    return read;
}

/* A region's code, and whether anything is near it, or it is another command's. */
struct look {
    uint64_t code;
    bool found, used;
};

static void look_at_mapping(void *user, uint64_t start, uint64_t end) {
    struct look *look = user;
    look->found |=
        start < look->code + SPEX_STUB_REGION + free_around && look->code < end + free_around;
}

static void look_at_region(void *user, uint64_t code, bool used) {
    struct look *look = user;
    look->used |= used && code == look->code;
}

/* Whether nothing is mapped at a region or near it. */
static bool is_free(pid_t process, uint64_t code) {
    struct look look = {.code = code};
    return spex_mappings_visit(process, look_at_mapping, &look) && !look.found;
}

/* What there is no room for is left out. */
static void add_region(struct spex_stub_region **list, size_t *count,
                       const struct spex_stub_region *one) {
    struct spex_stub_region *grown = realloc(*list, (*count + 1) * sizeof(*grown));
    if (!grown)
        return;
    grown[*count] = *one;
    *list = grown;
    ++*count;
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

/* Those that were found, and the memory of their process. */
struct finding {
    int memory;
    struct spex_stub_region *list;
    size_t count;
};

static void find_left(void *user, uint64_t code, bool used) {
    struct finding *finding = user;
    struct spex_stub_region one = {.function = 0};
    if (!used)
        one = region_at(finding->memory, code);
    if (one.function)
        add_region(&finding->list, &finding->count, &one);
}

struct spex_stub_region *spex_stub_regions_left(pid_t process, size_t *count) {
    char path[64];
    struct finding finding = {.list = NULL};
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)process);
    finding.memory = open(path, O_RDONLY | O_CLOEXEC);
    if (finding.memory >= 0) {
        spex_code_regions_visit(process, find_left, &finding);
        close(finding.memory);
    }
    *count = finding.count;
    return finding.list;
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
static int make_segment(pid_t process, size_t bytes, uint64_t **counters) {
    int segment = shmget(IPC_PRIVATE, bytes, 0600);
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
static void fill_calls(struct spex_injection *injection, uint64_t code, bool made, int segment) {
    enum { NOREPLACE = 0x100000, WIPE = 18, REMAP = 040000 };
    uint64_t gate = spex_stub_gate(code), counters = spex_stub_counters(code);
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

/* Writes the code, and looks whether the process has these counters. */
static int fill_region(int memory, const struct spex_code_region_way *way,
                       const struct spex_code_region *region, struct spex_error *error) {
    static const uint64_t mark = 0x5be8;
    uint64_t seen = 0;
    region->counters[0] = mark;
    bool filled = way->fill(way->user, region->code) &&
                  pread(memory, &seen, sizeof(seen), (off_t)spex_stub_counters(region->code)) ==
                      sizeof(seen) &&
                  seen == mark;
    region->counters[0] = 0;
    return filled ? 0 : spex_fail(error, -EACCES, "its memory cannot be written");
}

/* Once. -EIO: something came between. */
static int make_region(struct spex_injection *injection, const struct spex_code_region_way *way,
                       struct spex_code_region *region, struct spex_error *error) {
    bool made = false;
    int err = way->place(way->user, &region->code, &made, error);
    if (err)
        return err;
    int segment = make_segment(injection->process, way->counter_bytes, &region->counters);
    if (!region->counters)
        return spex_fail(error, segment, "there is no shared memory: %s", strerror(-segment));
    fill_calls(injection, region->code, made, segment);
    err = spex_injection_run(injection, error);
    if (!err)
        err = fill_region(injection->memory, way, region, error);
    if (err)
        spex_code_region_leave(region);
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

int spex_code_region_make(pid_t process, int memory, const struct spex_code_region_way *way,
                          struct spex_code_region *region, struct spex_error *error) {
    struct spex_slot_objects objects;
    struct spex_injection injection = {.process = process, .memory = memory};
    const char *refused = spex_injection_refused(process);
    if (refused)
        return spex_fail(error, -EPERM, "%s", refused);
    if (!shares_segments(process))
        return spex_fail(error, -EPERM, "it has an IPC namespace of its own: run this in there");
    int err = spex_slot_objects_read(&objects, process, memory, error);
    injection.room = err ? 0 : spex_slot_objects_room(&objects, SPEX_INJECTION_BYTES);
    if (!err && !injection.room)
        err = spex_fail(error, -ENOMEM, "there is no room for code in its objects");
    spex_slot_objects_free(&objects);
    if (err)
        return err;
    err = -EIO;
    for (unsigned t = 0; err == -EIO && t < TRIES; t++)
        err = make_region(&injection, way, region, error);
    return err;
}

void spex_code_region_leave(struct spex_code_region *region) {
    shmdt(region->counters);
    region->counters = NULL;
}

/* The stub that is to be made. */
struct making {
    pid_t process;
    int memory;
    uint64_t function, stub;
};

/* A stub of the function that an earlier command has left, or the place for a new one. */
static int place_stub(void *user, uint64_t *code, bool *made, struct spex_error *error) {
    struct making *making = user;
    uint64_t function = making->function;
    for (unsigned n = 1; n <= NUMBERS && !*made; n++) {
        making->stub = spex_stub_address(function, n);
        *made = making->stub && spex_imports_function_at(making->memory, making->stub) == function;
    }
    *code = spex_stub_code(making->stub);
    if (*made) {
        struct look look = {.code = *code};
        spex_code_regions_visit(making->process, look_at_region, &look);
        return look.used ? spex_fail(error, -EBUSY, "another command counts its calls") : 0;
    }
    for (unsigned n = 1; n <= NUMBERS; n++) {
        making->stub = spex_stub_address(function, n);
        *code = spex_stub_code(making->stub);
        if (making->stub && is_free(making->process, *code))
            return 0;
    }
    return spex_fail(error, -ENOMEM, "there is no free place in its memory");
}

/* Writes the code, and opens the gate. */
static bool fill_stub(void *user, uint64_t code) {
    static const uint64_t open_gate = 1;
    const struct making *making = user;
    uint8_t page[SPEX_STUB_PAGE];
    spex_stub_write(making->stub, making->function, page);
    return pwrite(making->memory, page, sizeof(page), (off_t)code) == sizeof(page) &&
           pwrite(making->memory, &open_gate, sizeof(open_gate), (off_t)spex_stub_gate(code)) ==
               sizeof(open_gate) &&
           spex_imports_function_at(making->memory, making->stub) == making->function;
}

int spex_stub_region_make(pid_t process, int memory, struct spex_stub_region *region,
                          struct spex_error *error) {
    struct making making = {process, memory, region->function, 0};
    const struct spex_code_region_way way = {SPEX_STUB_PAGE, &making, place_stub, fill_stub};
    struct spex_code_region made = {.counters = NULL};
    int err = spex_code_region_make(process, memory, &way, &made, error);
    region->stub = making.stub;
    region->counters = made.counters;
    return err;
}

void spex_stub_region_leave(struct spex_stub_region *region) {
    struct spex_code_region made = {.counters = region->counters};
    spex_code_region_leave(&made);
    region->counters = NULL;
}
