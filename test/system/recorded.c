/* SPDX-License-Identifier: MIT */
/* What `spex record` records in the tests. Says "made N" at its end, which is how many records its
 * probes have made, unless it is killed.
 *
 *     recorded MODE [NUMBER]
 *
 *     exact N    two threads make N records each, slowly enough for a recorder
 *     held N     the same, after a line of its input
 *     fast N     a thread makes N records as fast as it can
 *     clocked N  snapshots with the time of day before, and of one after the other
 *     kernels    kernels in one another, with parameters
 *     workers N  N processes work, and the program before and after them; ends with 77 where a sanitizer allows no forks
 *     heirs N    the same, after a line of its input
 *     family N   after a line of its input: N generations of children work, which do not start spex themselves
 *     asks N     with each line of its input: makes N records, and asks for a dump; says what it got
 *     aborts N   makes N records on each of two threads, and calls abort when they are taken
 *     counted F  two threads make snapshots of their numbers, and count them in the file F, until it is killed
 *     slow       kernels until its input ends, which take half a second for each line; says when they began and ended
 *     endless    makes records until its input ends; says "ready" when its first ones are taken */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

/* gcc's sanitizers do not bear that the child of a fork starts threads, or allocates memory. */
#if (defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)) && !defined(__clang__)
enum { FORKS = 0 };
#else
enum { FORKS = 1 };
#endif

enum { SKIP = 77 };

enum {
    REQUEST = 7,
    BEFORE = 8,
    AFTER = 9,
    OUTER = 10,
    INNER = 11,
    BURST = 100,
    NAP_NS = 200000,
    PENDING_MAX = 8192
};

SPEX_PROBE_NAME(REQUEST, "request");
SPEX_PROBE_NAME(OUTER, "outer");
SPEX_PROBE_NAME(INNER, "inner");

static unsigned long number;
static unsigned long *counters;

static void nap(void) {
    const struct timespec time = {.tv_nsec = NAP_NS};
    nanosleep(&time, NULL);
}

static void work(unsigned long times) {
    for (unsigned long i = 0; i < times; i++) {
        LAT_PROBE_BEGIN(REQUEST, 1);
        LAT_PROBE_END(REQUEST);
    }
}

static void *work_slowly(void *made) {
    for (unsigned long i = 0; i < number; i += BURST) {
        work(BURST);
        nap();
    }
    *(unsigned long *)made = number;
    return NULL;
}

static unsigned long work_on_threads(void) {
    pthread_t threads[2];
    unsigned long made[2];
    for (int t = 0; t < 2; t++)
        pthread_create(&threads[t], NULL, work_slowly, &made[t]);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    return made[0] + made[1];
}

static unsigned long long time_of_day(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static unsigned long work_by_the_clock(void) {
    for (unsigned long i = 0; i < number; i++) {
        unsigned long long before = time_of_day();
        SNAPSHOT_PROBE(BEFORE, 1, i, before);
        unsigned long long after = time_of_day();
        SNAPSHOT_PROBE(AFTER, 1, i, after);
        if (i % BURST == 0)
            nap();
    }
    return 2 * number;
}

static void inner(unsigned long n, unsigned long m) {
    KERNEL_PROBE_BEGIN(INNER, 1, n, n + m);
    KERNEL_PROBE_END(INNER);
}

static unsigned long work_in_kernels(void) {
    const unsigned long times = 10;
    for (unsigned long n = 0; n < times; n++) {
        KERNEL_PROBE_BEGIN(OUTER, 1, n);
        inner(n, 1);
        KERNEL_PROBE_END(OUTER);
    }
    inner(UINT64_C(1) << 40, 1);
    return 2 * times + 1;
}

/* Whoever records has all records: the collector takes them meanwhile. */
static uint64_t pending(void) {
    struct spex_status status = {.size = sizeof(status)};
    spex_status_get(&status);
    return status.pending;
}

static void wait_until_taken(void) {
    while (pending())
        ;
}

/* clang's AddressSanitizer does not bear a fork while another thread begins, or allocates: threads of
 * the library have begun when records are taken. */
static unsigned long work_in_processes(void) {
    work(500);
    wait_until_taken();
    for (unsigned long n = 0; n < number; n++)
        if (fork() == 0) {
            if (spex_start(NULL) != 0)
                _exit(1);
            work(1000);
            spex_stop();
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
    work(500);
    return 1000 * (number + 1);
}

/* The children of forks that go on with their parent's probes have been started, and stop. */
static void generation(unsigned long further) {
    pid_t child = further ? fork() : -1;
    if (child == 0) {
        generation(further - 1);
        spex_stop();
        _exit(0);
    }
    for (unsigned long i = 0; i < 1000; i += BURST) {
        work(BURST);
        nap();
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static unsigned long work_until_the_input_ends(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned long made = 0;
    for (; poll(&input, 1, 0) == 0; made += BURST) {
        work(BURST);
        nap();
        if (made == 0) {
            wait_until_taken();
            puts("ready");
            fflush(stdout);
        }
    }
    return made;
}

/* The last record before spex_dump has the number of the dump. */
static unsigned long work_and_ask(void) {
    char line[64];
    unsigned long times = 0;
    for (; fgets(line, sizeof(line), stdin); times++) {
        line[strcspn(line, "\n")] = '\0';
        work(number);
        SNAPSHOT_PROBE(BEFORE, 1, times);
        printf("%d\n", spex_dump(line));
        fflush(stdout);
    }
    return times * (number + 1);
}

/* The kernel's parameter is 1: its model is a constant. */
static void nap_as_kernel(const struct timespec *time) {
    unsigned n = 1;
    KERNEL_PROBE_BEGIN(OUTER, 1, n);
    nanosleep(time, NULL);
    KERNEL_PROBE_END(OUTER);
}

static unsigned long work_and_be_slow(void) {
    const struct timespec usual = {.tv_nsec = NAP_NS}, slow = {.tv_nsec = 500000000};
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[2];
    for (unsigned long made = 0;; made++) {
        if (made == BURST) {
            puts("ready");
            fflush(stdout);
        }
        if (made < BURST || poll(&input, 1, 0) == 0) {
            nap_as_kernel(&usual);
            continue;
        }
        if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
            return made;
        unsigned long long begin = time_of_day();
        nap_as_kernel(&slow);
        printf("%llu %llu\n", begin, time_of_day());
        fflush(stdout);
    }
}

static void *work_and_count(void *made) {
    volatile unsigned long *counted = made;
    unsigned long thread = counted == counters;
    for (unsigned long i = 0;; i++) {
        SNAPSHOT_PROBE(BEFORE, 1, thread, i);
        *counted = i + 1;
        /* A collector that gets no processor loses nothing. */
        if (i % BURST == 0)
            do
                nap();
            while (pending() > PENDING_MAX);
    }
    return NULL;
}

static void work_until_killed(const char *path) {
    pthread_t thread;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, 2 * sizeof(*counters)) != 0)
        exit(2);
    counters = mmap(NULL, 2 * sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counters == MAP_FAILED)
        exit(2);
    puts("ready");
    fflush(stdout);
    pthread_create(&thread, NULL, work_and_count, &counters[1]);
    work_and_count(&counters[0]);
}

static unsigned long work_and_abort(void) {
    unsigned long made;
    work_slowly(&made);
    wait_until_taken();
    abort();
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    number = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    unsigned long made = 0;
    bool forks =
        strcmp(mode, "workers") == 0 || strcmp(mode, "heirs") == 0 || strcmp(mode, "family") == 0;
    if (!FORKS && forks)
        return SKIP;
    if (spex_start(NULL) != 0)
        return 1;
    if (strcmp(mode, "held") == 0 || strcmp(mode, "heirs") == 0 || strcmp(mode, "family") == 0)
        getchar();
    if (strcmp(mode, "exact") == 0 || strcmp(mode, "held") == 0)
        made = work_on_threads();
    else if (strcmp(mode, "fast") == 0)
        work(made = number);
    else if (strcmp(mode, "clocked") == 0)
        made = work_by_the_clock();
    else if (strcmp(mode, "kernels") == 0)
        made = work_in_kernels();
    else if (strcmp(mode, "workers") == 0 || strcmp(mode, "heirs") == 0)
        made = work_in_processes();
    else if (strcmp(mode, "family") == 0)
        generation(number), made = 1000 * (number + 1);
    else if (strcmp(mode, "asks") == 0)
        made = work_and_ask();
    else if (strcmp(mode, "aborts") == 0)
        made = work_and_abort();
    else if (strcmp(mode, "counted") == 0)
        work_until_killed(argv[2]);
    else if (strcmp(mode, "slow") == 0)
        made = work_and_be_slow();
    else if (strcmp(mode, "endless") == 0)
        made = work_until_the_input_ends();
    else
        return 2;
    spex_stop();
    printf("made %lu\n", made);
    return 0;
}
