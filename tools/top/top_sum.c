/* SPDX-License-Identifier: MIT */
#include "tools/top/top_sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "observe/profile_sum.h"
#include "observe/worker_feed.h"
#include "profile/table.h"
#include "tools/common/complain.h"

/* A program without a process for so long has ended: a reload may leave a gap. */
#define GAP_NS UINT64_C(3000000000)

/* Processes of which the user was told that they do not answer. */
enum { TOLD_MAX = 64 };

struct summing {
    const struct spex_top_summed *summed;
    struct spex_worker_feed feed;
    /* The sum at the end of the last interval, and when that was. */
    struct spex_profile before;
    uint64_t before_ns;
    uint64_t seen_ns;
    unsigned long printed;
    pid_t told[TOLD_MAX];
    unsigned told_count;
    char command[SPEX_PROFILE_NAME_BYTES];
};

int spex_top_print(const char *command, const char *of, const struct spex_profile *figures,
                   bool verbose) {
    char when[64] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
    printf("%s  %s %s, %.3f s\n", when, command, of, figures->process.seconds);
    spex_table_print(stdout, figures, spex_table_look(stdout, verbose));
    putchar('\n');
    return spex_written(stdout);
}

/* Says of each process once that it does not answer. */
static size_t tell_silent(struct summing *summing) {
    size_t silent = 0;
    for (size_t w = 0; w < summing->feed.count; w++) {
        const struct spex_worker *worker = &summing->feed.workers[w];
        if (!spex_worker_is_silent(&summing->feed, worker))
            continue;
        silent++;
        bool told = false;
        for (unsigned t = 0; t < summing->told_count && t < TOLD_MAX; t++)
            told |= summing->told[t] == worker->process;
        if (!told) {
            summing->told[summing->told_count++ % TOLD_MAX] = worker->process;
            spex_complain(0, "process %d does not answer", (int)worker->process);
        }
    }
    return silent;
}

static int print_sum(struct summing *summing, struct spex_profile *figures, double seconds,
                     size_t reporting, size_t silent) {
    char of[96], not_answering[48] = "";
    spex_profile_settle(figures, seconds);
    if (silent)
        snprintf(not_answering, sizeof(not_answering), "; %zu do%s not answer", silent,
                 silent == 1 ? "es" : "");
    snprintf(of, sizeof(of), "%zu process%s%s", reporting, reporting == 1 ? "" : "es",
             not_answering);
    int err = spex_top_print(summing->command, of, figures, summing->summed->verbose);
    summing->printed++;
    return err ? spex_complain(SPEX_EXIT_FAILED, "the table cannot be written: %s", strerror(-err))
               : SPEX_EXIT_OK;
}

/* The first sum begins the first interval; of totals it is the first table. */
static int take_sum(struct summing *summing) {
    struct spex_profile sum, difference = {.type_count = 0};
    size_t reporting, silent = tell_silent(summing);
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    int err = spex_worker_feed_sum(&summing->feed, &sum, &reporting), status = SPEX_EXIT_OK;
    if (err || !sum.types)
        return err ? spex_complain(SPEX_EXIT_FAILED, "out of memory") : SPEX_EXIT_OK;
    if (reporting)
        memcpy(summing->command, sum.process.command, sizeof(summing->command));
    bool interval = summing->before.types && !summing->summed->totals;
    if (interval)
        err = spex_profile_since(&sum, &summing->before, &difference);
    spex_profile_free(&summing->before);
    if (err)
        status = spex_complain(SPEX_EXIT_FAILED, "out of memory");
    else if (interval)
        status = print_sum(summing, &difference, (double)(now - summing->before_ns) / 1e9,
                           reporting, silent);
    spex_profile_free(&difference);
    if (!status && summing->summed->totals)
        status =
            print_sum(summing, &sum,
                      summing->feed.begin_ns ? (double)(now - summing->feed.begin_ns) / 1e9 : 0,
                      reporting, silent);
    summing->before = sum;
    summing->before_ns = now;
    return status;
}

/* Whether the program has had no process for a while. */
static bool is_over(struct summing *summing) {
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    if (summing->feed.count || !summing->seen_ns)
        summing->seen_ns = now;
    return now - summing->seen_ns > GAP_NS;
}

static int sum_all(struct summing *summing) {
    const struct spex_top_summed *summed = summing->summed;
    uint64_t due_ns = spex_clock_ns(CLOCK_MONOTONIC),
             interval_ns = (uint64_t)(summed->interval * 1e9);
    struct spex_error error;
    int status = SPEX_EXIT_OK;
    while (!status && !is_over(summing) && (!summed->count || summing->printed < summed->count)) {
        bool first = !summing->before.types;
        if (spex_worker_feed_look(&summing->feed, &error) != 0)
            return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
        due_ns += first ? GAP_NS : interval_ns;
        if (spex_worker_feed_take(&summing->feed, due_ns,
                                  first ? SPEX_WORKERS_FIRST : SPEX_WORKERS_EACH) != 0)
            return spex_complain(SPEX_EXIT_FAILED, "out of memory");
        due_ns = spex_clock_ns(CLOCK_MONOTONIC);
        status = take_sum(summing);
        if (!status && first && !summing->before.types && summing->feed.count)
            return spex_complain(SPEX_EXIT_FAILED, "no process of the program answers");
    }
    return status;
}

int spex_top_sum(const struct spex_top_summed *summed) {
    struct summing summing = {.summed = summed, .command = "?"};
    spex_worker_feed_open(&summing.feed, &summed->of, (uint32_t)(summed->interval * 1e3 + 0.5));
    int status = sum_all(&summing);
    spex_worker_feed_close(&summing.feed);
    spex_profile_free(&summing.before);
    return status;
}
