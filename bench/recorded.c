/* SPDX-License-Identifier: MIT */
/* Explores spaces of which every configuration was measured once, and tells how good what is
 * recommended is.
 *
 *     recorded [--json] [--rounds SEEDS] [--policies NAME,…] [--trials N] [--noise PERCENT]
 *              [--finals PERCENT] [--first best|worst] [--repeats] [--maximise] TABLE.csv…
 *
 * The last column of a table is the objective, the others are parameters. As in a space with
 * <configurations>, there is nothing but the rows. `uniform` draws rows at random and recommends the
 * best as measured. A trial is the figure of its row, or one with normal noise. With --repeats rows
 * with the same parameters are measurements of one configuration: a trial is one of them, drawn at
 * random, and the truth is their mean. A seed is good when what is recommended is truly within 5 %
 * of the best; the interval is Wilson's of 95 %. --finals 0: there are none, as where a quarter of
 * the trials is fewer than 20. `known` is the share of seeds whose finals tell who wins, `right` the
 * share of these in which no finalist is truly better by more than the zone. --first begins with
 * five configurations that another exploration may have told, drawn from the best or the worst
 * twentieth. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "explore/findings/final_race.h"
#include "policies/explore/builtin.h"
#include "policies/explore/configurations.h"
#include "policies/explore/results.h"
#include "recording.h"

enum { SEEDS_DEFAULT = 20, SEEDS_MAX = 100000, POLICIES_MAX = 16, FIRST = 5 };

struct options {
    size_t seeds;
    unsigned long trials; /* 0: as the policy wants */
    double noise;         /* standard deviation as a share */
    double finals;        /* as in the rules */
    const char *first;
    bool json, maximise, repeats;
    const char *policies[POLICIES_MAX + 1];
};

struct seen {
    double good, loss, rank, trials, configurations;
    double known, right; /* finals */
};

static double noisy(double figure, double noise, struct spex_draw *draw) {
    double radius = sqrt(-2 * log(1 - spex_draw_share(draw)));
    double normal = radius * cos(2 * M_PI * spex_draw_share(draw));
    return figure * exp(noise * normal);
}

/* Adds what the exploration recommends. */
static void judge(const struct recording *recording, size_t row, const struct spex_results *results,
                  struct seen *seen) {
    double figure = recording->figures[row], rank = 0;
    for (size_t other = 0; other < recording->rows; other++)
        rank += recording->figures[other] < figure;
    seen->good = figure <= 1.05 * recording->least;
    seen->loss = figure / recording->least - 1;
    seen->rank = rank;
    seen->trials = (double)results->planned;
    seen->configurations = (double)results->count;
}

/* What finals have told, and whether it is true. */
static void judge_race(const struct recording *recording, const struct spex_summary *summary,
                       const struct spex_final_race *race, struct seen *seen) {
    double least = INFINITY;
    if (!race->trials || !race->known)
        return;
    for (size_t f = 0; f < race->count; f++) {
        const size_t *levels = summary->groups[race->finalists[f].group].levels;
        least = fmin(least, recording->figures[recording_row(recording, levels)]);
    }
    const size_t *winner = summary->groups[race->finalists[race->leader].group].levels;
    double figure = recording->figures[recording_row(recording, winner)];
    seen->known = 1;
    seen->right = figure * (1 - race->zone) <= least;
}

/* What an exploration has seen, for policy and judge. */
struct course {
    struct spex_results results;
    struct spex_summary summary;
    struct spex_final_trials finals;
    struct spex_draw noise;
};

static void course_begin(struct course *course, const struct spex_space *space, uint64_t seed) {
    *course = (struct course){.results = {.space = space}, .noise = {spex_draw_mix(seed)}};
    spex_summary_init(&course->summary, space);
}

static void course_end(struct course *course) {
    spex_results_free(&course->results);
    spex_summary_free(&course->summary);
    spex_final_trials_free(&course->finals);
}

static void run_trial(const struct recording *recording, const struct options *options,
                      const struct spex_policy_ops *policy, void *state,
                      const struct spex_plan *plan, struct course *course) {
    size_t row = recording_row(recording, plan->levels);
    double figure =
        options->repeats ? recording_draw(recording, row, &course->noise) : recording->figures[row];
    struct spex_measured measured = {noisy(figure, options->noise, &course->noise), NAN};
    struct spex_result result = {
        .size = sizeof(result), .levels = plan->levels, .ok = true, .measured = &measured};
#ifndef __clang_analyzer__ /* takes what it does not know of the hash table for garbage */
    const struct spex_trial trial = {
        .levels = plan->levels, .ok = true, .measured = &measured, .block = plan->block};
    if (spex_results_plan(&course->results, plan->levels) ||
        spex_summary_add(&course->summary, &trial) ||
        spex_final_trials_add(&course->finals, &course->summary, &trial))
        errx(1, "out of memory");
    spex_results_finish(&course->results, &result);
#endif
    if (policy && policy->run_finished)
        policy->run_finished(state, &result);
}

static int compare_figures(const void *a, const void *b, void *user) {
    const struct recording *recording = user;
    double one = recording->figures[*(const size_t *)a];
    double other = recording->figures[*(const size_t *)b];
    return (one > other) - (one < other);
}

/* Sets what is tried first: different ones of the best twentieth, or of the worst; to be freed. */
static size_t *begin_with(const struct recording *recording, const char *which, uint64_t seed,
                          struct spex_space *space) {
    size_t *order = calloc(recording->rows, sizeof(*order)), parameters = space->parameter_count;
    size_t *first = calloc(FIRST * parameters, sizeof(*first));
    size_t twentieth = recording->rows / 20 > FIRST ? recording->rows / 20 : FIRST;
    struct spex_draw draw = {spex_draw_mix(seed)};
    if (recording->rows < FIRST)
        errx(1, "%s: at least %d configurations were expected", recording->name, FIRST);
    for (size_t row = 0; row < recording->rows; row++)
        order[row] = row;
    qsort_r(order, recording->rows, sizeof(*order), compare_figures, (void *)(uintptr_t)recording);
    size_t from = strcmp(which, "best") == 0 ? 0 : recording->rows - twentieth;
    for (size_t n = 0; n < FIRST; n++) {
        size_t other = from + n + spex_draw_below(&draw, twentieth - n), row = order[other];
        order[other] = order[from + n];
        memcpy(first + n * parameters, space->listed + row * parameters,
               parameters * sizeof(*first));
    }
    free(order);
    space->first = first;
    space->first_count = FIRST;
    return first;
}

static void explore(const struct recording *recording, const struct options *options,
                    const struct spex_policy_ops *policy, uint64_t seed, struct seen *seen) {
    struct spex_space space = recording->file->space;
    struct course course;
    struct spex_ranking standing;
    struct spex_final_race race;
    size_t *levels = calloc(space.parameter_count, sizeof(*levels)), best, tied;
    space.rules.seed = seed;
    course_begin(&course, &space, seed);
    size_t *first = options->first ? begin_with(recording, options->first, seed, &space) : NULL;
    void *state = calloc(1, policy->state_size(&space));
    if (policy->init(state, &space))
        errx(1, "%s does not begin", policy->name);
    struct spex_plan plan = {.size = sizeof(plan), .levels = levels, .probes = ""};
    while (policy->next(state, &plan) == 1) {
        run_trial(recording, options, policy, state, &plan, &course);
        plan.block = 0;
    }
    if (spex_final_race_ties(&course.summary, &course.finals, &standing, &best, &tied, &race))
        errx(1, "out of memory");
    *seen = (struct seen){.known = 0};
    judge(recording, recording_row(recording, course.summary.groups[best].levels), &course.results,
          seen);
    judge_race(recording, &course.summary, &race, seen);
    policy->fini(state);
    course_end(&course);
    free(first);
    free(state);
    free(levels);
}

static void draw_uniformly(const struct recording *recording, const struct options *options,
                           uint64_t trials, uint64_t seed, struct seen *seen) {
    struct spex_space space = recording->file->space;
    struct course course;
    struct spex_order order = spex_order_of(recording->rows, seed);
    size_t *levels = calloc(space.parameter_count, sizeof(*levels)), best = 0;
    const struct spex_plan plan = {.size = sizeof(plan), .levels = levels};
    course_begin(&course, &space, seed);
    for (uint64_t i = 0; i < trials && i < recording->rows; i++) {
        spex_configuration_levels(&space, spex_order_at(&order, i), levels);
        run_trial(recording, options, NULL, NULL, &plan, &course);
    }
    const struct spex_results *results = &course.results;
    for (size_t c = 1; c < results->count; c++)
        if (spex_results_values(results, c)->mean < spex_results_values(results, best)->mean)
            best = c;
    *seen = (struct seen){.known = 0};
    judge(recording, recording_row(recording, spex_results_levels(results, best)), results, seen);
    course_end(&course);
    free(levels);
}

static int compare_doubles(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* The middle of what the seeds have at this offset. */
static double middle(const struct seen *seen, size_t seeds, size_t offset) {
    double *sorted = calloc(seeds, sizeof(*sorted));
    for (size_t s = 0; s < seeds; s++)
        memcpy(&sorted[s], (const char *)&seen[s] + offset, sizeof(double));
    qsort(sorted, seeds, sizeof(*sorted), compare_doubles);
    double found = (sorted[(seeds - 1) / 2] + sorted[seeds / 2]) / 2;
    free(sorted);
    return found;
}

static double mean(const struct seen *seen, size_t seeds, size_t offset) {
    double sum = 0;
    for (size_t s = 0; s < seeds; s++) {
        double value;
        memcpy(&value, (const char *)&seen[s] + offset, sizeof(value));
        sum += value / (double)seeds;
    }
    return sum;
}

/* Wilson's score interval of a share. */
static double wilson(double share, double count, double sign) {
    double z = 1.96, n = count, centre = share + z * z / (2 * n);
    double reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    return (centre + sign * reach) / (1 + z * z / n);
}

static void print_seen(const struct recording *recording, const char *policy,
                       const struct seen *seen, const struct options *options, bool *first) {
#define MEAN(member)   mean(seen, options->seeds, offsetof(struct seen, member))
#define MIDDLE(member) middle(seen, options->seeds, offsetof(struct seen, member))
    double known = MEAN(known), good = MEAN(good), n = (double)options->seeds;
    const char *form =
        options->json
            ? "%s  {\"space\": \"%s\", \"rows\": %zu, \"policy\": \"%s\", \"good\": %.4f, "
              "\"low\": %.4f, \"high\": %.4f, \"loss\": %.5f, \"rank\": %.1f, \"trials\": %.1f, "
              "\"configurations\": %.1f, \"known\": %.4f, \"right\": %.4f}"
            : "%s%-24.24s %6zu %-11s good %5.1f %% (%.3f to %.3f)  loss %.4f  rank %5.1f  %6.1f "
              "trials of %6.1f  known %5.1f %% right %5.1f %%\n";
    printf(form, options->json && !*first ? ",\n" : "", recording->name, recording->rows, policy,
           options->json ? good : 100 * good, wilson(good, n, -1), wilson(good, n, 1), MIDDLE(loss),
           MIDDLE(rank), MEAN(trials), MEAN(configurations), options->json ? known : 100 * known,
           known > 0 ? (options->json ? 1 : 100) * MEAN(right) / known : 0);
    fflush(stdout);
    *first = false;
}

static void measure(const struct recording *recording, const struct options *options, bool *first) {
    struct seen *seen = calloc(options->seeds, sizeof(*seen));
    uint64_t trials = options->trials;
    for (size_t p = 0; options->policies[p]; p++) {
        const struct spex_policy_ops *policy = spex_builtin_policy(options->policies[p]);
        bool uniform = strcmp(options->policies[p], "uniform") == 0;
        if (!policy && !uniform)
            errx(1, "%s: a policy or \"uniform\" was expected", options->policies[p]);
        for (uint64_t seed = 1; seed <= options->seeds; seed++)
            if (uniform)
                draw_uniformly(recording, options, trials, seed, &seen[seed - 1]);
            else
                explore(recording, options, policy, seed, &seen[seed - 1]);
        if (!uniform && !trials) /* what comes after it has as many */
            trials = (uint64_t)mean(seen, options->seeds, offsetof(struct seen, trials));
        print_seen(recording, options->policies[p], seen, options, first);
    }
    free(seen);
}

static void take_policies(char *list, struct options *options) {
    size_t count = 0;
    for (char *name; (name = strsep(&list, ","));) {
        if (count == POLICIES_MAX)
            errx(1, "at most %d policies were expected", POLICIES_MAX);
        options->policies[count++] = name;
    }
    options->policies[count] = NULL;
}

static unsigned long number(const char *text, unsigned long most) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || end == text || errno || !value || value > most)
        errx(1, "\"%s\": a number from 1 to %lu was expected", text, most);
    return value;
}

static void take_options(int argc, char **argv, struct options *options) {
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'},         {"maximise", no_argument, NULL, 'm'},
        {"rounds", required_argument, NULL, 'r'}, {"policies", required_argument, NULL, 'p'},
        {"trials", required_argument, NULL, 't'}, {"noise", required_argument, NULL, 'n'},
        {"finals", required_argument, NULL, 'f'}, {"first", required_argument, NULL, 'b'},
        {"repeats", no_argument, NULL, 'e'},      {NULL, 0, NULL, 0},
    };
    *options = (struct options){.seeds = SEEDS_DEFAULT,
                                .policies = {SPEX_BUILTIN_DEFAULT, "uniform", NULL}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (option) {
        case 'j':
            options->json = true;
            break;
        case 'm':
            options->maximise = true;
            break;
        case 'r':
            options->seeds = number(optarg, SEEDS_MAX);
            break;
        case 't':
            options->trials = number(optarg, 1000000);
            break;
        case 'n':
            options->noise = (double)number(optarg, 100) / 100;
            break;
        case 'f':
            options->finals = strcmp(optarg, "0") == 0 ? -1 : (double)number(optarg, 99) / 100;
            break;
        case 'b':
            if (strcmp(optarg, "best") != 0 && strcmp(optarg, "worst") != 0)
                errx(1, "\"%s\": best or worst was expected", optarg);
            options->first = optarg;
            break;
        case 'e':
            options->repeats = true;
            break;
        case 'p':
            take_policies(optarg, options);
            break;
        default:
            exit(1);
        }
    if (optind == argc)
        errx(1, "a table was expected");
}

int main(int argc, char **argv) {
    struct options options;
    bool first = true;
    take_options(argc, argv, &options);
    if (options.json)
        printf("{\"bench\": \"recorded\", \"seeds\": %zu, \"results\": [\n", options.seeds);
    for (int t = optind; t < argc; t++) {
        struct recording recording;
        recording_read(&recording, argv[t], options.repeats, options.maximise);
        recording.file->space.rules.trials_max = options.trials;
        recording.file->space.rules.finals = options.finals;
        measure(&recording, &options, &first);
        recording_free(&recording);
    }
    if (options.json)
        puts("\n ]}");
    return 0;
}
