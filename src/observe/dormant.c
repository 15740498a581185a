/* SPDX-License-Identifier: MIT */
/* All that is read is the program's, which may be anybody's: numbers are checked, and what they say
 * leads to reads and writes of that program's own memory alone. */
#define _GNU_SOURCE
#include "observe/dormant.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/record.h>
#include <spex/site.h>

#include "base/clock.h"
#include "observe/objects/elf_file.h"
#include "ring/probe_type.h"
#include "ring/record_layout.h"

/* A file of the process in /proc. A descriptor or a negative errno value. */
static int proc_open(pid_t process, const char *file, int flags) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, file);
    int fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool memory_read(int memory, uint64_t address, void *to, size_t bytes) {
    return pread(memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Where the program is entered; 0: it cannot be told. */
static uint64_t entry_of(pid_t process) {
    Elf64_auxv_t values[64];
    int fd = proc_open(process, "auxv", O_RDONLY);
    ssize_t bytes = fd < 0 ? 0 : read(fd, values, sizeof(values));
    if (fd >= 0)
        close(fd);
    for (size_t v = 0; bytes > 0 && v < (size_t)bytes / sizeof(values[0]); v++)
        if (values[v].a_type == AT_ENTRY)
            return values[v].a_un.a_val;
    return 0;
}

/* The address of the structure in the process; 0: it has none. The program is loaded as far from
 * where it is linked as its entry is. */
static uint64_t address_of(pid_t process) {
    struct spex_elf_file file;
    struct spex_error error;
    uint64_t entry = entry_of(process), address = 0;
    int fd = entry ? proc_open(process, "exe", O_RDONLY) : -1;
    if (fd < 0)
        return 0;
    if (spex_elf_file_open(fd, "the program", &file, &error) == 0) {
        uint64_t linked = spex_elf_file_section_address(&file, SPEX_DORMANT_SECTION);
        address = linked ? linked + (entry - file.header.e_entry) : 0;
        spex_elf_file_close(&file);
    }
    close(fd);
    return address;
}

bool spex_dormant_lives(const struct spex_dormant_program *program) {
    char magic[sizeof(program->told.magic)];
    return memory_read(program->memory, program->address, magic, sizeof(magic));
}

bool spex_dormant_look(struct spex_dormant_program *program) {
    struct spex_dormant *told = &program->told;
    return memory_read(program->memory, program->address, told, sizeof(*told)) &&
           memcmp(told->magic, SPEX_DORMANT_MAGIC, sizeof(told->magic)) == 0 &&
           told->version == SPEX_DORMANT_VERSION && told->state == SPEX_DORMANT_NOW &&
           told->object_count <= SPEX_DORMANT_OBJECTS;
}

void spex_dormant_close(struct spex_dormant_program *program) {
    if (program->memory >= 0)
        close(program->memory);
    program->memory = -1;
}

/* The memory is opened first, so that all that follows is of one program. */
int spex_dormant_open(pid_t process, struct spex_dormant_program *program,
                      struct spex_error *error) {
    *program = (struct spex_dormant_program){.process = process,
                                             .memory = proc_open(process, "mem", O_RDWR)};
    if (program->memory == -EACCES || program->memory == -EPERM)
        return spex_fail(error, -EACCES,
                         "process %d has no thread for commands, and this user may not call it: "
                         "the right to trace it was expected (CAP_SYS_PTRACE, or "
                         "kernel.yama.ptrace_scope=0)",
                         (int)process);
    if (program->memory < 0)
        return spex_fail(error, program->memory, "process %d cannot be looked at: %s", (int)process,
                         strerror(-program->memory));
    program->address = address_of(process);
    if (program->address && spex_dormant_look(program))
        return 1;
    spex_dormant_close(program);
    return 0;
}

enum { STATUS_BYTES = 4096 };

/* Its /proc/PID/status; an empty text: it cannot be read. */
static void status_read(pid_t process, char status[STATUS_BYTES]) {
    int fd = proc_open(process, "status", O_RDONLY);
    ssize_t bytes = fd < 0 ? 0 : read(fd, status, STATUS_BYTES - 1);
    if (fd >= 0)
        close(fd);
    status[bytes > 0 ? bytes : 0] = '\0';
}

/* The filters of system calls that the process has now. */
static uint32_t filters_of(pid_t process) {
    char status[STATUS_BYTES];
    status_read(process, status);
    return spex_dormant_filters(status);
}

bool spex_dormant_is_halted(const struct spex_dormant_program *program) {
    char status[STATUS_BYTES];
    status_read(program->process, status);
    return strstr(status, "\nState:\tT") || strstr(status, "\nState:\tt");
}

/* Whether the site is to be called: a region's, or that of a probe, but for the END of a SPAN, which
 * follows a BEGIN. */
static bool is_called(const struct spex_site *site) {
    unsigned number = site->type_number & 0xffu & ~(unsigned)SPEX_SITE_NAMED;
    if (site->control || number > SPEX_PROBE_TYPES)
        return false;
    return number ? !spex_probe_type_ends_span(1u << (number - 1), site->detail) : site->region;
}

/* False: the memory cannot be read or written. */
static bool sites_call(const struct spex_dormant_program *program, uint64_t address,
                       uint64_t count) {
    enum { AT_ONCE = 128 };
    static const uint32_t called = SPEX_CONTROL_CALLED;
    struct spex_site sites[AT_ONCE];
    bool done = true;
    for (uint64_t first = 0; done && first < count; first += AT_ONCE) {
        uint64_t some = count - first < AT_ONCE ? count - first : AT_ONCE;
        uint64_t at = address + first * sizeof(sites[0]);
        done = memory_read(program->memory, at, sites, some * sizeof(sites[0]));
        for (uint64_t s = 0; done && s < some; s++)
            if (is_called(&sites[s]))
                done = pwrite(program->memory, &called, sizeof(called),
                              (off_t)(at + s * sizeof(sites[0]) +
                                      offsetof(struct spex_site, control))) == sizeof(called);
    }
    return done;
}

/* False as above, or where what the program tells is no list of sites. */
static bool objects_call(const struct spex_dormant_program *program) {
    for (uint32_t o = 0; o < program->told.object_count; o++) {
        uint64_t begin = program->told.objects[o].begin, end = program->told.objects[o].end;
        uint64_t count = (end - begin) / sizeof(struct spex_site);
        if (begin % _Alignof(struct spex_site) || end < begin || count > SPEX_MAX_SITES ||
            !sites_call(program, begin, count))
            return false;
    }
    return true;
}

int spex_dormant_call(struct spex_dormant_program *program, struct spex_error *error) {
    if (program->told.called_ns)
        return 0;
    if (filters_of(program->process) != program->told.filters)
        return spex_fail(error, -EPERM,
                         "process %d has restricted its system calls since it started: a thread "
                         "for commands might end it; SPEX_WAITS=1 starts one before",
                         (int)program->process);
    uint64_t now_ns = objects_call(program) ? spex_clock_ns(CLOCK_MONOTONIC) : 0;
    off_t at = (off_t)(program->address + offsetof(struct spex_dormant, called_ns));
    if (now_ns && pwrite(program->memory, &now_ns, sizeof(now_ns), at) == sizeof(now_ns))
        return 0;
    return spex_fail(error, -EIO, "process %d cannot be called: its memory cannot be written",
                     (int)program->process);
}
