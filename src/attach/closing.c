/* SPDX-License-Identifier: MIT */
/* The other process is a copy of this one's descriptors and little more: it shares the memory, runs on a stack of its own,
 * and waits until this process has closed its descriptors, or has ended. It makes system calls alone, none of which fails,
 * since errno is that of the thread which it was made by. */
#define _GNU_SOURCE
#include "attach/closing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 16 };

/* Both ends of a pipe, nothing of which is read but its end. */
static int wait_and_end(void *gate) {
    const int *ends = gate;
    int own[2] = {ends[0], ends[1]};
    char byte;
    syscall(SYS_close, own[1]);
    syscall(SYS_read, own[0], &byte, 1);
    syscall(SYS_exit, 0);
    return 0;
}

/* 0: there is none, as there is no room. It has ended when `gate` is closed everywhere else. */
static pid_t start(struct spex_closing *closing, const int *gate) {
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return 0;
    closing->stack = stack;
    /* Far below the stack's begin: it is read after this function has returned. */
    int *kept = stack;
    kept[0] = gate[0];
    kept[1] = gate[1];
    pid_t process = clone(wait_and_end, (char *)stack + STACK_BYTES, CLONE_VM, kept);
    return process < 0 ? 0 : process;
}

/* One at a time: a process that is made while a gate is open has it, too. Two that had each other's would wait for ever. */
static pthread_mutex_t gates = PTHREAD_MUTEX_INITIALIZER;

void spex_closing_begin(struct spex_closing *closing, const int *descriptors, size_t count) {
    int gate[2] = {-1, -1};
    *closing = (struct spex_closing){.process = 0};
    pthread_mutex_lock(&gates);
    if (pipe2(gate, O_CLOEXEC) == 0)
        closing->process = start(closing, gate);
    for (size_t d = 0; d < count; d++)
        if (descriptors[d] >= 0)
            close(descriptors[d]);
    for (int end = 0; end < 2; end++)
        if (gate[end] >= 0)
            close(gate[end]);
    pthread_mutex_unlock(&gates);
}

double spex_closing_wait(struct spex_closing *closing) {
    struct rusage used = {.ru_utime = {0}};
    pid_t got = 0;
    while (closing->process && (got = wait4(closing->process, NULL, __WALL, &used)) < 0 &&
           errno == EINTR)
        ;
    if (closing->stack)
        munmap(closing->stack, STACK_BYTES);
    *closing = (struct spex_closing){.process = 0};
    return got > 0 ? (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6
                   : 0;
}
