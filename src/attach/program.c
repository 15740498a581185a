/* SPDX-License-Identifier: MIT */
/* All by /proc. A descriptor of a process's memory is that of the program which ran when it was opened:
 * when another one is executed, or the process ends, there is nothing to be read. */
#define _GNU_SOURCE
#include "attach/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "text/printable.h"

/* Reads the beginning of a file of a process as text; false: it cannot be read. */
static bool read_text(pid_t process, const char *name, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static void read_command(pid_t process, char *text, size_t size) {
    read_text(process, "comm", text, size);
    text[strcspn(text, "\n")] = '\0';
}

const char *spex_without_capability(void) {
    return geteuid() ? "run it as root" : "root lacks what is needed here, as in a container";
}

/* Why there is nothing to look at. */
static int fail_memory(pid_t process, int err, struct spex_error *error) {
    if (err == EACCES || err == EPERM)
        return spex_fail(error, -EACCES,
                         "process %d may not be looked at: the capability SYS_PTRACE is needed: %s",
                         (int)process, spex_without_capability());
    return spex_fail(error, -ENOENT, "process %d has no memory: it has ended, or is the kernel's",
                     (int)process);
}

/* The first address that is mapped. */
static bool find_mapped(struct spex_program *program) {
    char text[64];
    unsigned long start;
    bool found = read_text(program->thread, "maps", text, sizeof(text)) &&
                 sscanf(text, "%lx-", &start) == 1; /* NOLINT(cert-err34-c): the kernel's */
    program->mapped = found ? start : 0;
    return found;
}

/* Neither a zombie nor dead. The state follows the name, which may have any characters. */
static bool is_alive(pid_t thread) {
    char text[512];
    if (!read_text(thread, "stat", text, sizeof(text)))
        return false;
    const char *behind = strrchr(text, ')');
    return behind && behind[1] == ' ' && !strchr("ZXx", behind[2]);
}

/* A thread that has not ended; 0: there is none. */
static pid_t find_thread(pid_t process) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    pid_t found = 0;
    while (threads && !found && (entry = readdir(threads))) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        found = thread > 0 && is_alive(thread) ? thread : 0;
    }
    if (threads)
        closedir(threads);
    return found;
}

static bool is_process(pid_t process) {
    char text[4096];
    const char *group =
        read_text(process, "status", text, sizeof(text)) ? strstr(text, "\nTgid:") : NULL;
    return group && strtol(group + strlen("\nTgid:"), NULL, 10) == process;
}

/* The kernel has told the process the path's address, in its auxiliary vector. */
static void read_started(struct spex_program *program) {
    unsigned long vector[128];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)program->thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, vector, sizeof(vector));
    if (fd >= 0)
        close(fd);
    size_t got = 0, entries = length > 0 ? (size_t)length / sizeof(vector[0]) : 0;
    for (size_t v = 0; v + 1 < entries; v += 2)
        if (vector[v] == AT_EXECFN)
            got = spex_program_read(program, vector[v + 1], program->started,
                                    sizeof(program->started));
    if (!memchr(program->started, '\0', got))
        program->started[0] = '\0';
}

int spex_program_open(pid_t process, struct spex_program *program, struct spex_error *error) {
    char path[64];
    *program = (struct spex_program){.process = process, .pidfd = -1, .memory = -1};
    if (!is_process(process))
        return spex_fail(error, -ESRCH, "there is no process %d", (int)process);
    program->pidfd = (int)syscall(SYS_pidfd_open, process, 0);
    if (program->pidfd < 0)
        return spex_fail(error, -errno, "process %d cannot be watched: %s", (int)process,
                         strerror(errno));
    program->thread = find_thread(process);
    if (!program->thread) {
        spex_program_close(program);
        return fail_memory(process, ENOENT, error);
    }
    read_command(process, program->command, sizeof(program->command));
    spex_make_printable(program->command);
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)program->thread);
    program->memory = open(path, O_RDONLY | O_CLOEXEC);
    int err = program->memory < 0 ? errno : 0;
    if (err || !find_mapped(program) || clock_getcpuclockid(process, &program->clock) != 0) {
        spex_program_close(program);
        return fail_memory(process, err, error);
    }
    read_started(program);
    return 0;
}

void spex_program_close(struct spex_program *program) {
    if (program->pidfd >= 0)
        close(program->pidfd);
    if (program->memory >= 0)
        close(program->memory);
    program->pidfd = program->memory = -1;
}

size_t spex_program_read(const struct spex_program *program, uint64_t address, void *bytes,
                         size_t count) {
    ssize_t got = pread(program->memory, bytes, count, (off_t)address);
    return got < 0 ? 0 : (size_t)got;
}

/* The first page may be unmapped by the program, which is an error and no end. */
enum spex_program_state spex_program_state(const struct spex_program *program) {
    struct pollfd end = {.fd = program->pidfd, .events = POLLIN};
    char byte;
    if (poll(&end, 1, 0) == 1)
        return SPEX_PROGRAM_ENDED;
    return pread(program->memory, &byte, 1, (off_t)program->mapped) == 0 ? SPEX_PROGRAM_REPLACED
                                                                         : SPEX_PROGRAM_RUNS;
}

uint64_t spex_program_cpu_ns(const struct spex_program *program) {
    uint64_t ns;
    return spex_clock_read(program->clock, &ns) == 0 ? ns : 0;
}

/* A folder has a link for itself, one in the folder above, and one of each folder in it. */
size_t spex_program_threads(const struct spex_program *program) {
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)program->process);
    return stat(path, &status) == 0 && status.st_nlink > 2 ? status.st_nlink - 2 : 0;
}

bool spex_program_is_traced(const struct spex_program *program) {
    char text[4096];
    const char *tracer = read_text(program->process, "status", text, sizeof(text))
                             ? strstr(text, "\nTracerPid:")
                             : NULL;
    return tracer && strtol(tracer + strlen("\nTracerPid:"), NULL, 10) != 0;
}

/* Also where that cannot be read. */
static bool handles(const struct spex_program *program, int number) {
    char text[4096];
    static const char caught[] = "\nSigCgt:";
    const char *signals =
        read_text(program->process, "status", text, sizeof(text)) ? strstr(text, caught) : NULL;
    return !signals || (strtoull(signals + sizeof(caught) - 1, NULL, 16) >> (number - 1) & 1);
}

bool spex_program_handles_traps(const struct spex_program *program) {
    return handles(program, SIGTRAP) || spex_program_is_traced(program);
}

bool spex_program_handles_faults(const struct spex_program *program) {
    return handles(program, SIGSEGV) || handles(program, SIGBUS);
}

bool spex_program_is_started_by(const struct spex_program *program, const struct stat *file) {
    char path[sizeof(program->started) + 64];
    struct stat started;
    snprintf(path, sizeof(path), "/proc/%d/%s/%s", (int)program->thread,
             *program->started == '/' ? "root" : "cwd", program->started);
    return *program->started && stat(path, &started) == 0 && started.st_dev == file->st_dev &&
           started.st_ino == file->st_ino;
}

/* FNV-1a over the lines of executable mappings. */
uint64_t spex_program_files(const struct spex_program *program) {
    char path[64], *line = NULL;
    size_t room = 0;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)program->thread);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return 0;
    while (getline(&line, &room, maps) > 0) {
        const char *rights = strchr(line, ' ');
        if (!rights || rights[3] != 'x' || !strchr(line, '/'))
            continue;
        for (const char *at = line; *at; at++)
            sum = (sum ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    free(line);
    fclose(maps);
    return sum;
}

size_t spex_programs_called(const char *name, pid_t *processes, size_t room) {
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    size_t found = 0;
    while (all && (entry = readdir(all))) {
        char command[64];
        pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);
        if (process <= 0 || process == getpid())
            continue;
        read_command(process, command, sizeof(command));
        if (strcmp(command, name) != 0)
            continue;
        if (found < room)
            processes[found] = process;
        found++;
    }
    if (all)
        closedir(all);
    return found;
}
