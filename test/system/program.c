/* SPDX-License-Identifier: MIT */
/* A program with probes for the system tests: works 1,000 times and leaves the rest to the user.
 *
 *     program [stop|exit|twice|away|forks|closes|limited|cramped|timed|switched|family|executes|threads|never|often]
 *
 *     stop     ends with spex_stop
 *     exit     leaves that to the library
 *     twice    starts again after a stop, with the output that is named behind
 *     away     changes its directory after the start
 *     forks    two children start, too, one after the other, and work before their parent does
 *     closes   closes all descriptors after the start, and uses their numbers for files "own"
 *     limited  has 32 MiB of address space left; ends with 77 where a sanitizer needs more
 *     cramped  has less of it left than a thread takes; likewise
 *     timed    tells how long it was from before the start to after the stop, without the naps
 *     switched switches all on with spex_set, for a part of its time, and tells how long that was at most and
 *              at least
 *     family   a child works, then its child, and then the program itself; none of them starts spex again
 *     executes a child works, and then executes this program anew
 *     threads  two threads work ten times each while a third forks children that work
 *     never    does no work
 *     often    ten times starts, works and stops */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { REQUEST = 7, STEP = 8, UNNAMED = 9 };
enum { FORKS = 3, TIMES = 10 };
enum { FIRST_FD = 3, LAST_FD = 19, NAP_TIMES = 20, SKIP = 77 };

SPEX_PROBE_NAME(REQUEST, "request");
SPEX_PROBE_NAME(STEP, "request.step");

static const char *mode = "stop";
static volatile unsigned sink;
static double napped;

static bool is(const char *name) {
    return strcmp(mode, name) == 0;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Instead of the C library's: much longer, so that a nap that gets into a time cannot hide in
 * it. */
int nanosleep(const struct timespec *request, struct timespec *remaining) {
    double begin = now();
    (void)remaining;
    for (int i = 0; i < (is("timed") ? NAP_TIMES : 1); i++)
        clock_nanosleep(CLOCK_MONOTONIC, 0, request, NULL);
    napped += now() - begin;
    return 0;
}

static void work(void) {
    for (unsigned i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(REQUEST, 1);
        CNT_PROBE_BEGIN(STEP, 10);
        sink += i;
        CNT_PROBE_END(STEP);
        LAT_PROBE_END(REQUEST);
        SNAPSHOT_PROBE(UNNAMED, 1, i, 2 * i);
    }
}

static void work_often(void) {
    for (int i = 1; i < TIMES; i++) {
        work();
        spex_stop();
        spex_start(NULL);
    }
}

static int stop_and_start_again(void) {
    spex_stop();
    return spex_start(NULL);
}

/* 0, or what the child has ended with. */
static int wait_for(pid_t child) {
    int result;
    return waitpid(child, &result, 0) == child ? result : -1;
}

static int fork_and_work(void) {
    pid_t child = fork();
    if (child == 0) {
        int err = spex_start(NULL);
        work();
        spex_stop();
        _exit(err != 0);
    }
    return wait_for(child);
}

static void work_and_end(void) {
    work();
    spex_stop();
    _exit(0);
}

/* `generations` of children, the youngest of which ends first. */
static int family(int generations) {
    pid_t child = generations > 0 ? fork() : -1;
    if (child == 0) {
        int result = generations > 1 ? family(generations - 1) : 0;
        if (result != 0)
            _exit(1);
        work_and_end();
    }
    return wait_for(child);
}

static int execute(char *program) {
    pid_t child = fork();
    if (child == 0) {
        work();
        execv(program, (char *[]){program, NULL});
        _exit(1);
    }
    return wait_for(child);
}

static pthread_barrier_t all_there;

static void *worker_run(void *arg) {
    (void)arg;
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < TIMES; i++)
        work();
    return NULL;
}

static void *forker_run(void *result) {
    pthread_barrier_wait(&all_there);
    for (int f = 0; f < FORKS; f++) {
        pid_t child = fork();
        if (child == 0)
            work_and_end();
        *(int *)result |= wait_for(child);
    }
    return NULL;
}

static int fork_beside_workers(void) {
    pthread_t workers[2], forker;
    int result = 0;
    pthread_barrier_init(&all_there, NULL, 3);
    pthread_create(&forker, NULL, forker_run, &result);
    for (int t = 0; t < 2; t++)
        pthread_create(&workers[t], NULL, worker_run, NULL);
    for (int t = 0; t < 2; t++)
        pthread_join(workers[t], NULL);
    pthread_join(forker, NULL);
    return result;
}

static int fork_as_told(char *program) {
    int result = 0;
    if (!is("forks") && !is("family") && !is("executes") && !is("threads"))
        return 0;
#if defined(__SANITIZE_ADDRESS__) || (defined(__SANITIZE_THREAD__) && !defined(__clang__))
    return SKIP; /* sanitizers cannot start threads in the child of a fork, or wait there for a lock */
#endif
    for (int child = 0; is("forks") && result == 0 && child < 2; child++)
        result = fork_and_work();
    if (is("family"))
        result = family(2);
    if (is("executes"))
        result = execute(program);
    if (is("threads"))
        result = fork_beside_workers();
    return result;
}

/* With as much time before and behind as in between. */
static void work_switched(void) {
    double begin = now();
    while (now() < begin + 0.02)
        work();
    double outer = now();
    spex_set("*");
    double inner = now();
    while (now() < inner + 0.02)
        work();
    double least = now() - inner;
    spex_set("off");
    double most = now() - outer;
    begin = now();
    while (now() < begin + 0.02)
        work();
    printf("%.9f %.9f\n", most, least);
}

static int close_all(void) {
    for (int fd = FIRST_FD; fd <= LAST_FD; fd++)
        close(fd);
    for (int fd = FIRST_FD; fd <= LAST_FD; fd++)
        if (open("own", O_WRONLY | O_CREAT | O_APPEND, 0600) != fd)
            return -1;
    return 0;
}

static int check_own(void) {
    for (int fd = FIRST_FD; fd <= LAST_FD; fd++)
        if (write(fd, "x", 1) != 1)
            return -1;
    return 0;
}

static int limit_memory(rlim_t more) {
    unsigned long pages;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1 || fclose(file) != 0)
        return -1;
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    const struct rlimit limit = {bytes, bytes};
    return setrlimit(RLIMIT_AS, &limit);
}

int main(int argc, char **argv) {
    if (argc > 1)
        mode = argv[1];
#ifdef __SANITIZE_ADDRESS__
    if (is("cramped"))
        return 77;
#endif
#ifdef __SANITIZE_THREAD__
    if (is("cramped") || is("limited"))
        return 77;
#endif
    int result = is("limited")   ? limit_memory(32 << 20)
                 : is("cramped") ? limit_memory(1536 << 10)
                                 : 0;
    double begin = now();
    int err = spex_start(NULL);
    if (is("closes"))
        result = close_all();
    if (is("away"))
        result = chdir("/");
    if (result == 0)
        result = fork_as_told(argv[0]);
    if (is("often"))
        work_often();
    if (is("switched"))
        work_switched();
    else if (!is("never"))
        work();
    if (is("twice")) {
        if (argc > 2)
            setenv("SPEX_OUT", argv[2], 1);
        err = err ? err : stop_and_start_again();
        work();
    }
    if (!is("exit"))
        spex_stop();
    if (is("timed"))
        printf("%.9f\n", now() - begin - napped);
    if (is("closes") && result == 0)
        result = check_own();
    printf("done %d\n", err);
    return result;
}
