/* SPDX-License-Identifier: MIT */
/* The two commands run in pairs, until their ratio is known or the time is over. A pair is one run of
 * each in random order; with --duet two runs of both at a time, each on one half of the CPUs and then
 * on the other, so that halves that are not alike do not count. */
#include "tools/explore/versus.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/random.h"
#include "explore/space/space.h"
#include "tools/common/complain.h"
#include "tools/common/progress.h"
#include "tools/explore/duet.h"
#include "tools/explore/set_space.h"

/* Seconds without --for. */
#define SECONDS_DEFAULT 60

/* The first pair is not counted where it takes no more than this share of the time. */
#define WARMUP_SHARE 0.05

/* How often A beside itself is compared with A alone, in at most this share of the time. */
enum { BESIDE_MOST = 10 };
#define BESIDE_SHARE 0.2

struct session {
    const struct spex_versus_options *options;
    struct spex_versus versus;
    struct spex_single_runs runs;
    struct spex_shell_lines lines;
    struct spex_cpu_parts parts;
    struct spex_random random;
    struct spex_progress_bar bar;
    uint64_t begin_ns;
    double limit;
};

static double passed(const struct session *session) {
    return (double)(spex_clock_ns(CLOCK_MONOTONIC) - session->begin_ns) / 1e9;
}

static bool toss(struct session *session) {
    return spex_random_next(&session->random) >> 63;
}

static int add_value(struct spex_versus_side *side, double value) {
    if (side->count == side->room) {
        size_t room = side->room ? 2 * side->room : 64;
        double *more = realloc(side->values, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        side->values = more;
        side->room = room;
    }
    side->values[side->count++] = value;
    return 0;
}

/* One run of each: values[0] is A's. */
static int run_pair(struct session *session, double values[2], struct spex_error *error) {
    unsigned first = toss(session);
    int err = 0;
    for (unsigned r = 0; r < 2 && !err; r++) {
        struct spex_one_run one = {.side = first ^ r};
        err = spex_run_one(&session->runs, &session->lines, &one, error);
        values[one.side] = one.value;
    }
    return err;
}

/* Both at a time, A on this half of the CPUs. */
static int run_halves(struct session *session, unsigned half, unsigned beside, double values[2],
                      struct spex_error *error) {
    struct spex_one_run both[2] = {
        {.side = 0, .cpus = &session->parts.parts[half]},
        {.side = beside, .cpus = &session->parts.parts[1 - half]},
    };
    int err = spex_run_both(&session->runs, &session->lines, both, error);
    values[0] = both[0].value;
    values[1] = both[1].value;
    return err;
}

/* Runs a pair and keeps its figures. */
static int add_pair(struct session *session, struct spex_error *error) {
    struct spex_versus *versus = &session->versus;
    unsigned rounds = versus->duet ? 2 : 1, half = toss(session);
    double log_ratio = 0;
    for (unsigned r = 0; r < rounds; r++) {
        double values[2];
        int err = versus->duet ? run_halves(session, half ^ r, 1, values, error)
                               : run_pair(session, values, error);
        if (err)
            return err;
        log_ratio += log(values[1] / values[0]) / rounds;
        for (unsigned s = 0; s < 2; s++)
            if (add_value(&versus->sides[s], values[s]))
                return spex_fail(error, -ENOMEM, "out of memory");
    }
    if (spex_pairs_add(&versus->pairs, log_ratio))
        return spex_fail(error, -ENOMEM, "out of memory");
    return 0;
}

/* A alone on one half of the CPUs, and beside itself there, in random order. */
static int add_beside(struct session *session, double *log_ratio, struct spex_error *error) {
    unsigned half = toss(session), first = toss(session);
    double alone = NAN, beside[2] = {NAN, NAN};
    int err = 0;
    for (unsigned r = 0; r < 2 && !err; r++) {
        struct spex_one_run one = {.side = 0, .cpus = &session->parts.parts[half]};
        if (r == first) {
            err = spex_run_one(&session->runs, &session->lines, &one, error);
            alone = one.value;
        } else {
            err = run_halves(session, half, 0, beside, error);
        }
    }
    *log_ratio = log(beside[0] / alone);
    return err;
}

static int check_beside(struct session *session, struct spex_error *error) {
    struct spex_versus *versus = &session->versus;
    double logs[BESIDE_MOST];
    int err = 0;
    while (!err && versus->beside_count < BESIDE_MOST &&
           passed(session) < BESIDE_SHARE * session->limit) {
        err = add_beside(session, &logs[versus->beside_count], error);
        versus->beside_count += !err;
    }
    if (versus->beside_count)
        versus->beside = spex_centre(logs, versus->beside_count);
    return err;
}

static void show(struct session *session) {
    const struct spex_versus *versus = &session->versus;
    double seconds;
    char text[128];
    if (!spex_progress_bar_is_due(&session->bar, &seconds))
        return;
    snprintf(text, sizeof(text), "%zu runs each in %.0f s", versus->sides[0].count, seconds);
    spex_progress_bar_text(&session->bar, text);
}

/* The first pair finds cold caches: it is forgotten, unless that would cost much of the time. */
static int run_first_pair(struct session *session, struct spex_error *error) {
    struct spex_versus *versus = &session->versus;
    double begun = passed(session);
    int err = add_pair(session, error);
    if (err || passed(session) - begun > WARMUP_SHARE * session->limit)
        return err;
    versus->pairs.count = versus->sides[0].count = versus->sides[1].count = 0;
    return 0;
}

/* -EINTR when it was interrupted: what there is is told all the same. */
static int run_pairs(struct session *session, struct spex_error *error) {
    struct spex_versus *versus = &session->versus;
    double begun = passed(session);
    int err = run_first_pair(session, error);
    if (!versus->pairs.count)
        begun = passed(session);
    while (!err && !versus->pairs.over &&
           (!versus->pairs.count || passed(session) < session->limit)) {
        err = add_pair(session, error);
        show(session);
    }
    versus->seconds = passed(session) - begun;
    if (spex_pairs_end(&versus->pairs))
        err = spex_fail(error, -ENOMEM, "out of memory");
    return err;
}

/* The space has a parameter that says who runs, and one objective. */
static int make_space(struct session *session, struct spex_space_file **file,
                      struct spex_error *error) {
    const struct spex_option_texts sides = {.names = {"set"}, .texts = {"command=a|b"}, .count = 1};
    const struct spex_set_space set = {
        .name = "versus", .sets = &sides, .goals = session->options->goals};
    char *xml = NULL;
    int err = spex_set_space_write(&set, &xml, error);
    err = err ? err : spex_set_space_read(&set, xml, file, error);
    free(xml);
    if (!err && (*file)->space.criterion_count != 1)
        err = spex_fail(error, -EINVAL, "one --minimise or --maximise was expected");
    return err;
}

static int prepare(struct session *session, struct spex_error *error) {
    struct spex_versus *versus = &session->versus;
    uint64_t seed;
    if (spex_shell_lines_make(&session->lines, session->options->commands))
        return spex_fail(error, -ENOMEM, "out of memory");
    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        return spex_fail(error, -EIO, "no random number");
    spex_random_seed(&session->random, seed, 0);
    for (int s = 0; s < 2; s++)
        versus->sides[s].command = session->options->commands[s];
    return versus->duet ? spex_cpu_parts_make(2, &session->parts, error) : 0;
}

static int compare(struct session *session, const struct spex_space_file *file,
                   struct spex_error *error) {
    int err = spex_single_runs_open(&session->runs, file, session->options->stop_fd, error);
    session->begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (!err && session->versus.duet)
        err = check_beside(session, error);
    err = err ? err : run_pairs(session, error);
    spex_single_runs_close(&session->runs);
    return err;
}

static int finish(struct session *session, int err, const struct spex_error *error) {
    bool json = session->options->json;
    if (err && (err != -EINTR || !session->versus.sides[1].count))
        return spex_complain(err == -EINTR ? SPEX_EXIT_INTERRUPTED : SPEX_EXIT_FAILED,
                             "explore: %s", error->text);
    if (spex_versus_print(&session->versus, json))
        return spex_complain(SPEX_EXIT_FAILED, "explore: cannot write what was found");
    return err ? SPEX_EXIT_INTERRUPTED : SPEX_EXIT_OK;
}

int spex_versus(const struct spex_versus_options *options) {
    struct session session = {
        .options = options,
        .versus = {.duet = options->duet},
        .limit = options->seconds > 0 ? options->seconds : SECONDS_DEFAULT,
    };
    struct spex_space_file *file = NULL;
    struct spex_error error = {""};
    int err = make_space(&session, &file, &error);
    int status = err ? spex_complain(SPEX_EXIT_USAGE, "explore: %s", error.text) : SPEX_EXIT_OK;
    if (!err) {
        session.versus.criterion = file->space.criteria;
        spex_progress_bar_init(&session.bar, stderr);
        err = prepare(&session, &error);
        err = err ? err : compare(&session, file, &error);
        spex_progress_bar_end(&session.bar);
        status = finish(&session, err, &error);
    }
    spex_cpu_parts_free(&session.parts);
    spex_shell_lines_free(&session.lines);
    spex_pairs_free(&session.versus.pairs);
    for (int s = 0; s < 2; s++)
        free(session.versus.sides[s].values);
    spex_space_free(file);
    return status;
}
