/* SPDX-License-Identifier: MIT */
/* A child of this process, in a session of its own, traces the other one's thread: who kills this process does not kill that,
 * which takes a millisecond. When it is killed, too, the kernel lets go what it traces, and whoever is stopped goes on with the
 * registers that it has then. These change twice: to those that the injected code starts with, and back; each time at once. Then
 * that code stays behind, where nothing executes it.
 *
 * The first thread of the process is traced in any case, without a stop, so that no two commands do this at a time. */
#define _GNU_SOURCE
#include "attach/slots/injection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/slots/injected_code.h"
#include "attach/slots/stops.h"

/* Of 64 bits; seconds. */
enum { CODE_SEGMENT = 0x33, READ_BLOCKED = 0x420a, SET_BLOCKED = 0x420b, READ_RSEQ = 0x420f };
/* A thread that has not stopped yet goes on meanwhile. */
static const double stop_seconds = 1, call_seconds = 5;

/* struct ptrace_rseq_configuration and struct rseq_cs, which older headers lack; and where struct rseq has the address of
 * that. */
struct rseq_place {
    uint64_t address;
    uint32_t size, signature, flags, pad;
};
struct rseq_section {
    uint32_t version, flags;
    uint64_t start, bytes, aborted;
};
enum { RSEQ_SECTION = 8 };

struct tracing {
    const struct spex_injection *injection;
    struct spex_error *error;
    int err;
    pid_t thread;
    /* What it stopped with, and the signals that it blocks. */
    struct user_regs_struct registers;
    uint64_t blocked;
    /* What the room had in it; whether the code is in it, and may be executed. */
    uint8_t before[SPEX_INJECTION_BYTES];
    bool written;
};

/* A line of a thread's status, with the name in front of it. False: there is none. */
static bool read_status(pid_t process, const char *name, char *text, size_t size) {
    char path[64], *line = NULL;
    size_t room = 0, length = strlen(name);
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) > 0)
        if (strncmp(line, name, length) == 0) {
            snprintf(text, size, "%s", line + length + strspn(line + length, " \t"));
            found = true;
        }
    free(line);
    if (file)
        fclose(file);
    return found;
}

const char *spex_injection_refused(pid_t process) {
    char text[64];
    if (!read_status(process, "Seccomp:", text, sizeof(text)) || strtol(text, NULL, 10) != 0)
        return "it filters its system calls (seccomp)";
    if (!read_status(process, "TracerPid:", text, sizeof(text)) || strtol(text, NULL, 10) != 0)
        return "another process traces it";
    if (!read_status(process, "State:", text, sizeof(text)) || strchr("TtZX", *text))
        return "it is stopped";
    return NULL;
}

/* Outside of system calls it may be in a section that is begun again when it is interrupted, which the kernel would not
 * notice. */
static bool may_be_in_section(const struct tracing *tracing) {
    struct rseq_place place = {.address = 0};
    struct rseq_section section;
    uint64_t at = 0;
    int memory = tracing->injection->memory;
    if ((int64_t)tracing->registers.orig_rax >= 0)
        return false;
    if (ptrace((enum __ptrace_request)READ_RSEQ, tracing->thread, (void *)sizeof(place), &place) !=
        sizeof(place))
        return true;
    if (!place.address)
        return false;
    if (pread(memory, &at, sizeof(at), (off_t)(place.address + RSEQ_SECTION)) != sizeof(at))
        return true;
    return at && (pread(memory, &section, sizeof(section), (off_t)at) != sizeof(section) ||
                  tracing->registers.rip - section.start < section.bytes);
}

/* Reads the registers. A call that ends because of this stop is to be made again. Whether others can take their place. */
static bool read_registers(struct tracing *tracing) {
    struct user_regs_struct *registers = &tracing->registers;
    if (ptrace(PTRACE_GETREGS, tracing->thread, NULL, registers) != 0 ||
        ptrace((enum __ptrace_request)READ_BLOCKED, tracing->thread,
               (void *)sizeof(tracing->blocked), &tracing->blocked) != 0 ||
        registers->cs != CODE_SEGMENT || may_be_in_section(tracing))
        return false;
    return spex_stop_restart(registers);
}

static bool write_room(const struct tracing *tracing, const uint8_t *bytes) {
    uint8_t there[SPEX_INJECTION_BYTES];
    off_t at = (off_t)tracing->injection->room;
    return pwrite(tracing->injection->memory, bytes, sizeof(there), at) == sizeof(there) &&
           pread(tracing->injection->memory, there, sizeof(there), at) == sizeof(there) &&
           memcmp(there, bytes, sizeof(there)) == 0;
}

/* Which signals the thread blocks. */
static bool set_blocked(const struct tracing *tracing, uint64_t signals) {
    return ptrace((enum __ptrace_request)SET_BLOCKED, tracing->thread, (void *)sizeof(signals),
                  &signals) == 0;
}

/* Has the thread begin with the injected code. From here on it needs nobody: this unblocks signals in the end, too, which wait
 * meanwhile. */
static bool begin(struct tracing *tracing) {
    struct user_regs_struct registers = tracing->registers;
    uint8_t code[SPEX_INJECTION_BYTES];
    spex_injected_code_write(tracing->injection, &registers, tracing->blocked, code);
    if (pread(tracing->injection->memory, tracing->before, sizeof(code),
              (off_t)tracing->injection->room) != sizeof(code))
        return false;
    tracing->written = true;
    if (!write_room(tracing, code))
        return false;
    registers.rip = tracing->injection->room;
    registers.orig_rax = (uint64_t)-1;
    return ptrace(PTRACE_SETREGS, tracing->thread, NULL, &registers) == 0 &&
           set_blocked(tracing, UINT64_MAX);
}

/* Waits for the begin and the end of each call. Returns the status of the stop behind the last one, or of another one. */
static int make_calls(const struct tracing *tracing, bool *made) {
    struct user_regs_struct registers;
    int status = -1;
    *made = false;
    for (unsigned c = 0; c < tracing->injection->count; c++) {
        for (int end = 0; end < 2; end++) {
            if (ptrace(PTRACE_SYSCALL, tracing->thread, NULL, NULL) != 0)
                return -1;
            status = spex_stop_wait(tracing->thread, call_seconds);
            if (status < 0 || !spex_stop_is_call(status))
                return status;
        }
        if (ptrace(PTRACE_GETREGS, tracing->thread, NULL, &registers) != 0)
            return -1;
        if (registers.rax != tracing->injection->calls[c].result) {
            spex_fail(tracing->error, -EIO, "its system call %u has failed: %s",
                      tracing->injection->calls[c].number, strerror(-(int)registers.rax));
            return status;
        }
    }
    *made = true;
    return status;
}

/* Gives the thread its registers back where the kernel then decides about a call that was interrupted, and lets it go. What
 * it does not get back here the code gives it. */
static void finish(struct tracing *tracing, int status) {
    if (status >= 0 && spex_stop_is_call(status)) {
        ptrace(PTRACE_INTERRUPT, tracing->thread, NULL, NULL);
        ptrace(PTRACE_CONT, tracing->thread, NULL, NULL);
        status = spex_stop_wait(tracing->thread, call_seconds);
    }
    if (status < 0 || !set_blocked(tracing, tracing->blocked) ||
        ptrace(PTRACE_SETREGS, tracing->thread, NULL, &tracing->registers) != 0)
        return;
    if (tracing->written)
        write_room(tracing, tracing->before);
    spex_stop_let_go(tracing->thread, status);
}

/* -EAGAIN: it is traced. */
static int hold_first(const struct tracing *tracing) {
    if (ptrace(PTRACE_SEIZE, tracing->injection->process, NULL, (void *)PTRACE_O_TRACESYSGOOD) == 0)
        return -EAGAIN;
    return spex_fail(tracing->error, -EPERM, "it may not be traced: %s", strerror(errno));
}

/* 0; -EAGAIN: another thread may do. */
static int run_in(struct tracing *tracing, pid_t thread, bool traced) {
    bool made;
    tracing->thread = thread;
    if (!traced && ptrace(PTRACE_SEIZE, thread, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0)
        return -EAGAIN;
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
        return -EAGAIN;
    int status = spex_stop_wait(tracing->thread, stop_seconds);
    if (status < 0)
        return -EAGAIN;
    if (!spex_stop_is_trap(status) || !read_registers(tracing)) {
        spex_stop_let_go(tracing->thread, status);
        return traced ? hold_first(tracing) : -EAGAIN;
    }
    if (!begin(tracing)) {
        finish(tracing, status);
        return spex_fail(tracing->error, -EACCES, "its code cannot be written");
    }
    snprintf(tracing->error->text, sizeof(tracing->error->text), "a signal came meanwhile");
    finish(tracing, make_calls(tracing, &made));
    return made ? 0 : -EIO;
}

/* Threads that do this. */
static int run_in_any(struct tracing *tracing, enum spex_stop_doing doing) {
    char path[64];
    pid_t process = tracing->injection->process;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    int err = -EAGAIN;
    while (err == -EAGAIN && threads && (entry = readdir(threads))) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread > 0 && spex_stop_doing(process, thread) == doing)
            err = run_in(tracing, thread, thread == process);
    }
    if (threads)
        closedir(threads);
    return err;
}

static void run(struct tracing *tracing) {
    static const enum spex_stop_doing order[] = {SPEX_STOP_RESTARTED, SPEX_STOP_REPEATED,
                                                 SPEX_STOP_RUNS};
    tracing->err = hold_first(tracing);
    for (size_t o = 0; tracing->err == -EAGAIN && o < sizeof(order) / sizeof(order[0]); o++)
        tracing->err = run_in_any(tracing, order[o]);
    if (tracing->err == -EAGAIN)
        spex_fail(tracing->error, -EAGAIN, "none of its threads can be stopped unnoticed");
}

/* What the child has of this process, and what it tells. */
struct shared {
    struct tracing tracing;
    struct spex_error error;
};

static int run_in_child(struct shared *shared, struct spex_error *error) {
    int status;
    shared->tracing.err = -EINTR;
    spex_error_set(&shared->error, "the process that makes its calls was killed");
    pid_t child = fork();
    if (child == 0) {
        setsid();
        run(&shared->tracing);
        _exit(0);
    }
    if (child < 0)
        return spex_fail(error, -errno, "there is no room for a process: %s", strerror(errno));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    *error = shared->error;
    return shared->tracing.err;
}

int spex_injection_run(const struct spex_injection *injection, struct spex_error *error) {
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return spex_fail(error, -ENOMEM, "out of memory");
    shared->tracing = (struct tracing){.injection = injection, .error = &shared->error};
    int err = run_in_child(shared, error);
    munmap(shared, sizeof(*shared));
    return err;
}

#else

const char *spex_injection_refused(pid_t process) {
    (void)process;
    return "this processor's code is not known";
}

int spex_injection_run(const struct spex_injection *injection, struct spex_error *error) {
    (void)injection;
    return spex_fail(error, -ENOTSUP, "this processor's code is not known");
}

#endif
