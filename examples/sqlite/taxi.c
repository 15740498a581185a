/* SPDX-License-Identifier: MIT */
/* Threads that query an SQLite database of taxi trips, each over its own connection, after
 * section 5.2 of Go and Colmenares, "Enabling Performance Exploration and Analysis for
 * Multi-parametric Systems". */
#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/spex.h>

#include "query.h"
#include "settings.h"

struct worker {
    _Alignas(64)
        atomic_ullong queries; /* written by the thread only; relaxed: it is just a count */
    pthread_t thread;
    struct connection *connection;
};

static struct {
    struct worker *workers;
    size_t count;
    pthread_barrier_t start;
    atomic_bool stop; /* relaxed: nothing is handed over with these two */
    atomic_bool failed;
} pool;

static void *work(void *argument) {
    struct worker *worker = argument;
    unsigned long long queries = 0;
    pthread_barrier_wait(&pool.start);
    while (!atomic_load_explicit(&pool.stop, memory_order_relaxed)) {
        if (!connection_query(worker->connection)) {
            atomic_store_explicit(&pool.failed, true, memory_order_relaxed);
            kill(getpid(), SIGTERM);
            break;
        }
        atomic_store_explicit(&worker->queries, ++queries, memory_order_relaxed);
    }
    return NULL;
}

/* One after another, since threads that fill their caches at the same time spend most of it waiting
 * for each other in the kernel. A shared cache is full when the first connection has warmed it. */
static bool open_connections(const struct settings *settings) {
    bool shared = settings->tuning.shared;
    for (size_t i = 0; i < pool.count; i++) {
        struct connection *connection =
            connection_open(&settings->database, &settings->tuning, i + 1);
        pool.workers[i].connection = connection;
        if (!connection || ((!shared || i == 0) && !connection_warm(connection)))
            return false;
    }
    return connection_check_sharing(pool.workers[0].connection, pool.count, shared);
}

/* Every thread gets to the barrier before any of them queries. */
static void start_threads(void) {
    pthread_barrier_init(&pool.start, NULL, (unsigned)pool.count + 1);
    for (size_t i = 0; i < pool.count; i++) {
        int error = pthread_create(&pool.workers[i].thread, NULL, work, &pool.workers[i]);
        if (error)
            errx(1, "cannot start thread %zu: %s", i + 1, strerror(error));
    }
    pthread_barrier_wait(&pool.start);
}

static void join_threads(void) {
    atomic_store_explicit(&pool.stop, true, memory_order_relaxed);
    for (size_t i = 0; i < pool.count; i++)
        pthread_join(pool.workers[i].thread, NULL);
    pthread_barrier_destroy(&pool.start);
}

static unsigned long long count_queries(void) {
    unsigned long long queries = 0;
    for (size_t i = 0; i < pool.count; i++)
        queries += atomic_load_explicit(&pool.workers[i].queries, memory_order_relaxed);
    return queries;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Until a signal (false) or for so many seconds (true). */
static bool wait_for(const sigset_t *signals, double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    return sigtimedwait(signals, NULL, &time) < 0;
}

static void run_until_signal(const sigset_t *signals) {
    int signal_number;
    sigwait(signals, &signal_number);
}

static void measure(const sigset_t *signals, const struct settings *settings) {
    if (!wait_for(signals, settings->warmup_seconds))
        return;
    double begin = now();
    unsigned long long before = count_queries();
    if (!wait_for(signals, settings->seconds - settings->warmup_seconds))
        return;
    unsigned long long queries = count_queries() - before;
    double seconds = now() - begin;
    printf("{\"queries\": %llu, \"seconds\": %.3f, \"queries_per_second\": %.1f}\n", queries,
           seconds, (double)queries / seconds);
}

static bool query(const struct settings *settings, const sigset_t *signals) {
    pool.count = (size_t)settings->threads;
    pool.workers = aligned_alloc(64, pool.count * sizeof(*pool.workers));
    if (!pool.workers)
        errx(1, "out of memory");
    memset(pool.workers, 0, pool.count * sizeof(*pool.workers));
    bool ok = query_setup() && open_connections(settings);
    if (ok) {
        start_threads();
        if (settings->seconds > 0)
            measure(signals, settings);
        else
            run_until_signal(signals);
        join_threads();
    }
    for (size_t i = 0; i < pool.count; i++)
        connection_close(pool.workers[i].connection);
    free(pool.workers);
    return ok && !atomic_load_explicit(&pool.failed, memory_order_relaxed);
}

static bool make_databases(struct settings *settings) {
    const char *list = settings->make;
    while ((settings->database.page_size = settings_next_page_size(&list)))
        if (!database_make(&settings->database))
            return false;
    return true;
}

int main(int argc, char **argv) {
    struct settings settings;
    settings_read(&settings, argc, argv);
    if (settings.make)
        return make_databases(&settings) ? 0 : 1;

    /* Blocked in every thread, so that the main thread can wait for them. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    spex_start(NULL);
    bool ok = query(&settings, &signals);
    spex_stop();
    return ok ? 0 : 1;
}
