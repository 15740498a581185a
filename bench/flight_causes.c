/* SPDX-License-Identifier: MIT */
/* Serves requests, of which one in EVERY is made slow by a cause that is planted; for flight.py.
 *
 *     flight_causes CAUSE REQUESTS UNITS         so many requests of so many units, none slow
 *     flight_causes CAUSE 0 EVERY MILLISECONDS   until the input ends; slow ones from its first line on
 *
 *     request(units) ──┬── work   computes
 *                      └── step   what the cause makes slow
 *
 * A slow request is told by a line: when it began and ended, in nanoseconds since 1970. The end is a
 * summary as JSON. */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <spex/spex.h>

enum { REQUEST = 1, WORK, STEP };

SPEX_PROBE_NAME(REQUEST, "request");
SPEX_PROBE_NAME(WORK, "work");
SPEX_PROBE_NAME(STEP, "step");

enum { UNITS = 2, UNIT_ROUNDS = 5000, LOOK = 256, PAGE = 4096, READ_BYTES = PAGE };

static uint64_t slow_ns;
static volatile unsigned result_sink;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_slow(void) {
    const struct timespec time = {.tv_sec = (time_t)(slow_ns / 1000000000),
                                  .tv_nsec = (long)(slow_ns % 1000000000)};
    nanosleep(&time, NULL);
}

static void work(unsigned units) {
    unsigned sum = units;
    for (unsigned r = 0; r < units * UNIT_ROUNDS; r++)
        sum = sum * 31 + r;
    result_sink = sum;
}

/* Repeats what a cause does until the request is as slow as it is to be. */
static void repeat(void (*part)(void)) {
    uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + slow_ns;
    do
        part();
    while (clock_ns(CLOCK_MONOTONIC) < until_ns);
}

/* A slow disk: the preloaded library delays reads while the switch is on. */
static int disk_file;
static volatile char *disk_switch;

static void disk_prepare(void) {
    static const char page[READ_BYTES];
    const char *path = getenv("SLOW_DISK");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    disk_file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (map == MAP_FAILED || write(disk_file, page, sizeof(page)) != (ssize_t)sizeof(page))
        err(1, "SLOW_DISK");
    close(fd);
    disk_switch = map;
}

static void disk_step(void) {
    char page[READ_BYTES];
    result_sink = (unsigned)pread(disk_file, page, sizeof(page), 0);
}

static void disk_plant(void) {
    *disk_switch = '1';
    repeat(disk_step);
    *disk_switch = '0';
}

/* Another process on the other end of a pair of sockets. */
static int peer_socket;

static char peer_call(char what) {
    if (write(peer_socket, &what, 1) != 1 || read(peer_socket, &what, 1) != 1)
        err(1, "the other process");
    return what;
}

/* `slowly`: what it does when it is called with 's'; before its answer, or after it. */
static void peer_start(void (*slowly)(void), bool before) {
    int pair[2];
    char what;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        err(1, "socketpair");
    peer_socket = pair[0];
    if (fork() != 0) {
        close(pair[1]);
        return;
    }
    close(pair[0]);
    while (read(pair[1], &what, 1) == 1) {
        if (what == 's' && before)
            slowly();
        if (write(pair[1], &what, 1) != 1)
            break;
        if (what == 's' && !before)
            slowly();
    }
    _exit(0);
}

static void peer_prepare(void) {
    peer_start(sleep_slow, true);
}

static void peer_step(void) {
    peer_call('f');
}

static void peer_plant(void) {
    peer_call('s');
}

/* A thief of the CPU: another process that computes on the same one, before others where it may. */
static void thief_works(void) {
    uint64_t until_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + slow_ns;
    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
        continue;
}

static void thief_prepare(void) {
    const struct sched_param first = {.sched_priority = 1}, usual = {.sched_priority = 0};
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(sched_getcpu(), &own);
    sched_setaffinity(0, sizeof(own), &own);
    bool is_first = sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    peer_start(thief_works, false);
    if (is_first)
        sched_setscheduler(0, SCHED_OTHER, &usual);
}

static void thief_step(void) {
}

/* A lock that another thread holds. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t lock_asked, lock_held;

static void *lock_hold(void *unused) {
    for (;;) {
        while (sem_wait(&lock_asked))
            continue;
        pthread_mutex_lock(&lock);
        sem_post(&lock_held);
        sleep_slow();
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void lock_prepare(void) {
    pthread_t thread;
    sem_init(&lock_asked, 0, 0);
    sem_init(&lock_held, 0, 0);
    if (pthread_create(&thread, NULL, lock_hold, NULL))
        errx(1, "no thread");
}

static void lock_step(void) {
    pthread_mutex_lock(&lock);
    result_sink = result_sink + 1;
    pthread_mutex_unlock(&lock);
}

static void lock_plant(void) {
    sem_post(&lock_asked);
    while (sem_wait(&lock_held))
        continue;
    lock_step();
}

/* The allocator, which gives memory back to the system. */
static void allocator_step(void) {
    void *volatile block = malloc(1000);
    free(block);
}

static void allocator_part(void) {
    enum { BLOCKS = 1000 };
    static void *blocks[BLOCKS];
    for (int b = 0; b < BLOCKS; b++)
        blocks[b] = malloc(64 + (size_t)(b * 37 % 1000));
    for (int b = 0; b < BLOCKS; b++)
        free(blocks[b * 7 % BLOCKS]);
    malloc_trim(0);
}

static void allocator_plant(void) {
    repeat(allocator_part);
}

/* Memory that the system has taken back. */
enum { PAGES = 64 };
static char *pages;

static void faults_prepare(void) {
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        err(1, "no memory");
}

static void faults_step(void) {
    for (int p = 0; p < PAGES; p++)
        pages[p * PAGE]++;
}

static void faults_part(void) {
    madvise(pages, PAGES * PAGE, MADV_DONTNEED);
    faults_step();
}

static void faults_plant(void) {
    repeat(faults_part);
}

/* A burst: so many come at once that they take so long. */
static void burst_step(void) {
    work(1);
}

static void burst_plant(void) {
    repeat(burst_step);
}

static void nothing(void) {
}

static const struct cause {
    const char *name;
    void (*prepare)(void), (*step)(void), (*plant)(void);
} causes[] = {
    {"disk", disk_prepare, disk_step, disk_plant},
    {"thief", thief_prepare, thief_step, peer_plant},
    {"lock", lock_prepare, lock_step, lock_plant},
    {"allocator", nothing, allocator_step, allocator_plant},
    {"faults", faults_prepare, faults_step, faults_plant},
    {"peer", peer_prepare, peer_step, peer_plant},
    {"burst", nothing, burst_step, burst_plant},
};

static void serve(const struct cause *cause, unsigned units, bool slow) {
    KERNEL_PROBE_BEGIN(REQUEST, 1, units);
    LAT_PROBE_BEGIN(WORK, 1);
    work(units);
    LAT_PROBE_END(WORK);
    LAT_PROBE_BEGIN(STEP, 1);
    for (unsigned u = 0; u < (slow ? 1 : units); u++)
        (slow ? cause->plant : cause->step)();
    LAT_PROBE_END(STEP);
    KERNEL_PROBE_END(REQUEST);
}

static void serve_slow(const struct cause *cause, unsigned units) {
    uint64_t begin_ns = clock_ns(CLOCK_REALTIME);
    serve(cause, units, true);
    printf("%" PRIu64 " %" PRIu64 "\n", begin_ns, clock_ns(CLOCK_REALTIME));
    fflush(stdout);
}

/* Looks at the input now and then. False: it has ended. */
static bool input_goes_on(uint64_t done, bool *begun) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[16];
    if (done % LOOK || poll(&input, 1, 0) != 1)
        return true;
    *begun = true;
    return read(STDIN_FILENO, line, sizeof(line)) > 0;
}

static uint64_t serve_many(const struct cause *cause, uint64_t requests, unsigned units) {
    for (uint64_t done = 0; done < requests; done++)
        serve(cause, units, false);
    return requests;
}

static uint64_t serve_with_slow(const struct cause *cause, uint64_t every) {
    uint64_t done = 0, since = 0;
    for (bool begun = false; input_goes_on(done, &begun); done++) {
        since += begun;
        if (since == every)
            serve_slow(cause, UNITS);
        else
            serve(cause, UNITS, false);
        since %= every;
    }
    return done;
}

static const struct cause *cause_named(const char *name) {
    for (size_t c = 0; c < sizeof(causes) / sizeof(causes[0]); c++)
        if (strcmp(causes[c].name, name) == 0)
            return &causes[c];
    errx(2, "%s: no such cause", name);
}

int main(int argc, char **argv) {
    if (argc < 4)
        errx(2, "a cause, requests, and units or one in how many were expected");
    const struct cause *cause = cause_named(argv[1]);
    uint64_t requests = strtoull(argv[2], NULL, 10), number = strtoull(argv[3], NULL, 10);
    slow_ns = argc > 4 ? (uint64_t)(strtod(argv[4], NULL) * 1e6) : 0;
    cause->prepare();
    spex_start(NULL);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t done =
        requests ? serve_many(cause, requests, (unsigned)number) : serve_with_slow(cause, number);
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC);
    thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - thread_ns;
    spex_stop();
    printf("{\"requests\": %" PRIu64 ", \"seconds\": %.6f, \"thread_seconds\": %.6f, "
           "\"process_seconds\": %.6f}\n",
           done, (double)(end_ns - begin_ns) / 1e9, (double)thread_ns / 1e9,
           (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    return 0;
}
