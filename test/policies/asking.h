/* SPDX-License-Identifier: MIT */
/* What tests of rate policies share: asking one, random problems, and the use case of the paper. */
#ifndef SPEX_TEST_ASKING_H
#define SPEX_TEST_ASKING_H

#include "../check.h"
#include "policies/rate/rates.h"

enum { CLASSES_MAX = 64 };

/* A policy's answer; the workspace is dirty before, and has not a byte more than it asked for. */
struct answer {
    struct spex_rate_decision decisions[CLASSES_MAX];
    struct spex_rate_plan plan;
    int err;
};

static inline void ask(struct answer *answer, const char *policy,
                       const struct spex_rate_problem *problem) {
    const struct spex_rate_policy_ops *ops = spex_builtin_rate_policy(policy);
    size_t size = ops->workspace_size(problem->class_count);
    void *workspace = malloc(size ? size : 1);
    if (size)
        memset(workspace, 0xa5, size);
    memset(answer, 0, sizeof(*answer));
    answer->plan = (struct spex_rate_plan){.size = sizeof(struct spex_rate_plan),
                                           .decisions = answer->decisions};
    answer->err = ops->decide(problem, workspace, &answer->plan);
    free(workspace);
}

/* Table 1, with the weights of file, window, kernel, font server and others. */
struct use_case {
    struct spex_rate_class classes[5];
    struct spex_rate_problem problem;
};

static inline void make_use_case(struct use_case *use, const double *weights, double max_f) {
    static const struct spex_rate_class table[] = {
        {.name = "file", .share = .30, .frequency = 359},
        {.name = "window", .share = .23, .frequency = 189},
        {.name = "kernel", .share = .09, .frequency = 153},
        {.name = "font", .share = .11, .frequency = 334},
        {.name = "others", .share = .27, .frequency = 630},
    };
    memcpy(use->classes, table, sizeof(table));
    for (size_t c = 0; c < COUNT_OF(table); c++)
        use->classes[c].weight = weights[c];
    use->problem = (struct spex_rate_problem){.size = sizeof(use->problem),
                                              .budget = .05,
                                              .max_frequency = max_f,
                                              .class_count = COUNT_OF(table),
                                              .classes = use->classes};
}

#endif
