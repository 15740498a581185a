/* SPDX-License-Identifier: MIT */
/* A debugger's breakpoint stands at the program's first instruction while the loader works, and is taken away before
 * that instruction is executed. */
#define _GNU_SOURCE
#include "observe/held_launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The breakpoint, and whether the processor stands behind it when it has been hit. */
#if defined(__x86_64__)
static const uint8_t breakpoint[] = {0xcc};
#else
static const uint8_t breakpoint[] = {0x00, 0x00, 0x20, 0xd4};
#endif

/* The address of the first instruction; 0: it cannot be told. */
static uint64_t first_instruction(pid_t process) {
    char path[64];
    Elf64_auxv_t entry;
    uint64_t found = 0;
    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !found && read(fd, &entry, sizeof(entry)) == sizeof(entry))
        if (entry.a_type == AT_ENTRY)
            found = entry.a_un.a_val;
    if (fd >= 0)
        close(fd);
    return found;
}

/* Lets it go on with a signal, or without, until it stops. Returns the signal that it stops with; -ECHILD: it has
 * ended, which is left to be waited for. */
static int go_on(pid_t process, int signal_number) {
    siginfo_t info;
    if (ptrace(PTRACE_CONT, process, NULL, (void *)(intptr_t)signal_number) != 0)
        return -errno;
    while (waitid(P_PID, (id_t)process, &info, WEXITED | WSTOPPED | WNOWAIT) != 0)
        if (errno != EINTR)
            return -errno;
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
        return -ECHILD;
    int status;
    return waitpid(process, &status, 0) == process && WIFSTOPPED(status) ? WSTOPSIG(status)
                                                                         : -ECHILD;
}

/* Has it execute the instruction that the breakpoint stood in front of. */
static int step_back(pid_t process) {
#if defined(__x86_64__)
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, process, NULL, &registers) != 0)
        return -errno;
    registers.rip -= sizeof(breakpoint);
    if (ptrace(PTRACE_SETREGS, process, NULL, &registers) != 0)
        return -errno;
#else
    (void)process;
#endif
    return 0;
}

/* Other signals than the breakpoint's are the program's. */
static int run_to(pid_t process, uint64_t address) {
    void *at = (void *)(uintptr_t)address;
    errno = 0;
    long there = ptrace(PTRACE_PEEKTEXT, process, at, NULL), with = there;
    if (errno)
        return -errno;
    memcpy(&with, breakpoint, sizeof(breakpoint));
    if (ptrace(PTRACE_POKETEXT, process, at, (void *)with) != 0)
        return -errno;
    int stopped = 0;
    do
        stopped = go_on(process, stopped);
    while (stopped >= 0 && stopped != SIGTRAP);
    if (stopped < 0)
        return stopped;
    if (ptrace(PTRACE_POKETEXT, process, at, (void *)there) != 0)
        return -errno;
    return step_back(process);
}

static int hold(pid_t process) {
    int status;
    if (waitpid(process, &status, 0) != process || !WIFSTOPPED(status))
        return -ECHILD;
    if (ptrace(PTRACE_SETOPTIONS, process, NULL, (void *)(intptr_t)PTRACE_O_EXITKILL) != 0)
        return -errno;
    uint64_t address = first_instruction(process);
    return address ? run_to(process, address) : -EIO;
}

int spex_launch_held(struct spex_launched *program, char *const *argv, const sigset_t *mask) {
    int err = spex_launch_traced(program, argv, mask);
    if (err)
        return err;
    err = hold(program->process);
    if (err)
        spex_held_kill(program);
    return err;
}

void spex_held_release(const struct spex_launched *program) {
    ptrace(PTRACE_DETACH, program->process, NULL, NULL);
}

void spex_held_kill(const struct spex_launched *program) {
    kill(program->process, SIGKILL);
    while (waitpid(program->process, NULL, 0) < 0 && errno == EINTR)
        ;
}
