/* SPDX-License-Identifier: MIT */
/* A program that is dormant: it calls spex_start before it has a second thread, and no probe is on.
 *
 *   dormant MANNER
 *
 * Says "ready" on standard output, executes probes in its manner until standard input ends, and then
 * writes how often it has executed each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

static long executions;

static void work(void) {
    SPEX_LAT_BEGIN(work);
    executions++;
    SPEX_LAT_END(work);
}

static bool input_ended(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char line[64];
    return poll(&input, 1, 0) > 0 && read(0, line, sizeof(line)) <= 0;
}

static void ready(void) {
    if (write(1, "ready\n", 6) != 6)
        abort();
}

static void in_a_loop(void) {
    ready();
    while (!input_ended())
        for (int i = 0; i < 1000; i++)
            work();
}

/* Executes one for each line, and says so. */
static void on_demand(void) {
    char line[64];
    ready();
    while (read(0, line, sizeof(line)) > 0) {
        work();
        if (write(1, "executed\n", 9) != 9)
            abort();
    }
}

static bool stops;

static void *worker(void *arg) {
    while (!__atomic_load_n(&stops, __ATOMIC_RELAXED))
        work();
    return arg;
}

/* The first thread executes none. */
static void in_a_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL) != 0)
        abort();
    ready();
    while (!input_ended())
        usleep(1000);
    __atomic_store_n(&stops, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static void handler(int signal) {
    (void)signal;
    work();
}

/* Executes probes in handlers alone, which interrupt malloc mostly, until a line comes. */
static void in_handlers(bool alternate) {
    static char other[1 << 16];
    const stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
    const struct itimerval every = {.it_interval.tv_usec = 100, .it_value.tv_usec = 100};
    const struct itimerval never = {.it_value.tv_usec = 0};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (alternate) {
        action.sa_flags |= SA_ONSTACK;
        sigaltstack(&stack, NULL);
    }
    sigaction(SIGALRM, &action, NULL);
    ready();
    setitimer(ITIMER_REAL, &every, NULL);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 0) <= 0)
        for (int i = 0; i < 100; i++) {
            void *volatile memory = malloc((size_t)i + 1);
            free(memory);
        }
    setitimer(ITIMER_REAL, &never, NULL);
    while (!input_ended())
        work();
}

static void on_this_stack(void) {
    in_handlers(false);
}

static void on_another_stack(void) {
    in_handlers(true);
}

/* In a coroutine, whose stack is in the heap. */
static void in_a_coroutine(void) {
    static ucontext_t back, there;
    const size_t bytes = 1 << 16;
    char *stack = malloc(bytes);
    if (!stack || getcontext(&there) != 0)
        abort();
    there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
    there.uc_link = &back;
    makecontext(&there, in_a_loop, 0);
    swapcontext(&back, &there);
    free(stack);
}

/* Sites of most types, one within the other. */
static void nested(uint64_t key) {
    SPEX_KERNEL_BEGIN(kernel, 1, key);
    SPEX_TPT_BEGIN(throughput);
    SPEX_FLT_BEGIN(faults);
    SPEX_CTXSW_BEGIN(switches);
    SPEX_SNAPSHOT("snapshot", key);
    SPEX_CTXSW_END(switches);
    SPEX_FLT_END(faults);
    SPEX_TPT_END(throughput);
    SPEX_KERNEL_END(kernel);
}

static void of_all_types(void) {
    ready();
    for (uint64_t key = 1; !input_ended(); key++) {
        SPEX_REGION(1, 2, {
            SPEX_CNT_BEGIN(inner);
            executions++;
            SPEX_CNT_END(inner);
        })
        SPEX_SPAN_BEGIN("span", key);
        nested(key);
        SPEX_SPAN_END("span", key);
    }
}

/* Probes in a region alone. */
static void in_a_region(void) {
    ready();
    while (!input_ended())
        SPEX_REGION(2, 2, {
            SPEX_CNT_BEGIN(alone);
            executions++;
            SPEX_CNT_END(alone);
        })
}

/* In a function that the C library calls. */
static int compare(const void *one, const void *other) {
    work();
    return *(const int *)one - *(const int *)other;
}

static void in_a_callback(void) {
    int numbers[64];
    ready();
    while (!input_ended()) {
        for (int i = 0; i < 64; i++)
            numbers[i] = i * 37 % 64;
        qsort(numbers, 64, sizeof(numbers[0]), compare);
    }
}

/* Children execute probes, too, and end by themselves. */
static void with_children(void) {
    ready();
    while (!input_ended()) {
        pid_t child = fork();
        for (int i = 0; i < 100; i++)
            work();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
}

/* Its descriptors are closed behind spex, and used for others. */
static void without_descriptors(void) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 3; fd < 64; fd++)
        dup2(null, fd);
    in_a_loop();
}

/* Starting a thread would end the process. */
static void in_a_sandbox(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = 1, .filter = &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        abort();
    in_a_loop();
}

/* It switches a probe on itself. */
static void by_itself(void) {
    if (spex_set("work") != 1)
        abort();
    in_a_loop();
}

static const struct manner {
    const char *name;
    void (*run)(void);
} manners[] = {
    {"loop", in_a_loop},         {"demand", on_demand},       {"thread", in_a_thread},
    {"handler", on_this_stack},  {"stack", on_another_stack}, {"coroutine", in_a_coroutine},
    {"callback", in_a_callback}, {"children", with_children}, {"closed", without_descriptors},
    {"sandbox", in_a_sandbox},   {"itself", by_itself},       {"types", of_all_types},
    {"region", in_a_region},
};

int main(int argc, char **argv) {
    if (spex_start(NULL) != 0)
        return 1;
    for (size_t m = 0; argc == 2 && m < sizeof(manners) / sizeof(manners[0]); m++)
        if (strcmp(argv[1], manners[m].name) == 0) {
            manners[m].run();
            printf("%ld\n", executions);
            return 0;
        }
    fprintf(stderr, "dormant: a manner was expected\n");
    return 2;
}
