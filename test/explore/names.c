/* SPDX-License-Identifier: MIT */
/* Names of configurations by their values, against a plain search: every choice of parameters in
 * several orders, with values that look like the names of others. */
#include <errno.h>

#include "explore/findings/explain_name.h"
#include "explore/space/space_parameter.h"
#include "picture_bench.h"

/* "ab" begins as "a" does; values have commas, and what looks like the name of a parameter. */
static const char tricky[] =
    "<space name='s'><parameter name='a' type='integer' unit='MB' values='1 4 16'/>"
    "<parameter name='ab' type='categorical' values='x x,b=1 ,xa=1 a=,y'/>"
    "<parameter name='on' type='boolean'/>"
    "<parameter name='c' type='real' values='0.5 5' when='$on'/>" OBJECTIVE "</space>";

enum { PARAMETERS = 4 };

/* Not every configuration runs, and some of them fail. */
static void make_study(struct spex_study *study) {
    begin(study, tricky);
    const struct spex_parameter *parameters = study->file->space.parameters;
    for (size_t a = 0; a < parameters[0].count; a++)
        for (size_t ab = 0; ab < parameters[1].count; ab++)
            for (size_t on = 0; on < 2; on++)
                for (size_t c = 0; c <= on; c++) {
                    size_t levels[] = {a, ab, on, c};
                    assert_true(spex_space_settle(&study->file->space, levels));
                    if ((a + 2 * ab + on + c) % 5)
                        add(study, levels,
                            (double[]){a == 2 && ab == 1 ? NAN
                                                         : (double)(a + 3 * ab + 13 * on + c)});
                }
    find(study);
}

/* Which groups have these values; a level that is the number of levels stands for any. Of the
 * groups that fit, the last becomes *group. */
static size_t fitting(const struct spex_study *study, const size_t *levels, size_t *group) {
    const struct spex_space *space = &study->file->space;
    size_t count = 0;
    for (size_t g = 0; g < study->summary.count; g++) {
        const size_t *of = study->summary.groups[g].levels;
        bool fits = true;
        for (size_t p = 0; p < PARAMETERS; p++)
            fits &= levels[p] == space->parameters[p].count ||
                    (levels[p] == of[p] && (p != 3 || of[2] == 1));
        if (fits) {
            *group = g;
            count++;
        }
    }
    return count;
}

/* The name of these values: from parameter `first` on, and then around, or backwards. */
static void name_of(const struct spex_study *study, const size_t *levels, size_t first,
                    bool backwards, bool shown, char *name, size_t size) {
    const struct spex_space *space = &study->file->space;
    char text[64];
    *name = '\0';
    for (size_t n = 0; n < PARAMETERS; n++) {
        size_t p = (first + (backwards ? PARAMETERS - n : n)) % PARAMETERS;
        if (levels[p] == space->parameters[p].count)
            continue;
        snprintf(name + strlen(name), size - strlen(name), "%s%s=%s", *name ? "," : "",
                 space->parameters[p].name,
                 shown ? spex_value_shown(&space->parameters[p], levels[p], text, sizeof(text))
                       : space->parameters[p].values[levels[p]].text);
    }
}

/* How an ambiguous name is refused. */
static void expect_ambiguous(const struct spex_study *study, const size_t *levels, const char *name,
                             size_t count, const char *why) {
    struct spex_error expected;
    char text[sizeof(expected.text)], one[160];
    size_t shown = 0,
           length = (size_t)snprintf(text, sizeof(text),
                                     "\"%s\": %zu configurations have these values:", name, count);
    for (size_t g = 0; g < study->summary.count && shown < 3; g++) {
        size_t only[PARAMETERS], group;
        memcpy(only, study->summary.groups[g].levels, sizeof(only));
        for (size_t p = 0; p < PARAMETERS; p++)
            if (levels[p] < study->file->space.parameters[p].count && levels[p] != only[p])
                only[0] = SIZE_MAX;
        if (only[0] == SIZE_MAX || (levels[3] < 2 && only[2] == 0))
            continue;
        assert_true(fitting(study, only, &group) == (only[2] == 1));
        spex_levels_text(&study->file->space, only, one, sizeof(one));
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s %s",
                                   shown++ ? ";" : "", one);
    }
    spex_error_set(&expected, "%s%s", text, count > 3 ? "; …" : "");
    assert_string_equal(why, expected.text);
}

static void expect_named(const struct spex_study *study, const size_t *levels, const char *name) {
    struct spex_error why = {""};
    size_t group = SIZE_MAX, expected = SIZE_MAX;
    size_t count = fitting(study, levels, &expected);
    int err = spex_explain_name(study, name, &group, &why);
    bool failed = count == 1 && study->summary.groups[expected].trials == 0;
    int expected_err = failed ? -ENODATA : count == 1 ? 0 : -EINVAL;
    if (err != expected_err)
        fail_msg("%s: %d, of %zu: %s", name, err, count, why.text);
    if (count == 1)
        assert_int_equal(group, expected);
    if (failed)
        assert_non_null(strstr(why.text, "\": no trial of this configuration has a result"));
    if (count == 0)
        assert_non_null(strstr(why.text, "\": no such configuration was run"));
    if (count > 1)
        expect_ambiguous(study, levels, name, count, why.text);
}

TEST(values_name_configurations) {
    struct spex_study study;
    char name[256];
    unsigned tried = 0;
    make_study(&study);
    const struct spex_parameter *parameters = study.file->space.parameters;
    size_t levels[PARAMETERS];
    for (levels[0] = 0; levels[0] <= parameters[0].count; levels[0]++)
        for (levels[1] = 0; levels[1] <= parameters[1].count; levels[1]++)
            for (levels[2] = 0; levels[2] <= parameters[2].count; levels[2]++)
                for (levels[3] = 0; levels[3] <= parameters[3].count; levels[3]++)
                    for (unsigned form = 0; form < 16; form++) {
                        name_of(&study, levels, form % 4, form & 4, form & 8, name, sizeof(name));
                        if (!*name)
                            continue;
                        expect_named(&study, levels, name);
                        tried++;
                    }
    assert_true(tried > 1000);
    /* Of two values of a parameter the later one counts. */
    name_of(&study, (size_t[]){1, 4, 1, 1}, 0, false, false, name, sizeof(name));
    char twice[300];
    snprintf(twice, sizeof(twice), "a=1,%s", name);
    expect_named(&study, (size_t[]){1, 4, 1, 1}, twice);
    end(&study);
}

static void expect_refused(const struct spex_study *study, const char *name, int err,
                           const char *reason) {
    struct spex_error why = {""};
    size_t group;
    int found = spex_explain_name(study, name, &group, &why);
    if (found != err || strcmp(why.text, reason) != 0)
        fail_msg("%s: %d: %s", name, found, why.text);
}

TEST(trials_and_extremes) {
    struct spex_study study;
    struct spex_error why = {""};
    char name[32], reason[128];
    make_study(&study);
    size_t group, failures = 0;
    for (size_t t = 0; t < study.trials.count; t++) {
        const struct spex_trial *trial = &study.trials.items[t];
        snprintf(name, sizeof(name), "#%zu", t + 1);
        int err = spex_explain_name(&study, name, &group, &why);
        assert_int_equal(err, trial->ok ? 0 : -ENODATA);
        failures += !trial->ok;
        if (!err)
            assert_memory_equal(study.summary.groups[group].levels, trial->levels,
                                PARAMETERS * sizeof(size_t));
    }
    assert_true(failures > 0);
    assert_int_equal(spex_explain_name(&study, "best", &group, &why), 0);
    assert_int_equal(group, study.findings.best);
    assert_int_equal(spex_explain_name(&study, "worst", &group, &why), 0);
    assert_int_equal(group, study.findings.worst);
    snprintf(name, sizeof(name), "#%zu", study.trials.count + 1);
    snprintf(reason, sizeof(reason), "\"%s\": a trial from #1 to #%zu was expected", name,
             study.trials.count);
    expect_refused(&study, name, -EINVAL, reason);
    expect_refused(&study, "a=16,ab=z", -EINVAL, "\"z\" is no value of parameter \"ab\"");
    expect_refused(&study, "a=16 M", -EINVAL, "\"16 M\" is no value of parameter \"a\"");
    expect_refused(&study, "a=16,b=2", -EINVAL, "\"16,b=2\" is no value of parameter \"a\"");
    expect_refused(&study, "abc=2", -EINVAL,
                   "\"abc=2\": best, worst, #TRIAL or values of the space's parameters as "
                   "\"a=1\" were expected");
    end(&study);
    begin(&study, tricky);
    add(&study, (size_t[]){0, 0, 0, 0}, (double[]){NAN});
    find(&study);
    expect_refused(&study, "best", -ENODATA, "no trial has a result");
    expect_refused(&study, "worst", -ENODATA, "no trial has a result");
    end(&study);
}
