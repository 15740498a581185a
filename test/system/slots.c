/* SPDX-License-Identifier: MIT */
/* A program that knows nothing of spex, and calls a function of a library through slots. It does what its standard input says, a
 * command a line, and answers with the calls so far. It aborts where it notices that it was stopped: a call that waits has
 * ended too early, or a register has another value. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "slotted.h"

static volatile int stop;
/* Another function is called, whose first instructions are short. */
static int steps;
static volatile uint64_t signals_taken;
/* Pipes of which nothing is ever read, and threads that wait. */
static int ends[2], sockets[2];

static void need(int right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "slots: %s: errno %d\n", what, errno);
    abort();
}

static void *call(void *count) {
    for (uintptr_t c = 0; c < (uintptr_t)count; c++)
        need((steps ? slotted_steps(1, 2, 3, 4, 5, 6, c, 7.0)
                    : slotted(1, 2, 3, 4, 5, 6, c, 7.0)) == 28 + c,
             "a sum is wrong");
    return NULL;
}

static void *call_on(void *unused) {
    while (!stop)
        call((void *)(uintptr_t)1000);
    return unused;
}

/* Each waits for what never comes. */
static void *wait_epoll(void *unused) {
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    need(epoll_wait(epoll, &event, 1, -1) == -2, "epoll_wait");
    return unused;
}

static void *wait_poll(void *unused) {
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    need(poll(&one, 1, -1) == -2, "poll");
    return unused;
}

static void *wait_read(void *unused) {
    char byte;
    need(read(ends[0], &byte, 1) == -2, "read");
    return unused;
}

static void *wait_receive(void *unused) {
    char byte;
    const struct timeval time = {.tv_sec = 1000};
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    need(recv(sockets[0], &byte, 1, 0) == -2, "recv");
    return unused;
}

static void *wait_select(void *unused) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    need(select(ends[0] + 1, &set, NULL, NULL, NULL) == -2, "select");
    return unused;
}

static void *wait_sleep(void *unused) {
    const struct timespec time = {.tv_sec = 100000};
    need(nanosleep(&time, NULL) == -2, "nanosleep");
    return unused;
}

/* Writes more than a pipe or a socket has room for, which another thread reads: all of it is to be written by each call, in order. */
enum { BLOCK = 1 << 18, PARTS = 5 };
static int streams[3][2];

static unsigned char byte_at(uint64_t at) {
    return (unsigned char)(at * 31 + (at >> 9));
}

/* So that the others wait most of the time. */
static void pause_shortly(void) {
    const struct timespec time = {.tv_nsec = 1000000};
    nanosleep(&time, NULL);
}

static void *read_stream(void *user) {
    const int *ends_of = user;
    unsigned char bytes[3000];
    ssize_t got;
    for (uint64_t at = 0; (got = read(ends_of[0], bytes, sizeof(bytes))) > 0; pause_shortly())
        for (ssize_t b = 0; b < got; b++, at++)
            need(bytes[b] == byte_at(at % BLOCK), "a byte that was written twice, or not");
    need(0, "read");
    return NULL;
}

static void *write_stream(void *user) {
    const int *ends_of = user;
    unsigned char *block = malloc(BLOCK);
    pthread_t reader;
    need(block != NULL, "malloc");
    for (uint64_t b = 0; b < BLOCK; b++)
        block[b] = byte_at(b);
    need(pthread_create(&reader, NULL, read_stream, user) == 0, "pthread_create");
    for (;;) {
        struct iovec parts[PARTS] = {{block, 1000},
                                     {block + 1000, 0},
                                     {block + 1000, 70000},
                                     {block + 71000, 1},
                                     {block + 71001, BLOCK - 71001}};
        ssize_t written = user == streams[0]   ? write(ends_of[1], block, BLOCK)
                          : user == streams[1] ? writev(ends_of[1], parts, PARTS)
                                               : send(ends_of[1], block, BLOCK, MSG_NOSIGNAL);
        need(written == BLOCK, "a part was written");
        need(parts[4].iov_base == block + 71001, "iovec");
    }
    return NULL;
}

static void *wait_write(void *unused) {
    for (int s = 0; s < 3; s++) {
        pthread_t thread;
        need((s < 2 ? pipe(streams[s]) : socketpair(AF_UNIX, SOCK_STREAM, 0, streams[s])) == 0,
             "pipe");
        need(pthread_create(&thread, NULL, write_stream, streams[s]) == 0, "pthread_create");
    }
    return unused;
}

/* Two threads wait for each other in calls that return -EINTR. */
static int semaphores;

static void *take_turns(void *user) {
    unsigned short own = (unsigned short)(uintptr_t)user;
    struct sembuf take = {own, -1, 0}, give = {(unsigned short)(1 - own), 1, 0};
    for (;; pause_shortly())
        need(semop(semaphores, &take, 1) == 0 && semop(semaphores, &give, 1) == 0, "semop");
    return NULL;
}

/* Semaphores stay when a process ends: a child removes them then. */
static void remove_in_the_end(void) {
    sigset_t set;
    int number;
    pid_t parent = getpid();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (fork())
        return;
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    if (getppid() == parent)
        sigwait(&set, &number);
    semctl(semaphores, 0, IPC_RMID);
    _exit(0);
}

static void *wait_semaphore(void *unused) {
    pthread_t other;
    struct sembuf first = {0, 1, 0};
    semaphores = semget(IPC_PRIVATE, 2, 0600);
    need(semaphores >= 0 && semop(semaphores, &first, 1) == 0, "semget");
    remove_in_the_end();
    need(pthread_create(&other, NULL, take_turns, NULL) == 0, "pthread_create");
    (void)unused;
    return take_turns((void *)(uintptr_t)1);
}

/* Registers keep their values, and what is below the stack pointer does. */
static void *spin(void *unused) {
#ifdef __x86_64__
    while (!stop) {
        uint64_t wrong = 0;
        __asm__ volatile(
            "movq $0x1111, -8(%%rsp)\n movq $0x2222, -120(%%rsp)\n"
            "mov $2, %%edx\n mov $3, %%esi\n mov $4, %%edi\n mov $5, %%r8d\n mov $6, %%r9d\n"
            "mov $7, %%r10d\n mov $8, %%r11d\n mov $9, %%r12d\n mov $10, %%r13d\n"
            "mov $11, %%r14d\n mov $12, %%r15d\n movq %%r15, %%xmm7\n mov $100000, %%ecx\n std\n"
            "1: dec %%rcx\n jnz 1b\n"
            "pushfq\n pop %%rax\n cld\n"
            "sub %%rdx, %%rax\n sub $2, %%rdx\n or %%rdx, %0\n sub $3, %%rsi\n or %%rsi, %0\n"
            "sub $4, %%rdi\n or %%rdi, %0\n sub $5, %%r8\n or %%r8, %0\n sub $6, %%r9\n or %%r9, "
            "%0\n"
            "sub $7, %%r10\n or %%r10, %0\n sub $8, %%r11\n or %%r11, %0\n sub $9, %%r12\n"
            "or %%r12, %0\n sub $10, %%r13\n or %%r13, %0\n sub $11, %%r14\n or %%r14, %0\n"
            "movq %%xmm7, %%rax\n sub $12, %%rax\n or %%rax, %0\n or %%rcx, %0\n"
            "subq $0x2222, -120(%%rsp)\n or -120(%%rsp), %0\n"
            : "+b"(wrong)
            :
            : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
              "r15", "xmm7", "memory", "cc");
        need(!wrong, "a register has another value");
    }
#endif
    return unused;
}

struct work {
    const char *name;
    void *(*run)(void *);
    sem_t begun;
};

static void *begin(void *user) {
    struct work *work = user;
    need(sem_post(&work->begun) == 0, "sem_post");
    return work->run(NULL);
}

/* The thread has begun afterwards: it blocks all signals for a moment before. */
static void start(struct work *work, const char *what) {
    pthread_t thread;
    if (strcmp(what, work->name) != 0 && strcmp(what, "all") != 0)
        return;
    need(sem_init(&work->begun, 0, 0) == 0, "sem_init");
    need(pthread_create(&thread, NULL, begin, work) == 0, "pthread_create");
    pthread_detach(thread);
    while (sem_wait(&work->begun) != 0)
        need(errno == EINTR, "sem_wait");
}

/* Signals are for the others: they end some of these calls. */
static void wait_in(const char *what) {
    static struct work waits[] = {{"epoll", wait_epoll, {{0}}},   {"poll", wait_poll, {{0}}},
                                  {"read", wait_read, {{0}}},     {"receive", wait_receive, {{0}}},
                                  {"select", wait_select, {{0}}}, {"sleep", wait_sleep, {{0}}}},
                       writes = {"write", wait_write, {{0}}},
                       semaphore = {"semaphore", wait_semaphore, {{0}}},
                       calls = {"calls", call_on, {{0}}}, spins = {"spin", spin, {{0}}};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t w = 0; w < sizeof(waits) / sizeof(waits[0]); w++)
        start(&waits[w], what);
    if (strcmp(what, "all") != 0) {
        start(&writes, what);
        start(&semaphore, what);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    start(&calls, what);
    start(&spins, what);
}

static void call_in_threads(unsigned long count) {
    pthread_t threads[8];
    for (int t = 0; t < 8; t++)
        need(pthread_create(&threads[t], NULL, call, (void *)(uintptr_t)(count / 8)) == 0,
             "thread");
    for (int t = 0; t < 8; t++)
        pthread_join(threads[t], NULL);
}

/* The child has the slots as they were, and calls as often, which is not to be counted. */
static void call_and_fork(unsigned long count) {
    pid_t child = fork();
    call((void *)(uintptr_t)count);
    if (child == 0)
        _exit(0);
    int status;
    need(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child has failed");
}

static void handle(int number) {
    (void)number;
    signals_taken = signals_taken + 1;
    call((void *)(uintptr_t)1);
}

/* The child calls when it is told to, and says how often the function was called then. */
static void make_child(void) {
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid_t child = fork();
    if (child) {
        printf("%d\n", (int)child);
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    uint64_t before = slotted_calls;
    sigwait(&set, &number);
    call((void *)(uintptr_t)1000);
    printf("%lu\n", (unsigned long)(slotted_calls - before));
    pause();
}

/* Signals all the time, in whichever thread. */
static void take_signals(void) {
    const struct itimerval time = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    need(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &time, NULL) == 0,
         "timer");
}

/* A library that calls the function, too, is loaded and unloaded. */
static void load(const char *library, unsigned long count) {
    for (unsigned long c = 0; c < count; c++) {
        void *object = dlopen(library, RTLD_NOW);
        void (*calls)(void) = NULL;
        if (object)
            *(void **)&calls = dlsym(object, "calls");
        need(calls != NULL, "dlopen");
        calls();
        dlclose(object);
    }
}

static void filter_calls(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
             prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
         "seccomp");
}

static void *obey(void *unused) {
    char line[256], command[32], what[200];
    while (fgets(line, sizeof(line), stdin)) {
        unsigned long count = 0;
        what[0] = '\0';
        /* NOLINTNEXTLINE(cert-err34-c): a test's */
        if (sscanf(line, "%31s %lu %199s", command, &count, what) < 1)
            abort();
        if (strcmp(command, "call") == 0)
            call((void *)(uintptr_t)count);
        else if (strcmp(command, "within") == 0)
            slotted_within(count);
        else if (strcmp(command, "direct") == 0)
            for (unsigned long c = 0; c < count; c++)
                slotted_direct();
        else if (strcmp(command, "threads") == 0)
            call_in_threads(count);
        else if (strcmp(command, "fork") == 0)
            call_and_fork(count);
        else if (strcmp(command, "wait") == 0)
            wait_in(what);
        else if (strcmp(command, "child") == 0) {
            make_child();
            continue;
        } else if (strcmp(command, "signals") == 0)
            take_signals();
        else if (strcmp(command, "load") == 0)
            load(what, count);
        else if (strcmp(command, "seccomp") == 0)
            filter_calls();
        else if (strcmp(command, "exec") == 0)
            execl("/bin/cat", "cat", (char *)NULL);
        else if (strcmp(command, "end") == 0)
            exit(0);
        else if (strcmp(command, "leave") == 0)
            return unused;
        printf("%lu %lu\n", (unsigned long)__atomic_load_n(&slotted_calls, __ATOMIC_RELAXED),
               (unsigned long)signals_taken);
    }
    exit(0);
}

int main(int argc, char **argv) {
    pthread_t other;
    steps = argc > 1 && strcmp(argv[1], "steps") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    need(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "pipe");
    puts("ready");
    obey(NULL);
    /* The first thread ends, and another one goes on. */
    need(pthread_create(&other, NULL, obey, NULL) == 0, "pthread_create");
    pthread_exit(NULL);
}
