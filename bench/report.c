/* SPDX-License-Identifier: MIT */
/* Measures how long a report of many trials takes, beside reading the rows with SQLite alone:
 * 10,000 trials of a space of two objectives and six parameters. Their results are generated. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include <spex/bench.h>
#include <spex/explore.h>

#include "explore/store/store.h"

#define TRIALS     10000
#define PER_CONFIG 2
#define METRICS    4

static const char space_xml[] =
    "<space name='made'>"
    "<parameter name='threads' type='integer' min='1' max='16'/>"
    "<parameter name='cache' type='integer' unit='MB' min='1' max='4096' factor='2'/>"
    "<parameter name='share' type='real' min='0' max='1' points='1001'/>"
    "<parameter name='rate' type='real' min='0.001' max='1000' points='601' scale='log'/>"
    "<parameter name='mode' type='categorical' values='a b c d'/>"
    "<parameter name='fast' type='boolean'/>"
    "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
    "<objective probe='q:lat' metric='p99' goal='minimise'/>"
    "<run trials_per_config='2' threads='threads'/></space>";

static char *const program[] = {(char *)(uintptr_t) "./made", NULL};

/* 0 to 1, by SplitMix (Steele, Lea and Flood). */
static double random_draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "bench/report: %s\n", what);
    exit(1);
}

static void fill_metrics(struct spex_trial *trial, uint64_t *state) {
    static struct spex_trial_metric metrics[METRICS];
    for (size_t m = 0; m < METRICS; m++) {
        double value = 1e-3 * (1 + random_draw(state));
        metrics[m] = (struct spex_trial_metric){.probe_id = (uint16_t)(m + 1),
                                                .probe_type = SPEX_LAT,
                                                .records = 100,
                                                .count = 100,
                                                .rate = 1 / value,
                                                .mean = value,
                                                .deviation = value / 10,
                                                .min = value / 2,
                                                .p50 = value,
                                                .p90 = value * 2,
                                                .p99 = value * 3,
                                                .max = value * 4};
    }
    trial->metrics = metrics;
    trial->metric_count = METRICS;
}

static void make_trial(struct spex_trial *trial, uint64_t *state) {
    static char ok[] = "ok", failed[] = "killed by signal 11 (Segmentation fault)";
    double threads = (double)trial->levels[0] + 1, share = (double)trial->levels[2] / 1000;
    trial->ok = random_draw(state) > 0.02;
    trial->status = trial->ok ? ok : failed;
    trial->measured[0].value =
        1000 * threads / (1 + threads / 8) * (1 + share) * (0.98 + 0.04 * random_draw(state));
    trial->measured[0].error = trial->measured[0].value / 100;
    trial->measured[1].value =
        1e-3 * (1 + share * share * 3) * threads * (0.9 + 0.2 * random_draw(state));
    trial->measured[1].error = NAN;
    trial->records_used = 1000;
    trial->seconds = 0.5;
    fill_metrics(trial, state);
}

static void make_store(const char *store_path) {
    struct spex_error error = {""};
    struct spex_space_file *file;
    struct spex_store *store;
    struct spex_circumstances now;
    size_t levels[6] = {0};
    uint64_t state = 1;
    if (spex_space_parse("made", space_xml, &file, &error) ||
        spex_store_open(store_path, file, "random", program, &store, &error))
        give_up(error.text);
    if (spex_circumstances_now(program[0], &now) || spex_store_begin(store, &now, true, &error))
        give_up(error.text);
    for (size_t t = 0; t < TRIALS; t++) {
        struct spex_trial trial;
        for (size_t p = 0; p < 6 && t % PER_CONFIG == 0; p++)
            levels[p] = (size_t)(random_draw(&state) * (double)file->space.parameters[p].count);
        if (spex_trial_init(&trial, &file->space, levels))
            give_up("out of memory");
        trial.asked = t + 1;
        trial.told = t;
        make_trial(&trial, &state);
        if (spex_store_put(store, t + 1, &file->space, &trial, NULL, 0, &error))
            give_up(error.text);
        trial.status = NULL;
        trial.metrics = NULL;
        trial.metric_count = 0;
        spex_trial_free(&trial);
    }
    spex_circumstances_free(&now);
    spex_store_close(store);
    spex_space_free(file);
}

/* In memory where possible: each trial is written by itself, and would wait for the disk. */
static char path[64];

static void report(struct spex_bench_state *state, bool json) {
    char why[512];
    FILE *out = fopen("/dev/null", "we");
    struct spex_report_options options = {.size = sizeof(options), .store = path};
    *(json ? &options.json : &options.text) = out;
    if (!out)
        give_up(strerror(errno));
    SPEX_BENCH_LOOP(state) {
        if (spex_report(&options, why, sizeof(why)))
            give_up(why);
    }
    fclose(out);
    spex_bench_items(state, TRIALS);
    spex_bench_counter(state, "trials", TRIALS);
}

static void text(struct spex_bench_state *state) {
    report(state, false);
}
SPEX_BENCHMARK(text);

static void json(struct spex_bench_state *state) {
    report(state, true);
}
SPEX_BENCHMARK(json);

static void read_rows(void) {
    static const char *const tables[] = {"SELECT * FROM trial", "SELECT * FROM trial_value",
                                         "SELECT * FROM trial_measured"};
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        give_up("cannot open the store");
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        sqlite3_stmt *rows;
        if (sqlite3_prepare_v2(db, tables[t], -1, &rows, NULL) != SQLITE_OK)
            give_up(sqlite3_errmsg(db));
        while (sqlite3_step(rows) == SQLITE_ROW)
            for (int c = 0; c < sqlite3_column_count(rows); c++)
                sqlite3_column_text(rows, c);
        sqlite3_finalize(rows);
    }
    sqlite3_close(db);
}

static void rows(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        read_rows();
    }
    spex_bench_items(state, TRIALS);
}
SPEX_BENCHMARK(rows);

static void remove_store(void) {
    unlink(path);
}

int main(int argc, char **argv) {
    snprintf(path, sizeof(path), "%s/spex-bench-report-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0 || atexit(remove_store) != 0)
        give_up("cannot make a file");
    close(fd);
    make_store(path);
    return spex_bench_main(argc, argv);
}
