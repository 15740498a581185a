/* SPDX-License-Identifier: MIT */
/* Measures what exploration policies find in generated programs whose true figures are known,
 * and in what measuring time.
 *
 *     policies [--json] [--rounds SEEDS]
 *
 * Brute force is the grid with two trials of each configuration. A seed is good when the
 * recommended configuration is truly within 5 % of the best, and keeps the limits. Spaces that
 * are too large for brute force have no line of the grid. The last lines compare runs that may
 * end early by their precision (rules.precision) with runs that may not. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "policies/explore/builtin.h"
#include "simulation.h"

enum { SEEDS_MAX = 1000, BRUTE_MAX = 5000 };

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

static void measure_policies(size_t seeds, bool json, bool *first) {
    for (size_t l = 0; l < LANDSCAPES; l++) {
        struct landscape landscape;
        landscape_make(&landscape, l);
        for (size_t p = 0; spex_builtin_policies[p]; p++) {
            const struct spex_policy_ops *policy = spex_builtin_policies[p];
            if (policy == spex_builtin_policy("grid") &&
                spex_space_configurations(&landscape.space) > BRUTE_MAX)
                continue;
            struct figures figures =
                policy_measure(&landscape, policy, seeds, landscape.space.rules.duration_seconds);
            print_figures(&figures, json, first);
        }
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

int main(int argc, char **argv) {
    size_t seeds = 20;
    bool json, first = true;
    bench_options(argc, argv, 1, SEEDS_MAX, &seeds, &json);
    if (json)
        printf("{\"bench\": \"policies\", \"seeds\": %zu, \"results\": [\n", seeds);
    measure_policies(seeds, json, &first);
    measure_early_ends(seeds, json, &first);
    if (json)
        puts("\n ]}");
    return 0;
}
