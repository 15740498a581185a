/* SPDX-License-Identifier: MIT */
/* Measures what exploration policies find in generated programs whose true figures are known,
 * and in what measuring time.
 *
 *     policies [--json] [--rounds SEEDS] [--intervals] [--landscapes NAME,…] [--policies NAME,…]
 *              [--noises NAME,…] [--trials N]
 *
 * Brute force is the grid with two trials of each configuration. A seed is good when the
 * recommended configuration is truly within 5 % of the best, and keeps the limits. Spaces that
 * are too large for brute force have no line of the grid. The last lines compare runs that may
 * end early by their precision (rules.precision) with runs that may not.
 *
 * --intervals tells instead whether what reports say is true, with several kinds of noise
 * (landscapes.c): the share of seeds in which the interval of the recommended configuration holds its
 * true figure, and half its width; the share of all configurations for which that is so; how often it
 * is said that no other is as good, and that finals know the winner, and how often either is true; how
 * often the really best of those tried was in finals, and what is recommended is as good as that, up to
 * the zone. --trials: as if a user had given so many. */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/explore/builtin.h"
#include "simulation.h"

enum { SEEDS_DEFAULT = 20, SEEDS_MAX = 10000, BRUTE_MAX = 5000 };

/* Lists of names; NULL: all of them. */
struct options {
    size_t seeds, trials;
    bool json, intervals;
    const char *landscapes, *policies, *noises;
};

struct figures {
    const char *landscape;
    const char *policy;
    double precision;
    /* Share of seeds. */
    double good;
    double mean_share;
    /* Share of the time of brute force. */
    double time;
    double trials;
    double configs;
    double front;
    double covered;
    /* Time of the policy itself for a trial. */
    double milliseconds;
};

static struct figures policy_measure(const struct landscape *landscape,
                                     const struct spex_policy_ops *policy, size_t seeds,
                                     double full_seconds) {
    struct figures figures = {.landscape = landscape->name,
                              .policy = policy->name,
                              .precision = landscape->space.rules.precision};
    double policy_seconds = 0, seconds = 0;
    uint64_t all;
    landscape_within(landscape, 1, &all);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct simulation simulation = {.policy = policy, .landscape = landscape, .seed = seed};
        struct outcome outcome;
        simulate(&simulation, &outcome);
        figures.good += (outcome.share >= 0.95) / (double)seeds;
        figures.mean_share += outcome.share / (double)seeds;
        figures.trials += (double)outcome.trials / (double)seeds;
        figures.configs += (double)outcome.configs / (double)seeds;
        figures.front += outcome.front / (double)seeds;
        figures.covered += outcome.covered / (double)seeds;
        policy_seconds += outcome.policy_seconds;
        seconds += outcome.seconds / (double)seeds;
    }
    figures.time = seconds / (2 * (double)all * full_seconds);
    figures.milliseconds = 1e3 * policy_seconds / (figures.trials * (double)seeds);
    return figures;
}

static void print_figures(const struct figures *figures, bool json, bool *first) {
    if (json)
        printf("%s  {\"landscape\": \"%s\", \"policy\": \"%s\", \"precision\": %g, \"good\": %.3f, "
               "\"share\": %.4f, \"time\": %.5f, \"trials\": %.1f, \"configurations\": %.1f, "
               "\"front\": %.3f, \"covered\": %.3f, \"milliseconds\": %.4f}",
               *first ? "" : ",\n", figures->landscape, figures->policy, figures->precision,
               figures->good, figures->mean_share, figures->time, figures->trials, figures->configs,
               figures->front, figures->covered, figures->milliseconds);
    else
        printf("%-12s %-11s %4.2f  good %5.1f %%  found %5.1f %%  time %6.2f %%  %6.0f trials of "
               "%5.0f  front %5.1f %%  interval %5.1f %%  %.3f ms\n",
               figures->landscape, figures->policy, figures->precision, 100 * figures->good,
               100 * figures->mean_share, 100 * figures->time, figures->trials, figures->configs,
               100 * figures->front, 100 * figures->covered, figures->milliseconds);
    fflush(stdout);
    *first = false;
}

/* Means over the seeds. */
struct honesty {
    double good, covered, all_covered, width, best_tied, alone, alone_right, known, known_right;
    double raced, selected, trials;
};

static struct honesty honesty_measure(const struct landscape *landscape,
                                      const struct spex_policy_ops *policy,
                                      const struct landscape_noise *noise, size_t seeds) {
    struct honesty sums = {0};
    double share = 1 / (double)seeds;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const struct simulation simulation = {
            .policy = policy, .landscape = landscape, .noise = noise, .seed = seed};
        struct outcome outcome;
        simulate(&simulation, &outcome);
        sums.good += share * (outcome.share >= 0.95);
        sums.covered += share * outcome.covered;
        sums.all_covered += share * outcome.all_covered;
        sums.width += share * outcome.width;
        sums.best_tied += share * outcome.best_tied;
        sums.alone += share * outcome.alone;
        sums.alone_right += share * outcome.alone_right;
        sums.known += share * outcome.known;
        sums.known_right += share * outcome.known_right;
        sums.raced += share * outcome.best_raced;
        sums.selected += share * outcome.selected;
        sums.trials += share * (double)outcome.trials;
    }
    return sums;
}

static void print_honesty(const struct landscape *landscape, const struct spex_policy_ops *policy,
                          const struct landscape_noise *noise, const struct honesty *of, bool json,
                          bool *first) {
    const char *form =
        json ? "%s  {\"landscape\": \"%s\", \"policy\": \"%s\", \"noise\": \"%s\", \"covered\": "
               "%.3f, "
               "\"half_width\": %.4f, \"all_covered\": %.4f, \"good\": %.3f, \"best_tied\": %.3f, "
               "\"alone\": %.3f, \"alone_right\": %.3f, \"known\": %.3f, \"known_right\": %.3f, "
               "\"best_raced\": %.3f, \"selected\": %.3f, \"trials\": %.1f}"
             : "%s%-11s %-11s %-8s best's interval %.3f (+-%.4f)  all %.4f  good %.3f  best tied "
               "%.3f  "
               "alone %.3f, right %.3f  known %.3f, right %.3f  best raced %.3f, selected %.3f  "
               "%.0f trials\n";
    printf(form, json && !*first ? ",\n" : "", landscape->name, policy->name, noise->name,
           of->covered, of->width, of->all_covered, of->good, of->best_tied, of->alone,
           of->alone_right, of->known, of->known_right, of->raced, of->selected, of->trials);
    fflush(stdout);
    *first = false;
}

/* Whether the name is in the list, or there is none. */
static bool is_chosen(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    return !list;
}

/* A grid that would take too long is left out. */
static bool is_measured(const struct options *options, const struct landscape *landscape,
                        const struct spex_policy_ops *policy) {
    return is_chosen(options->landscapes, landscape->name) &&
           is_chosen(options->policies, policy->name) &&
           (policy != spex_builtin_policy("grid") ||
            spex_space_configurations(&landscape->space) <= BRUTE_MAX);
}

static void measure_policy(const struct landscape *landscape, const struct spex_policy_ops *policy,
                           const struct options *options, bool *first) {
    if (!options->intervals) {
        struct figures figures = policy_measure(landscape, policy, options->seeds,
                                                landscape->space.rules.duration_seconds);
        print_figures(&figures, options->json, first);
        return;
    }
    for (size_t n = 0; n < LANDSCAPE_NOISES; n++) {
        const struct landscape_noise *noise = &landscape_noises[n];
        if (!is_chosen(options->noises, noise->name))
            continue;
        const struct honesty honesty = honesty_measure(landscape, policy, noise, options->seeds);
        print_honesty(landscape, policy, noise, &honesty, options->json, first);
    }
}

static void measure_policies(const struct options *options, bool *first) {
    for (size_t l = 0; l < LANDSCAPES; l++) {
        struct landscape landscape;
        landscape_make(&landscape, l);
        landscape.space.rules.trials_max = options->trials;
        for (size_t p = 0; spex_builtin_policies[p]; p++)
            if (is_measured(options, &landscape, spex_builtin_policies[p]))
                measure_policy(&landscape, spex_builtin_policies[p], options, first);
    }
}

/* Long runs, so that there is time to be saved. */
static void measure_early_ends(size_t seeds, bool json, bool *first) {
    static const double precisions[] = {0, 0.05, 0.03};
    static const char *const policies[] = {"grid", SPEX_BUILTIN_DEFAULT};
    for (size_t l = 0; l < 2; l++)
        for (size_t p = 0; p < 2; p++)
            for (size_t i = 0; i < 3; i++) {
                struct landscape landscape;
                landscape_make(&landscape, l);
                landscape.space.rules.duration_seconds = 1;
                landscape.space.rules.precision = precisions[i];
                struct figures figures =
                    policy_measure(&landscape, spex_builtin_policy(policies[p]), seeds, 1);
                print_figures(&figures, json, first);
            }
}

static void take_options(int argc, char **argv, struct options *options) {
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'},           {"rounds", required_argument, NULL, 'r'},
        {"intervals", no_argument, NULL, 'i'},      {"landscapes", required_argument, NULL, 'l'},
        {"policies", required_argument, NULL, 'p'}, {"noises", required_argument, NULL, 'n'},
        {"trials", required_argument, NULL, 't'},   {NULL, 0, NULL, 0},
    };
    *options = (struct options){.seeds = SEEDS_DEFAULT};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
        if (option == 'j')
            options->json = true;
        else if (option == 'r')
            options->seeds = strtoul(optarg, NULL, 10);
        else if (option == 'i')
            options->intervals = true;
        else if (option == 'l')
            options->landscapes = optarg;
        else if (option == 'p')
            options->policies = optarg;
        else if (option == 'n')
            options->noises = optarg;
        else if (option == 't')
            options->trials = strtoul(optarg, NULL, 10);
        else
            exit(2);
    if (!options->seeds || options->seeds > SEEDS_MAX)
        errx(2, "--rounds: a number of 1 to %d was expected", SEEDS_MAX);
}

int main(int argc, char **argv) {
    struct options options;
    bool first = true;
    take_options(argc, argv, &options);
    if (options.json)
        printf("{\"bench\": \"policies\", \"seeds\": %zu, \"results\": [\n", options.seeds);
    measure_policies(&options, &first);
    if (!options.intervals && !options.landscapes && !options.policies)
        measure_early_ends(options.seeds, options.json, &first);
    if (first)
        errx(2, "no landscape, policy or noise has such a name");
    if (options.json)
        puts("\n ]}");
    return 0;
}
