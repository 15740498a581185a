/* SPDX-License-Identifier: MIT */
/* A server that tunes itself while it serves: how many requests a worker takes at a time, and how
 * long it looks for more before it sleeps. Large batches are cheap and make requests wait; spinning
 * is quick and takes the processor.
 *
 *     tune [--seconds N]     serves for N seconds (10), and says what it has found */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/spex.h>
#include <spex/tune.h>

enum { WORKERS = 2, QUEUE = 256, BATCH_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static uint64_t queue[QUEUE]; /* when a request came, in nanoseconds */
static unsigned head, length; /* those who spin look at the length without the lock */
static bool closed;
static uint32_t batch = 1, spins; /* what is tuned */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The network: as many requests as the queue has room for. */
static void *receive(void *arg) {
    pthread_mutex_lock(&lock);
    while (!closed) {
        for (unsigned r = length; r < QUEUE; r++)
            queue[(head + r) % QUEUE] = now_ns();
        spex_store_relaxed(&length, QUEUE);
        pthread_cond_broadcast(&filled);
        pthread_cond_wait(&emptied, &lock);
    }
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    return arg;
}

/* Up to a batch of requests; 0: there will be no more. */
static unsigned take(uint64_t *born) {
    uint32_t most = spex_load_relaxed(&batch), looks = spex_load_relaxed(&spins);
    unsigned count = 0;
    while (looks-- > 0 && spex_load_relaxed(&length) == 0)
        continue;
    pthread_mutex_lock(&lock);
    while (length == 0 && !closed) {
        pthread_cond_signal(&emptied);
        pthread_cond_wait(&filled, &lock);
    }
    for (; count < most && count < length; count++)
        born[count] = queue[(head + count) % QUEUE];
    head = (head + count) % QUEUE;
    spex_store_relaxed(&length, length - count);
    if (length < QUEUE / 2)
        pthread_cond_signal(&emptied);
    pthread_mutex_unlock(&lock);
    return count;
}

static void serve(uint64_t born) {
    SPEX_CNT_SCOPE("request.served", 10);
    for (volatile int work = 0; work < 500; work++)
        continue;
    SPEX_SNAPSHOT_PROBE("request.us", 10, (now_ns() - born) / 1000);
}

static void *work(void *arg) {
    uint64_t born[BATCH_MAX];
    for (unsigned count; (count = take(born)) > 0;)
        for (unsigned r = 0; r < count; r++)
            serve(born[r]);
    return arg;
}

static const struct spex_value batches[] = {
    {.integer = 1}, {.integer = 4}, {.integer = 16}, {.integer = 64}};
static const struct spex_value spinning[] = {{.integer = 0}, {.integer = 100}, {.integer = 10000}};
static const struct spex_parameter parameters[] = {
    {.name = "batch", .kind = SPEX_INTEGER, .count = 4, .values = batches, .logarithmic = true},
    {.name = "spins", .kind = SPEX_INTEGER, .count = 3, .values = spinning}};
static const struct spex_criterion criteria[] = {
    {.probe = "request.served:cnt", .metric = "throughput", .goal = SPEX_MAXIMISE},
    {.probe = "request.us:snapshot", .metric = "p99", .goal = SPEX_AT_MOST, .bound = 5000}};
static const struct spex_space space = {
    .size = sizeof(space),
    .parameter_count = 2,
    .parameters = parameters,
    .threads_parameter = 2, /* none */
    .criterion_count = 2,
    .criteria = criteria,
    .rules = {.records_per_thread = 500, .warmup_seconds = 0.02, .duration_seconds = 0.3}};

static int configure(void *user, const struct spex_space *of, const size_t *levels) {
    spex_store_relaxed(&batch, (uint32_t)of->parameters[0].values[levels[0]].integer);
    spex_store_relaxed(&spins, (uint32_t)of->parameters[1].values[levels[1]].integer);
    (void)user;
    return 0;
}

/* The best is in force by now. */
static void report(void *out, const struct spex_tune_report *found) {
    fprintf(out, "%" PRIu64 " runs, %" PRIu64 " failed\n", found->trials, found->failed);
    if (found->best_trials > 0)
        fprintf(out, "best: batch=%u spins=%u: %.0f requests/s, 99 %% within %.0f us\n", batch,
                spins, found->best_measured[0].value, found->best_measured[1].value);
}

int main(int argc, char **argv) {
    unsigned seconds =
        argc == 3 && strcmp(argv[1], "--seconds") == 0 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;
    const struct spex_tune_options options = {.size = sizeof(options),
                                              .space = &space,
                                              .policy = spex_policy_named("grid"),
                                              .configure = configure,
                                              .finished = report,
                                              .user = stdout};
    pthread_t threads[WORKERS + 1];
    char why[256];
    if (spex_start(NULL) != 0)
        return EXIT_FAILURE;
    for (unsigned t = 0; t <= WORKERS; t++)
        pthread_create(&threads[t], NULL, t < WORKERS ? work : receive, NULL);
    if (spex_tune_start(&options, why, sizeof(why)) != 0)
        fprintf(stderr, "tune: %s\n", why); /* it serves all the same */
    sleep(seconds);
    spex_tune_stop();
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_cond_signal(&emptied);
    pthread_mutex_unlock(&lock);
    for (unsigned t = 0; t <= WORKERS; t++)
        pthread_join(threads[t], NULL);
    return spex_stop();
}
