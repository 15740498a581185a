/* SPDX-License-Identifier: MIT */
/* Shows what exploration policies recommend when they are given trials of a real program that
 * were recorded before.
 *
 *     replayed [--json] [--rounds SEEDS] TRIALS_PER_CONFIG POLICY,… STORE…
 *
 * The stores must have trials of every configuration, in random order. A policy that asks for a
 * configuration gets one of its trials, each once, in another order with every seed. When none
 * is left, they start again: `again` counts these, and `wanted` says how many more trials are
 * needed. The recommendation is that of `spex report`. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "explore/findings/study.h"
#include "explore/report/json_parts.h"
#include "measure/plan.h"
#include "policies/explore/builtin.h"
#include "policies/explore/draw.h"

enum { SEEDS_DEFAULT = 20, SEEDS_MAX = 1000 };

/* The trials of each configuration, by the groups of the summary. */
struct recording {
    struct spex_study *studies;
    size_t study_count;
    const struct spex_trial **trials;
    size_t trial_count;
    /* The summary of all trials. */
    struct spex_summary summary;
    /* Indices of the trials, group by group; `first` has the first index of each group in it. */
    size_t *of;
    size_t *first;
    /* The most trials of each group that any seed has asked for. */
    size_t *most;
};

struct replay {
    const struct recording *recording;
    const struct spex_space *space;
    const struct spex_policy_ops *policy;
    struct spex_draw draw;
    /* As recording->of, shuffled within groups. */
    size_t *order;
    /* Trials taken of each group. */
    size_t *taken;
    struct spex_trials trials;
    struct spex_summary summary;
    /* Trials that were given more than once. */
    size_t again;
    double seconds;
};

static void *allocate(size_t count, size_t size) {
    void *new = calloc(count + 1, size);
    if (!new)
        errx(1, "out of memory");
    return new;
}

static size_t group_of(const struct recording *recording, const size_t *levels) {
    const struct spex_group *group = spex_summary_find(&recording->summary, levels);
    if (!group)
        errx(1, "a configuration has no trial: all were expected");
    return (size_t)(group - recording->summary.groups);
}

static size_t recorded_count(const struct recording *recording, size_t group) {
    return recording->first[group + 1] - recording->first[group];
}

static void read_stores(struct recording *recording, char **paths, size_t count) {
    struct spex_error error = {""};
    recording->studies = allocate(count, sizeof(*recording->studies));
    recording->study_count = count;
    for (size_t s = 0; s < count; s++) {
        if (spex_study_read(&recording->studies[s], paths[s], &error))
            errx(1, "%s", error.text);
        recording->trial_count += recording->studies[s].trials.count;
    }
    recording->trials = allocate(recording->trial_count, sizeof(void *));
    spex_summary_init(&recording->summary, &recording->studies[0].file->space);
    size_t to = 0;
    for (size_t s = 0; s < count; s++)
        for (size_t t = 0; t < recording->studies[s].trials.count; t++) {
            recording->trials[to] = &recording->studies[s].trials.items[t];
            if (spex_summary_add(&recording->summary, recording->trials[to++]))
                errx(1, "out of memory");
        }
}

static void sort_into_groups(struct recording *recording) {
    size_t groups = recording->summary.count;
    size_t *end = allocate(groups, sizeof(*end));
    recording->of = allocate(recording->trial_count, sizeof(size_t));
    recording->first = allocate(groups, sizeof(size_t));
    recording->most = allocate(groups, sizeof(size_t));
    for (size_t t = 0; t < recording->trial_count; t++)
        end[group_of(recording, recording->trials[t]->levels)]++;
    for (size_t g = 0; g < groups; g++) {
        recording->first[g + 1] = recording->first[g] + end[g];
        end[g] = recording->first[g];
    }
    for (size_t t = 0; t < recording->trial_count; t++)
        recording->of[end[group_of(recording, recording->trials[t]->levels)]++] = t;
    free(end);
}

static void recording_free(struct recording *recording) {
    for (size_t s = 0; s < recording->study_count; s++)
        spex_study_free(&recording->studies[s]);
    spex_summary_free(&recording->summary);
    free(recording->studies);
    free(recording->trials);
    free(recording->of);
    free(recording->first);
    free(recording->most);
}

static void replay_shuffle(struct replay *replay) {
    const struct recording *recording = replay->recording;
    for (size_t g = 0; g < recording->summary.count; g++)
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
    size_t count = recording->trial_count;
    replay->draw.state = seed;
    replay->order = allocate(count, sizeof(size_t));
    replay->taken = allocate(recording->summary.count, sizeof(size_t));
    memcpy(replay->order, recording->of, count * sizeof(size_t));
    replay_shuffle(replay);
    spex_summary_init(&replay->summary, replay->space);
}

static void replay_end(struct replay *replay) {
    spex_trials_free(&replay->trials);
    spex_summary_free(&replay->summary);
    free(replay->order);
    free(replay->taken);
}

static const struct spex_trial *replay_take(struct replay *replay, const size_t *levels) {
    const struct recording *recording = replay->recording;
    size_t group = group_of(recording, levels), count = recorded_count(recording, group);
    size_t taken = replay->taken[group]++;
    replay->again += taken >= count;
    return recording->trials[replay->order[recording->first[group] + taken % count]];
}

static void replay_keep(struct replay *replay, const struct spex_trial *trial) {
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

static void replay_tell(struct replay *replay, void *state, const struct spex_trial *trial) {
    const struct spex_result result = {.size = sizeof(result),
                                       .levels = trial->levels,
                                       .ok = trial->ok,
                                       .measured = trial->ok ? trial->measured : NULL,
                                       .records_used = trial->records_used,
                                       .records_lost = trial->records_lost,
                                       .seconds = trial->seconds};
    replay->seconds += trial->seconds;
    replay_keep(replay, trial);
    if (replay->policy->run_finished)
        replay->policy->run_finished(state, &result);
}

static void replay_explore(struct replay *replay) {
    size_t *levels = allocate(replay->space->parameter_count, sizeof(*levels));
    void *state = allocate(1, replay->policy->state_size(replay->space));
    const struct spex_asking asking = {.policy = replay->policy,
                                       .state = state,
                                       .space = replay->space,
                                       .probes = "",
                                       .levels = levels};
    struct spex_plan plan;
    struct spex_error error = {""};
    int got = replay->policy->init(state, replay->space);
    if (got)
        errx(1, "%s: %s", replay->policy->name, strerror(-got));
    while ((got = spex_plan_ask(&asking, &plan, &error)) > 0)
        replay_tell(replay, state, replay_take(replay, plan.levels));
    if (got < 0)
        errx(1, "%s", error.text);
    if (replay->policy->fini)
        replay->policy->fini(state);
    free(state);
    free(levels);
}

static json_t *levels_json(const struct spex_space *space, const size_t *levels) {
    json_t *list = json_array();
    for (size_t p = 0; p < space->parameter_count; p++)
        json_array_append_new(list, json_integer((json_int_t)levels[p]));
    return list;
}

static json_t *config_json(const struct spex_space *space, const size_t *levels) {
    return json_pack("{s:o, s:o}", "config", spex_json_config(space, levels), "levels",
                     levels_json(space, levels));
}

static json_t *result_json(const struct replay *replay, const size_t *levels) {
    json_t *result = config_json(replay->space, levels);
    json_object_set_new(result, "policy", json_string(replay->policy->name));
    json_object_set_new(result, "seed", json_integer((json_int_t)replay->space->rules.seed));
    json_object_set_new(result, "trials", json_integer((json_int_t)replay->trials.count));
    json_object_set_new(result, "configurations", json_integer((json_int_t)replay->summary.count));
    json_object_set_new(result, "again", json_integer((json_int_t)replay->again));
    json_object_set_new(result, "seconds", json_real(replay->seconds));
    return result;
}

static json_t *replay_one(struct recording *recording, const struct spex_space *space,
                          const struct spex_policy_ops *policy) {
    struct replay replay = {.recording = recording, .space = space, .policy = policy};
    struct spex_findings findings;
    replay_begin(&replay, space->rules.seed);
    replay_explore(&replay);
    for (size_t g = 0; g < recording->summary.count; g++)
        if (replay.taken[g] > recording->most[g])
            recording->most[g] = replay.taken[g];
    if (spex_findings_init(&findings, &replay.summary, &replay.trials))
        errx(1, "out of memory");
    if (findings.best == SPEX_RANKING_NONE)
        errx(1, "%s: no trial has a result", policy->name);
    json_t *result = result_json(&replay, replay.summary.groups[findings.best].levels);
    spex_findings_free(&findings);
    replay_end(&replay);
    return result;
}

/* Configurations of which more trials were asked for than there are, and how many more. */
static json_t *wanted_json(const struct recording *recording) {
    json_t *list = json_array();
    for (size_t g = 0; g < recording->summary.count; g++) {
        size_t there = recorded_count(recording, g);
        if (recording->most[g] <= there)
            continue;
        json_t *wanted = config_json(recording->summary.space, recording->summary.groups[g].levels);
        json_object_set_new(wanted, "trials",
                            json_integer((json_int_t)(recording->most[g] - there)));
        json_array_append_new(list, wanted);
    }
    return list;
}

static int better_first(const void *a, const void *b, void *user) {
    const struct spex_summary *summary = user;
    const struct spex_group *one = &summary->groups[*(const size_t *)a],
                            *other = &summary->groups[*(const size_t *)b];
    if (spex_group_better(summary->space, one, other))
        return -1;
    return spex_group_better(summary->space, other, one) ? 1 : 0;
}

/* All configurations, the best by their means first. */
static json_t *ranked_json(struct spex_summary *summary) {
    json_t *list = json_array();
    size_t *order = allocate(summary->count, sizeof(*order));
    for (size_t g = 0; g < summary->count; g++)
        order[g] = g;
    qsort_r(order, summary->count, sizeof(*order), better_first, summary);
    for (size_t g = 0; g < summary->count; g++)
        json_array_append_new(list, config_json(summary->space, summary->groups[order[g]].levels));
    free(order);
    return list;
}

static void print_results(const json_t *results) {
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

/* Replays each of the policies in the list, which is changed. */
static json_t *replay_all(struct recording *recording, struct spex_space *space, char *policies,
                          size_t seeds) {
    json_t *results = json_array();
    for (char *rest = NULL, *name = strtok_r(policies, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest)) {
        const struct spex_policy_ops *policy = policy_named(name);
        for (space->rules.seed = 1; space->rules.seed <= seeds; space->rules.seed++)
            json_array_append_new(results, replay_one(recording, space, policy));
    }
    return results;
}

int main(int argc, char **argv) {
    static struct recording recording;
    size_t seeds = SEEDS_DEFAULT;
    bool json;
    struct spex_error error = {""};
    bench_options(argc, argv, 1, SEEDS_MAX, &seeds, &json);
    unsigned long each = optind + 2 < argc ? strtoul(argv[optind], NULL, 10) : 0;
    if (each < 1 || each > UINT32_MAX)
        errx(2, "[--json] [--rounds SEEDS] TRIALS_PER_CONFIG POLICY,… STORE… was expected");
    read_stores(&recording, argv + optind + 2, (size_t)(argc - optind) - 2);
    sort_into_groups(&recording);
    struct spex_space space = recording.studies[0].file->space;
    space.rules.trials_per_config = (uint32_t)each;
    json_t *results = replay_all(&recording, &space, argv[optind + 1], seeds);
    if (!json)
        print_results(results);
    else if (spex_json_write(json_pack("{s:O, s:o, s:o}", "results", results, "wanted",
                                       wanted_json(&recording), "ranked",
                                       ranked_json(&recording.summary)),
                             stdout, &error))
        errx(1, "%s", error.text);
    json_decref(results);
    recording_free(&recording);
    return 0;
}
