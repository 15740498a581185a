/* SPDX-License-Identifier: MIT */
/* Spaces that programs give in C: the whole of what is made of one, the bounds of its rules, and
 * that it is made of copies, which memory may not suffice for. */
#define _GNU_SOURCE
#include "../comma_locale.h"
#include "../scarce_memory.h"

#include <math.h>

#include "text/plain_numbers.h"
#include "tune/own_space.h"

static const struct spex_value threads[] = {
    {.integer = 1}, {.text = "two", .integer = 2}, {.integer = 5}};
static const struct spex_value sizes[] = {{.number = 0.1}, {.number = 1}, {.number = 100}};
static const struct spex_value modes[] = {{.text = "fast"}, {.text = "slow"}};
static const struct spex_value one[] = {{.integer = -3}};
static const struct spex_parameter parameters[] = {
    {.name = "threads",
     .unit = "1",
     .kind = SPEX_INTEGER,
     .count = 3,
     .values = threads,
     .default_level = 2},
    {.name = "size", .kind = SPEX_REAL, .logarithmic = true, .count = 3, .values = sizes},
    {.name = "mode", .kind = SPEX_CATEGORICAL, .count = 2, .values = modes, .default_level = 1},
    {.name = "sync", .kind = SPEX_BOOLEAN},
    {.name = "fixed", .kind = SPEX_INTEGER, .count = 1, .values = one},
};
static const struct spex_criterion criteria[] = {
    {"q:tpt", "throughput", 0, SPEX_MAXIMISE, 0},
    {"q:lat", "p99", 0, SPEX_MINIMISE, 0},
    {"r:lat", "mean", 1, SPEX_AT_MOST, 0.5},
    {"r:cnt", "throughput", 0, SPEX_AT_LEAST, 7},
};

static struct spex_space space_of(struct spex_rules rules) {
    return (struct spex_space){.size = sizeof(struct spex_space),
                               .name = "whole",
                               .parameter_count = COUNT_OF(parameters),
                               .parameters = parameters,
                               .threads_parameter = 0,
                               .criterion_count = COUNT_OF(criteria),
                               .criteria = criteria,
                               .rules = rules};
}

/* All of a space as a text; to be freed. */
static char *text_of(const struct spex_own_space *own) {
    SPEX_PLAIN_NUMBERS;
    const struct spex_space *space = &own->space;
    const struct spex_rules *rules = &space->rules;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    fprintf(stream, "%s: threads %zu, %s\n", space->name, space->threads_parameter, own->probes);
    for (size_t p = 0; p < space->parameter_count; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        fprintf(stream, "%s \"%s\" kind %d%s, %zu:", parameter->name, parameter->unit,
                (int)parameter->kind, parameter->logarithmic ? " log" : "",
                parameter->default_level);
        for (size_t v = 0; v < parameter->count; v++)
            fprintf(stream, " %s=%lld=%g@%.4g", parameter->values[v].text,
                    (long long)parameter->values[v].integer, parameter->values[v].number,
                    parameter->values[v].position);
        fprintf(stream, "\n");
    }
    for (size_t c = 0; c < space->criterion_count; c++)
        fprintf(stream, "%s%s %s %u %d %g\n", c < space->objective_count ? "objective " : "limit ",
                space->criteria[c].probe, space->criteria[c].metric, space->criteria[c].field,
                (int)space->criteria[c].goal, space->criteria[c].bound);
    fprintf(stream, "%u %u %g %g %g %g %llu %llu %g %g %g %g\n", rules->trials_per_config,
            rules->records_per_thread, rules->precision, rules->warmup_seconds,
            rules->startup_seconds, rules->duration_seconds, (unsigned long long)rules->trials_max,
            (unsigned long long)rules->seed, rules->least_seconds, rules->finals,
            rules->finals_zone, rules->finals_sure);
    fclose(stream);
    return text;
}

static void check_text(struct spex_rules rules, const char *expected) {
    const struct spex_space space = space_of(rules);
    struct spex_own_space *own;
    struct spex_error error = {""};
    assert_int_equal(spex_own_space_make(&space, &own, &error), 0);
    char *text = text_of(own);
    if (!strstr(text, expected))
        fail_msg("%s and not %s", text, expected);
    assert_true(own->space.parameters != parameters && own->space.criteria != criteria);
    free(text);
    spex_own_space_free(own);
}

TEST(it_is_completed) {
    check_text((struct spex_rules){.trials_max = 9},
               "whole: threads 0, q:tpt,q:lat,r:lat,r:cnt\n"
               "threads \"1\" kind 1, 2: 1=1=1@0 two=2=2@0.25 5=5=5@1\n"
               "size \"\" kind 3 log, 0: 0.1=0=0.1@0 1=0=1@0.3333 100=0=100@1\n"
               "mode \"\" kind 2, 1: fast=0=0@0 slow=0=0@0\n"
               "sync \"\" kind 4, 0: false=0=0@0 true=1=0@0\n"
               "fixed \"\" kind 1, 0: -3=-3=-3@0\n"
               "objective q:tpt throughput 0 1 0\n"
               "objective q:lat p99 0 2 0\n"
               "limit r:lat mean 1 3 0.5\n"
               "limit r:cnt throughput 0 4 7\n"
               "1 20 0 0 60 60 9 1 0 0 0 0\n");
    check_text((struct spex_rules){2, 3, 0.25, -1, 4, 5, 6, 7, 8, 0.5, 0.25, 0.75},
               "\n2 3 0.25 -1 4 5 6 7 8 0.5 0.25 0.75\n");
}

/* "": they are taken. */
static void check_rules(struct spex_rules rules, const char *expected) {
    const struct spex_space space = space_of(rules);
    struct spex_own_space *own;
    struct spex_error error = {""};
    int err = spex_own_space_make(&space, &own, &error);
    if (err != (*expected ? -EINVAL : 0) || strcmp(error.text, expected) != 0)
        fail_msg("%d \"%s\" and not \"%s\"", err, error.text, expected);
    assert_int_equal(err != 0, own == NULL);
    spex_own_space_free(own);
}

#define DAY(name) name ": up to a day was expected"
#define SHARE     "precision: a share, less than 1, was expected"
#define WARMUP    "warmup_seconds: less than duration_seconds was expected"

TEST(rules_have_bounds) {
    static const struct {
        struct spex_rules rules;
        const char *expected;
    } cases[] = {
        {{.startup_seconds = 86400}, ""},
        {{.startup_seconds = 86401}, DAY("startup_seconds")},
        {{.startup_seconds = 1e-9}, ""},
        {{.startup_seconds = -1}, DAY("startup_seconds")},
        {{.startup_seconds = NAN}, DAY("startup_seconds")},
        {{.duration_seconds = 86400}, ""},
        {{.duration_seconds = 86401}, DAY("duration_seconds")},
        {{.duration_seconds = 1e-9}, ""},
        {{.duration_seconds = -1}, DAY("duration_seconds")},
        {{.duration_seconds = NAN}, DAY("duration_seconds")},
        {{.duration_seconds = 2, .warmup_seconds = 1.99}, ""},
        {{.duration_seconds = 2, .warmup_seconds = -1}, ""},
        {{.duration_seconds = 2, .warmup_seconds = 2}, WARMUP},
        {{.duration_seconds = 2, .warmup_seconds = NAN}, WARMUP},
        {{.precision = 0.999}, ""},
        {{.precision = 1}, SHARE},
        {{.precision = -0.1}, SHARE},
        {{.precision = NAN}, SHARE},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        check_rules(cases[c].rules, cases[c].expected);
}

static int make(void *user) {
    const struct spex_space *space = user;
    struct spex_own_space *own;
    struct spex_error error = {""};
    int err = spex_own_space_make(space, &own, &error);
    assert_int_equal(err != 0, own == NULL);
    if (err && !strstr(error.text, "memory"))
        fail_msg("%s", error.text);
    spex_own_space_free(own);
    return err;
}

TEST(memory_may_not_suffice) {
    struct spex_space space = space_of((struct spex_rules){.trials_max = 1});
    assert_int_equal(make(&space), 0);
    assert_true(without_each_allocation(make, &space) > 40);
    space.name = NULL;
    assert_int_equal(make(&space), 0);
}
