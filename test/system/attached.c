/* SPDX-License-Identifier: MIT */
/* A program that knows nothing of spex, with functions that it counts itself. It does what its standard input
 * says, a command a line, and answers with the counts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../usdt_notes.h"

#define SEEN __attribute__((noinline, visibility("default")))

static uint64_t called;
static volatile uint64_t deep, escaped, handled;
static jmp_buf place;

SEEN void locked(void);
SEEN void locked(void) {
    __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

SEEN void plain(void);
SEEN void plain(void) {
    __asm__ volatile("nop");
    __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

/* Each level takes at least a tenth of a millisecond. */
SEEN unsigned recursive(unsigned depth);
SEEN unsigned recursive(unsigned depth) {
    deep = deep + 1;
    usleep(100);
    unsigned below = depth ? recursive(depth - 1) + depth : 0;
    __asm__ volatile("" : "+r"(below)); /* or it becomes a loop */
    return below;
}

/* A USDT probe at two sites, and one that is executed only while somebody looks at it. */
extern volatile unsigned short looked_at;
volatile unsigned short looked_at __attribute__((section(".probes")));

SEEN void probed(unsigned long count);
SEEN void probed(unsigned long count) {
    for (unsigned long c = 0; c < count; c++) {
        USDT_SITE("attached", "twice", "0");
        if (c % 2)
            USDT_SITE("attached", "twice", "0");
        if (!looked_at)
            continue;
        USDT_SITE("attached", "guarded", "looked_at");
        deep = deep + 1;
    }
}

/* Its time is in proportion to `turns`. */
static volatile unsigned long slowness = 1;

SEEN unsigned long takes(const char *ignored, int sign, unsigned long turns);
SEEN unsigned long takes(const char *ignored, int sign, unsigned long turns) {
    unsigned long sum = 0;
    for (unsigned long t = slowness * turns; t; t--)
#ifdef __x86_64__
        __asm__ volatile("imul $3, %0, %0; add $1, %0" : "+r"(sum));
#else
        __asm__ volatile("add %0, %0, %0, lsl #1; add %0, %0, #1" : "+r"(sum));
#endif
    __asm__ volatile("" ::"r"(ignored), "r"(sign));
    return sum;
}

static void take(unsigned long count) {
    unsigned long sum = 0;
    for (unsigned long c = 1; c <= count; c++)
        sum += takes(NULL, c % 2 ? -1 : 1, c % 100 * 1000);
    called += sum == 1;
}

SEEN void ends_elsewhere(void);
SEEN void ends_elsewhere(void) {
    if (called % 2)
        deep = deep + 1;
    plain(); /* by a jump, when optimised */
}

SEEN void escapes(int far);
SEEN void escapes(int far) {
    escaped = escaped + 1;
    if (far)
        longjmp(place, 1);
    plain();
}

SEEN void handler(int signal);
SEEN void handler(int signal) {
    (void)signal;
    handled = handled + 1;
}

static void *run_plain(void *count) {
    for (uintptr_t c = 0; c < (uintptr_t)count; c++)
        plain();
    return NULL;
}

static void call_in_threads(unsigned long count) {
    pthread_t threads[8];
    for (int t = 0; t < 8; t++)
        if (pthread_create(&threads[t], NULL, run_plain, (void *)(uintptr_t)(count / 8)) != 0)
            abort();
    for (int t = 0; t < 8; t++)
        pthread_join(threads[t], NULL);
}

/* The child calls as often, which is not to be counted. */
static void call_and_fork(unsigned long count) {
    pid_t child = fork();
    run_plain((void *)(uintptr_t)count);
    if (child == 0)
        _exit(0);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        abort();
}

static void leave(unsigned long count) {
    for (volatile unsigned long c = 0; c < count; c = c + 1)
        if (setjmp(place) == 0)
            escapes(c % 2);
}

static void take_signals(unsigned long count) {
    signal(SIGUSR1, handler);
    for (unsigned long c = 0; c < count; c++)
        raise(SIGUSR1);
}

static void load(const char *library, unsigned long count) {
    void *object = dlopen(library, RTLD_NOW);
    void (*loaded)(void) = NULL;
    if (object)
        *(void **)&loaded = dlsym(object, "loaded");
    if (!loaded)
        abort();
    for (unsigned long c = 0; c < count; c++) {
        loaded();
        usleep(1000);
    }
}

static void throw(const char *library, unsigned long count) {
    void *object = dlopen(library, RTLD_NOW);
    unsigned (*thrown)(unsigned) = NULL;
    if (object)
        *(void **)&thrown = dlsym(object, "thrown");
    if (!thrown || thrown((unsigned)count) != (unsigned)count)
        abort();
}

int main(void) {
    char line[256], command[32], what[200];
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof(line), stdin)) {
        unsigned long count = 0;
        what[0] = '\0';
        /* NOLINTNEXTLINE(cert-err34-c): a test's */
        if (sscanf(line, "%31s %lu %199s", command, &count, what) < 1)
            abort();
        if (strcmp(command, "plain") == 0)
            run_plain((void *)(uintptr_t)count);
        else if (strcmp(command, "locked") == 0)
            for (unsigned long c = 0; c < count; c++)
                locked();
        else if (strcmp(command, "threads") == 0)
            call_in_threads(count);
        else if (strcmp(command, "recursive") == 0)
            recursive((unsigned)count);
        else if (strcmp(command, "tail") == 0)
            for (unsigned long c = 0; c < count; c++)
                ends_elsewhere();
        else if (strcmp(command, "escapes") == 0)
            leave(count);
        else if (strcmp(command, "signals") == 0)
            take_signals(count);
        else if (strcmp(command, "fork") == 0)
            call_and_fork(count);
        else if (strcmp(command, "load") == 0)
            load(what, count);
        else if (strcmp(command, "throw") == 0)
            throw(what, count);
        else if (strcmp(command, "take") == 0)
            take(count);
        else if (strcmp(command, "slow") == 0)
            slowness = count;
        else if (strcmp(command, "probe") == 0)
            probed(count);
        else if (strcmp(command, "exec") == 0)
            execl("/bin/cat", "cat", (char *)NULL);
        else if (strcmp(command, "end") == 0)
            break;
        printf("%lu %lu %lu %lu\n", (unsigned long)called, (unsigned long)deep,
               (unsigned long)escaped, (unsigned long)handled);
    }
    return 0;
}
