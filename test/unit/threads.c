/* SPDX-License-Identifier: MIT */
/* Threads that come and go by the thousand, each with a few executions of every type: every one is
 * recorded, and nothing of a thread stays behind. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../check.h"
#include "../children.h"
#include "../open_descriptors.h"
#include "../status.h"
#include "counted.h"
#include "places.h"
#include "probe/threads.h"

enum { THREADS = 5000, AT_A_TIME = 20, EXECUTIONS = 3 };

/* What is small in each thread shows in the memory of many, which is not judged with sanitizers and
 * emulators. */
static unsigned threads_wanted(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return THREADS / 10;
#else
    return getenv("TEST_EMULATED") ? THREADS / 10 : THREADS;
#endif
}

/* A key of the program's own, whose destructor executes probes after spex's has run, or before. */
static pthread_key_t last_words;

static void last_words_say(void *value) {
    (void)value;
    places_all();
}

static void *thread_run(void *arg) {
    (void)arg;
    pthread_setspecific(last_words, &last_words);
    for (unsigned e = 1; e < EXECUTIONS; e++)
        places_all();
    return NULL;
}

static void threads_run(unsigned count) {
    pthread_t threads[AT_A_TIME];
    for (unsigned t = 0; t < count; t += AT_A_TIME) {
        for (unsigned i = 0; i < AT_A_TIME; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, thread_run, NULL), 0);
        for (unsigned i = 0; i < AT_A_TIME; i++)
            pthread_join(threads[i], NULL);
    }
}

static unsigned mappings(void) {
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    for (int c; (c = fgetc(maps)) != EOF;)
        count += c == '\n';
    fclose(maps);
    return count;
}

/* Resident, in pages. */
static long resident(void) {
    long size, pages;
    FILE *statm = fopen("/proc/self/statm", "re");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%ld %ld", &size, &pages), 2);
    fclose(statm);
    return pages;
}

TEST(threads_leave_nothing_behind) {
    struct places_tally tally = {0};
    assert_int_equal(pthread_key_create(&last_words, last_words_say), 0);
    assert_int_equal(places_start(&tally, 65536), 0);
    threads_run(AT_A_TIME * 10); /* the C library keeps some stacks */
    size_t descriptors_before = open_descriptors();
    unsigned mappings_before = mappings();
    long resident_before = resident();
    threads_run(threads_wanted());
    assert_int_equal(open_descriptors(), descriptors_before);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* Stacks that the C library keeps, and arenas, are a few more or less. */
    assert_in_range(mappings(), 0, mappings_before + 2 * AT_A_TIME);
    /* A state has five pages: those of all threads would be a hundred megabytes. What grows is what
     * the rings have not used before, and what an emulator needs. */
    if (!getenv("TEST_EMULATED"))
        assert_in_range(resident() - resident_before + 10000, 0, 20000);
#else
    (void)mappings_before;
    (void)resident_before;
#endif
    spex_stop();
    const uint64_t each = (threads_wanted() + AT_A_TIME * 10) * EXECUTIONS;
    assert_true(places_are(&tally, each));
    assert_true(places_accounted(each * PLACES_TYPES));
}

/* A destructor that sets its key again has another round, up to the C library's last. */
static pthread_key_t many_words;

static void many_words_say(void *value) {
    places_all();
    pthread_setspecific(many_words, value);
}

static void *words_run(void *arg) {
    pthread_setspecific(many_words, arg);
    return NULL;
}

/* More threads than there are states, one after the other. */
TEST(states_come_back_however_late_they_were_taken) {
    struct places_tally tally = {0};
    pthread_t thread;
    assert_int_equal(pthread_key_create(&many_words, many_words_say), 0);
    assert_int_equal(places_start(&tally, 65536), 0);
    struct spex_status before = status_now();
    for (unsigned t = 0; t < SPEX_MAX_THREADS + 10; t++) {
        assert_int_equal(pthread_create(&thread, NULL, words_run, &many_words), 0);
        pthread_join(thread, NULL);
    }
    uint64_t late = status_now().unrecorded - before.unrecorded;
    places_all(); /* there is a state for this thread, or has been */
    assert_int_equal(status_now().unrecorded - before.unrecorded, late);
    assert_int_equal(late % PLACES_TYPES, 0);
    assert_in_range(status_now().produced - before.produced, (SPEX_MAX_THREADS + 11) * PLACES_TYPES,
                    UINT64_MAX);
    spex_stop();
}

/* Threads that have states at the same time, with stacks that are small beside a state. */
enum {
    TOGETHER = 64,
    STACK_BYTES = 128 << 10,
    TOUCHED_KIB = 16, /* of a state, at the least */
    STATES_TOGETHER_MAX = 2 * TOGETHER * sizeof(struct spex_thread),
};

static pthread_barrier_t together;

static void *together_run(void *arg) {
    places_all();
    pthread_barrier_wait(&together);
    return arg;
}

static void threads_run_together(void) {
    pthread_t threads[TOGETHER];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_barrier_init(&together, NULL, TOGETHER);
    for (unsigned t = 0; t < TOGETHER; t++)
        if (pthread_create(&threads[t], &attributes, together_run, NULL) != 0)
            _exit(2);
    for (unsigned t = 0; t < TOGETHER; t++)
        pthread_join(threads[t], NULL);
}

static long resident_kib(void) {
    return resident() * (sysconf(_SC_PAGESIZE) >> 10);
}

/* In a child. Returns its exit status. */
static int locked_run(void) {
    struct places_tally tally = {0};
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return 77;
    long before = resident_kib();
    if (places_start(&tally, 128) != 0)
        return 3;
    places_all();
    long started = resident_kib();
    threads_run_together();
    long full = resident_kib();
    spex_stop();
    long stopped = resident_kib();
    printf("KiB: %ld, started %ld, with %d threads %ld, stopped %ld; states: %llu B\n", before,
           started, TOGETHER, full, stopped, (unsigned long long)status_now().thread_bytes);
    return started - before > 16 << 10                       ? 4
           : full - stopped < TOGETHER * TOUCHED_KIB         ? 5
           : status_now().thread_bytes > STATES_TOGETHER_MAX ? 6
           : !places_are(&tally, TOGETHER + 1)               ? 7
                                                             : 0;
}

/* More threads at once than there are states ready. */
enum { AT_ONCE = 600, EACH = 10 };

static pthread_barrier_t begin_at_once, more_at_once;

/* Before the second part the system gives memory again. */
static void *at_once_run(void *arg) {
    bool *errno_changed = arg;
    pthread_barrier_wait(&begin_at_once);
    errno = EDOM;
    for (unsigned e = 0; e < EACH; e++)
        place_cnt();
    if (errno != EDOM)
        *errno_changed = true;
    pthread_barrier_wait(&begin_at_once);
    pthread_barrier_wait(&more_at_once);
    place_cnt();
    return NULL;
}

/* Executions until this thread has records again, which a collector makes possible. */
static uint64_t executions_until_recorded(void) {
    uint64_t executions = 0, before = status_now().unrecorded;
    do {
        usleep(1000);
        before = status_now().unrecorded;
        place_cnt();
        executions++;
    } while (status_now().unrecorded != before);
    return executions;
}

static void *until_recorded_run(void *executions) {
    *(uint64_t *)executions = executions_until_recorded();
    return NULL;
}

/* In a child. Returns its exit status. */
static int limited_threads_run(void) {
    static pthread_t threads[AT_ONCE], last;
    struct places_tally tally = {0};
    struct rlimit before, none = {0};
    pthread_attr_t attributes;
    bool errno_changed = false;
    uint64_t more = 0, executions = AT_ONCE * (EACH + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_barrier_init(&begin_at_once, NULL, AT_ONCE + 1);
    pthread_barrier_init(&more_at_once, NULL, AT_ONCE + 1);
    if (places_start(&tally, 16384) != 0 || getrlimit(RLIMIT_AS, &before) != 0)
        return 3;
    for (unsigned t = 0; t < AT_ONCE; t++)
        if (pthread_create(&threads[t], &attributes, at_once_run, &errno_changed) != 0)
            return 4;
    none.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_AS, &none);
    pthread_barrier_wait(&begin_at_once);
    pthread_barrier_wait(&begin_at_once);
    uint64_t refused = status_now().unrecorded;
    setrlimit(RLIMIT_AS, &before);
    if (pthread_create(&last, &attributes, until_recorded_run, &more) != 0)
        return 4;
    pthread_join(last, NULL);
    pthread_barrier_wait(&more_at_once);
    for (unsigned t = 0; t < AT_ONCE; t++)
        pthread_join(threads[t], NULL);
    double count = counted(PLACES_ID);
    spex_stop();
    struct spex_status now = status_now();
    printf("%llu unrecorded, %llu produced, %g counted of %llu\n",
           (unsigned long long)now.unrecorded, (unsigned long long)now.produced, count,
           (unsigned long long)(executions + more));
    return errno_changed                                        ? 5
           : refused == 0 || refused % EACH != 0                ? 6
           : now.unrecorded + now.produced != executions + more ? 7
           : count != (double)(executions + more)               ? 8
                                                                : 0;
}

/* In a child, which has no rings and no states yet. Sanitizers leave out mlockall, and take address
 * space of their own. */
static void child_run(int (*run)(void)) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)run;
    skip();
#else
    SKIP_WITHOUT_CHILDREN();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int result = run();
        fflush(NULL);
        _exit(result);
    }
    int result = child_exit_status(child);
    if (result == 77)
        skip();
    assert_int_equal(result, 0);
#endif
}

TEST(locked_memory_is_as_little_as_is_used) {
    child_run(locked_run);
}

TEST(without_memory_executions_are_counted) {
    child_run(limited_threads_run);
}
