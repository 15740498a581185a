/* SPDX-License-Identifier: MIT */
/* What exploration policies recommend when they are told trials of a real program that were run before:
 *
 *     replayed [--json] [--rounds SEEDS] STORE TRIALS_PER_CONFIG POLICY…
 *
 * The store has to have several trials of every configuration, in an order of chance. A policy that asks for one gets
 * one of them, each once, in another order with every seed; when there are none left, they begin again, and are
 * counted. What is recommended is what `spex report` would recommend. */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "builtin.h"
#include "draw.h"
#include "explore/report_json.h"
#include "explore/report_source.h"
#include "measure/plan.h"

enum { SEEDS_DEFAULT = 20, SEEDS_MAX = 1000 };

/* The trials of each configuration, by the group of the store's summary. */
struct recording {
    struct spex_report_source source;
    size_t *of;    /* trials, group by group */
    size_t *first; /* in `of`, of each group, and one more */
};

struct replay {
    const struct recording *recording;
    const struct spex_space *space;
    const struct spex_policy_ops *policy;
    struct spex_draw draw;
    size_t *order; /* as recording->of, shuffled within groups */
    size_t *taken; /* of each group */
    struct spex_trials trials;
    struct spex_summary summary;
    size_t again; /* trials that were told more than once */
    double seconds;
};

static void *allocate(size_t count, size_t size) {
    void *new = calloc(count + 1, size);
    if (!new)
        errx(1, "out of memory");
    return new;
}

static size_t group_of(const struct recording *recording, const size_t *levels) {
    const struct spex_summary *summary = &recording->source.summary;
    const struct spex_group *group = spex_summary_find(summary, levels);
    if (!group)
        errx(1, "%s: a configuration has no trial: all were expected", recording->source.path);
    return (size_t)(group - summary->groups);
}

static void recording_read(struct recording *recording, const char *path) {
    struct spex_why why = {""};
    if (spex_report_source_read(&recording->source, path, &why))
        errx(1, "%s", why.text);
    const struct spex_trials *trials = &recording->source.trials;
    size_t groups = recording->source.summary.count;
    size_t *end = allocate(groups, sizeof(*end));
    recording->of = allocate(trials->count, sizeof(size_t));
    recording->first = allocate(groups, sizeof(size_t));
    for (size_t t = 0; t < trials->count; t++)
        end[group_of(recording, trials->items[t].levels)]++;
    for (size_t g = 0; g < groups; g++) {
        recording->first[g + 1] = recording->first[g] + end[g];
        end[g] = recording->first[g];
    }
    for (size_t t = 0; t < trials->count; t++)
        recording->of[end[group_of(recording, trials->items[t].levels)]++] = t;
    free(end);
}

static void shuffle(struct replay *replay) {
    const struct recording *recording = replay->recording;
    for (size_t g = 0; g < recording->source.summary.count; g++)
        for (size_t i = recording->first[g + 1]; i > recording->first[g] + 1; i--) {
            size_t other =
                recording->first[g] + spex_draw_below(&replay->draw, i - recording->first[g]);
            size_t kept = replay->order[i - 1];
            replay->order[i - 1] = replay->order[other];
            replay->order[other] = kept;
        }
}

static void replay_begin(struct replay *replay, uint64_t seed) {
    const struct recording *recording = replay->recording;
    size_t count = recording->source.trials.count;
    replay->draw.state = seed;
    replay->order = allocate(count, sizeof(size_t));
    replay->taken = allocate(recording->source.summary.count, sizeof(size_t));
    memcpy(replay->order, recording->of, count * sizeof(size_t));
    shuffle(replay);
    spex_summary_init(&replay->summary, replay->space);
}

static void replay_end(struct replay *replay) {
    spex_trials_free(&replay->trials);
    spex_summary_free(&replay->summary);
    free(replay->order);
    free(replay->taken);
}

static const struct spex_trial *take(struct replay *replay, const size_t *levels) {
    const struct recording *recording = replay->recording;
    size_t group = group_of(recording, levels);
    size_t first = recording->first[group], count = recording->first[group + 1] - first;
    size_t taken = replay->taken[group]++;
    replay->again += taken >= count;
    return &recording->source.trials.items[replay->order[first + taken % count]];
}

static void keep(struct replay *replay, const struct spex_trial *trial) {
    struct spex_trial copy;
    if (spex_trial_init(&copy, replay->space, trial->levels))
        errx(1, "out of memory");
    memcpy(copy.measured, trial->measured,
           replay->space->criterion_count * sizeof(*trial->measured));
    copy.ok = trial->ok;
    copy.status = strdup(trial->status);
    copy.seconds = trial->seconds;
    if (!copy.status || spex_summary_add(&replay->summary, &copy) ||
        spex_trials_add(&replay->trials, &copy))
        errx(1, "out of memory");
}

static void tell(struct replay *replay, void *state, const struct spex_trial *trial) {
    const struct spex_result result = {.size = sizeof(result),
                                       .levels = trial->levels,
                                       .ok = trial->ok,
                                       .measured = trial->ok ? trial->measured : NULL,
                                       .records_used = trial->records_used,
                                       .records_lost = trial->records_lost,
                                       .seconds = trial->seconds};
    replay->seconds += trial->seconds;
    keep(replay, trial);
    if (replay->policy->run_finished)
        replay->policy->run_finished(state, &result);
}

static void explore(struct replay *replay) {
    size_t *levels = allocate(replay->space->parameter_count, sizeof(*levels));
    void *state = allocate(1, replay->policy->state_size(replay->space));
    const struct spex_asking asking = {.policy = replay->policy,
                                       .state = state,
                                       .space = replay->space,
                                       .probes = "",
                                       .levels = levels};
    struct spex_plan plan;
    struct spex_why why = {""};
    int got = replay->policy->init(state, replay->space);
    if (got)
        errx(1, "%s: %s", replay->policy->name, strerror(-got));
    while ((got = spex_plan_ask(&asking, &plan, &why)) > 0)
        tell(replay, state, take(replay, plan.levels));
    if (got < 0)
        errx(1, "%s", why.text);
    if (replay->policy->fini)
        replay->policy->fini(state);
    free(state);
    free(levels);
}

static json_t *replay_one(const struct recording *recording, const struct spex_space *space,
                          const struct spex_policy_ops *policy) {
    struct replay replay = {.recording = recording, .space = space, .policy = policy};
    struct spex_findings findings;
    replay_begin(&replay, space->rules.seed);
    explore(&replay);
    if (spex_findings_init(&findings, &replay.summary, &replay.trials))
        errx(1, "out of memory");
    json_t *config = findings.best == SPEX_STANDING_NONE
                         ? json_null()
                         : spex_json_config(space, replay.summary.groups[findings.best].levels);
    json_t *result =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:o}", "policy", policy->name, "seed",
                  (json_int_t)space->rules.seed, "trials", (json_int_t)replay.trials.count,
                  "configurations", (json_int_t)replay.summary.count, "again",
                  (json_int_t)replay.again, "seconds", replay.seconds, "config", config);
    spex_findings_free(&findings);
    replay_end(&replay);
    if (!result)
        errx(1, "out of memory");
    return result;
}

static void print(const json_t *results) {
    size_t r;
    const json_t *result;
    json_array_foreach(results, r, result) {
        char *config = json_dumps(json_object_get(result, "config"), JSON_COMPACT);
        printf("%-11s seed %4lld: %5lld trials of %4lld configurations (%lld told again), %.1f s: "
               "%s\n",
               json_string_value(json_object_get(result, "policy")),
               json_integer_value(json_object_get(result, "seed")),
               json_integer_value(json_object_get(result, "trials")),
               json_integer_value(json_object_get(result, "configurations")),
               json_integer_value(json_object_get(result, "again")),
               json_real_value(json_object_get(result, "seconds")), config);
        free(config);
    }
}

static const struct spex_policy_ops *policy_named(const char *name) {
    const struct spex_policy_ops *policy = spex_builtin_policy(name);
    if (!policy)
        errx(2, "%s: the name of a policy was expected", name);
    return policy;
}

int main(int argc, char **argv) {
    static struct recording recording;
    size_t seeds = SEEDS_DEFAULT;
    bool json;
    struct spex_why why = {""};
    bench_options(argc, argv, 1, SEEDS_MAX, &seeds, &json);
    unsigned long each = optind + 2 < argc ? strtoul(argv[optind + 1], NULL, 10) : 0;
    if (each < 1 || each > UINT32_MAX)
        errx(2, "[--json] [--rounds SEEDS] STORE TRIALS_PER_CONFIG POLICY… was expected");
    recording_read(&recording, argv[optind]);
    struct spex_space space = recording.source.file->space;
    space.rules.trials_per_config = (uint32_t)each;
    json_t *results = json_array();
    for (int name = optind + 2; name < argc; name++)
        for (space.rules.seed = 1; space.rules.seed <= seeds; space.rules.seed++)
            json_array_append_new(results,
                                  replay_one(&recording, &space, policy_named(argv[name])));
    if (!json)
        print(results);
    else if (spex_json_write(json_incref(results), stdout, &why))
        errx(1, "%s", why.text);
    json_decref(results);
    spex_report_source_free(&recording.source);
    free(recording.of);
    free(recording.first);
    return 0;
}
