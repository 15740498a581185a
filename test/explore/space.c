/* SPDX-License-Identifier: MIT */
/* What a space's XML becomes: its values, defaults, rules and axes, and what makes two spaces the
 * same exploration. */
#include <errno.h>

#include "explore/space/space_parameter.h"
#include "scratch.h"
#include "spaces.h"

static const char everything[] =
    "<?xml version='1.0' encoding='UTF-8'?>\n"
    "<!-- all there is -->\n"
    "<space name='every &lt;thing&gt;'>\n"
    "  <parameter name='cache' type='integer' unit='MB' min='2' max='16' factor='2'/>\n"
    "  <parameter name='mode' type='categorical' values=' shared\n private\t&amp;&#xe9; "
    "'></parameter>\n"
    "  <parameter name='threads' type='integer' min='1' max='7' step='3'/>\n"
    "  <parameter name='level' type='integer' min='-1' max='1'/>\n"
    "  <parameter name='odd' type='integer' values='-9223372036854775808 0 7 "
    "9223372036854775807'/>\n"
    "  <objective probe='query:tpt' metric='throughput' goal='maximise'/>\n"
    "  <run trials_per_config='3' records_per_thread='40' threads='threads' warmup='0.5'\n"
    "       startup='7' duration='2.25' seed='99' least='1.5'/>\n"
    "  <heatmap x='mode' y='cache'/>\n"
    "</space>\n"
    "<!-- the end -->\n";

static void check_values(const struct spex_parameter *parameter, const char *const *texts,
                         const int64_t *integers) {
    size_t v = 0;
    for (; texts[v]; v++) {
        assert_true(v < parameter->count);
        assert_string_equal(parameter->values[v].text, texts[v]);
        if (integers)
            assert_int_equal(parameter->values[v].integer, integers[v]);
    }
    assert_int_equal(parameter->count, v);
    assert_int_equal(parameter->kind, integers ? SPEX_INTEGER : SPEX_CATEGORICAL);
}

#define CHECK_INTEGERS(parameter, texts, ...)                                                      \
    check_values(parameter, texts, (const int64_t[]){__VA_ARGS__})

TEST(parameters) {
    static const char *const names[] = {"cache", "mode", "threads", "level", "odd"};
    struct spex_space_file *file = space_of(everything);
    const struct spex_parameter *p = file->space.parameters;
    assert_int_equal(file->space.size, sizeof(struct spex_space));
    assert_string_equal(file->space.name, "every <thing>");
    assert_int_equal(file->space.parameter_count, COUNT_OF(names));
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        assert_string_equal(p[n].name, names[n]);
        assert_string_equal(p[n].unit, n == 0 ? "MB" : "");
        assert_int_equal(spex_space_parameter(&file->space, names[n]), n);
    }
    assert_int_equal(spex_space_parameter(&file->space, "cach"), COUNT_OF(names));
    CHECK_INTEGERS(&p[0], ((const char *const[]){"2", "4", "8", "16", NULL}), 2, 4, 8, 16);
    check_values(&p[1], (const char *const[]){"shared", "private", "&\xc3\xa9", NULL}, NULL);
    CHECK_INTEGERS(&p[2], ((const char *const[]){"1", "4", "7", NULL}), 1, 4, 7);
    CHECK_INTEGERS(&p[3], ((const char *const[]){"-1", "0", "1", NULL}), -1, 0, 1);
    CHECK_INTEGERS(
        &p[4],
        ((const char *const[]){"-9223372036854775808", "0", "7", "9223372036854775807", NULL}),
        INT64_MIN, 0, 7, INT64_MAX);
    spex_space_free(file);
}

TEST(levels) {
    struct spex_space_file *file = space_of(everything);
    const struct spex_parameter *p = file->space.parameters;
    assert_int_equal(spex_parameter_level(&p[0], "16"), 3);
    assert_int_equal(spex_parameter_level(&p[0], "3"), 4);
    assert_int_equal(spex_parameter_level(&p[0], "02"), 4);
    assert_int_equal(spex_parameter_level(&p[1], "private"), 1);
    assert_int_equal(spex_parameter_level(&p[1], ""), 3);
    spex_space_free(file);
}

TEST(rules) {
    struct spex_space_file *file = space_of(everything);
    const struct spex_space *space = &file->space;
    assert_string_equal(space->criteria[0].probe, "query:tpt");
    assert_string_equal(space->criteria[0].metric, "throughput");
    assert_int_equal(space->criteria[0].goal, SPEX_MAXIMISE);
    assert_int_equal(space->objective_count, 1);
    assert_int_equal(space->criterion_count, 1);
    assert_int_equal(space->rules.trials_per_config, 3);
    assert_int_equal(space->rules.records_per_thread, 40);
    assert_true(space->rules.warmup_seconds == 0.5);
    assert_true(space->rules.startup_seconds == 7);
    assert_true(space->rules.duration_seconds == 2.25);
    assert_true(space->rules.least_seconds == 1.5);
    assert_int_equal(space->rules.seed, 99);
    assert_int_equal(space->threads_parameter, 2);
    assert_int_equal(file->heatmap_x, 1);
    assert_int_equal(file->heatmap_y, 0);
    assert_string_equal(file->xml, everything);
    assert_int_equal(spex_space_configurations(space), 4 * 3 * 3 * 3 * 4);
    assert_int_equal(spex_space_threads(space, (const size_t[]){0, 0, 2, 0, 0}), 7);
    spex_space_free(file);
}

TEST(defaults) {
    struct spex_space_file *file =
        space_of("<space name='s'><objective probe='7:lat' metric='p99' goal='minimise'/>"
                 "<parameter name='a' type='integer' min='3' max='3'/></space>");
    const struct spex_space *space = &file->space;
    assert_int_equal(space->parameters[0].count, 1);
    assert_int_equal(space->criteria[0].goal, SPEX_MINIMISE);
    assert_int_equal(space->rules.trials_per_config, 1);
    assert_int_equal(space->rules.records_per_thread, 20);
    assert_true(space->rules.warmup_seconds < 0);
    assert_true(space->rules.startup_seconds == 60);
    assert_true(space->rules.duration_seconds == 60);
    assert_true(space->rules.least_seconds == 0.1);
    assert_int_equal(space->rules.seed, 1);
    assert_int_equal(space->threads_parameter, 1);
    assert_int_equal(file->heatmap_x, 1);
    assert_int_equal(file->heatmap_y, 1);
    assert_int_equal(spex_space_threads(space, (const size_t[]){0}), 1);
    spex_space_free(file);
}

TEST(file_as_text) {
    struct spex_space_file *file;
    struct spex_error why;
    scratch_text("space.xml", everything);
    assert_int_equal(spex_space_read("space.xml", &file, &why), 0);
    assert_string_equal(file->xml, everything);
    spex_space_free(file);
    spex_space_free(NULL);
}

static char *identity_of(const char *xml) {
    struct spex_space_file *file = space_of(xml);
    char *identity = spex_space_identity(file);
    assert_non_null(identity);
    spex_space_free(file);
    return identity;
}

#define HEAD      "<space name='s'>"
#define CACHE     "<parameter name='cache' type='integer' unit='MB' min='1' max='4' step='1'/>"
#define MODE      "<parameter name='mode' type='categorical' values='a b'/>"
#define OBJECTIVE "<objective probe='q:lat' metric='mean' goal='minimise'/>"
#define RUN                                                                                        \
    "<run trials_per_config='2' records_per_thread='9' warmup='0.1' startup='5' duration='6' "     \
    "seed='3' threads='cache'/>"

static const char base[] = HEAD CACHE MODE OBJECTIVE RUN "</space>";

TEST(same_exploration) {
    static const char *const cases[] = {
        HEAD "<!-- c -->" CACHE "\n\n" MODE "<?pi?>" OBJECTIVE RUN "</space>\n<!-- d -->",
        "<?xml version='1.0'?>\n<space\nname=\"s\"\n>" OBJECTIVE RUN CACHE MODE "</space>",
        HEAD
        "<parameter unit='MB' values='1 2 3 4' type='integer' name='cache'/>" MODE OBJECTIVE RUN
        "</space>",
        HEAD CACHE "<parameter name='mode' type='categorical' values=' a \n b\t'/>" OBJECTIVE RUN
                   "</space>",
        HEAD CACHE MODE OBJECTIVE RUN "<heatmap x='cache' y='mode'/></space>",
        HEAD CACHE MODE OBJECTIVE
        "<run trials_per_config='2' records_per_thread='9' warmup='0.10' startup='5.0' "
        "duration='6' seed='3' threads='cache'></run></space>",
    };
    char *expected = identity_of(base);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char *identity = identity_of(cases[c]);
        assert_string_equal(identity, expected);
        free(identity);
    }
    free(expected);
}

#define RUN_OF(attributes) HEAD CACHE MODE OBJECTIVE "<run " attributes "/></space>"

TEST(another_exploration) {
    static const char *const cases[] = {
        base,
        "<space name='t'>" CACHE MODE OBJECTIVE RUN "</space>",
        HEAD MODE CACHE OBJECTIVE RUN "</space>",
        HEAD CACHE OBJECTIVE RUN "</space>",
        HEAD CACHE "<parameter name='mood' type='categorical' values='a b'/>" OBJECTIVE RUN
                   "</space>",
        HEAD CACHE "<parameter name='mode' type='categorical' values='b a'/>" OBJECTIVE RUN
                   "</space>",
        HEAD CACHE "<parameter name='mode' type='categorical' values='a b c'/>" OBJECTIVE RUN
                   "</space>",
        HEAD "<parameter name='cache' type='integer' unit='KB' min='1' max='4'/>" MODE OBJECTIVE RUN
             "</space>",
        HEAD "<parameter name='cache' type='integer' unit='MB' min='1' max='3'/>" MODE OBJECTIVE RUN
             "</space>",
        HEAD CACHE MODE "<objective probe='r:lat' metric='mean' goal='minimise'/>" RUN "</space>",
        HEAD CACHE MODE "<objective probe='q:tpt' metric='mean' goal='minimise'/>" RUN "</space>",
        HEAD CACHE MODE "<objective probe='q:lat' metric='p50' goal='minimise'/>" RUN "</space>",
        HEAD CACHE MODE "<objective probe='q:lat' metric='mean' goal='maximise'/>" RUN "</space>",
        HEAD CACHE MODE OBJECTIVE "</space>",
        RUN_OF("threads='cache'"),
        RUN_OF("trials_per_config='2'"),
        RUN_OF("records_per_thread='9'"),
        RUN_OF("warmup='0.1'"),
        RUN_OF("warmup='0.1000001'"),
        RUN_OF("startup='5'"),
        RUN_OF("duration='6'"),
        RUN_OF("least='0.2'"),
        RUN_OF("duration='86399.99'"),
        RUN_OF("duration='86399.98'"),
        RUN_OF("seed='3'"),
        RUN_OF("seed='9223372036854775807'"),
    };
    char *identities[COUNT_OF(cases)];
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        identities[c] = identity_of(cases[c]);
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (size_t d = 0; d < c; d++)
            if (strcmp(identities[c], identities[d]) == 0)
                fail_msg("cases %zu and %zu are the same: %s", d, c, identities[c]);
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        free(identities[c]);
}

/* The differing item must be a line of its own: that is what a person is shown. */
TEST(identity_by_lines) {
    char *identity = identity_of(base);
    assert_string_equal(identity, "space s\n"
                                  "parameter cache [MB]: 1 2 3 4 (1)\n"
                                  "parameter mode []: a b (a)\n"
                                  "objective minimise mean of q:lat\n"
                                  "run trials_per_config=2 records_per_thread=9 threads=cache"
                                  " precision=0 warmup=0.1 startup=5 duration=6 trials=0"
                                  " seed=3\n");
    free(identity);
}

TEST(largest) {
    struct spex_space_file *file =
        space_of("<space name='s'><objective probe='7:lat' metric='p99' goal='minimise'/>"
                 "<parameter name='a' type='integer' min='1' max='65536'/>"
                 "<parameter name='b' type='integer' min='1' max='65536'/>"
                 "<parameter name='c' type='integer' min='1' max='256'/></space>");
    assert_int_equal(spex_space_configurations(&file->space), SPEX_SPACE_CONFIGURATIONS_MAX);
    spex_space_free(file);
}

/* Ranges whose next value would not be an integer any more. */
TEST(ranges_at_the_edge) {
    struct spex_space_file *file = space_of(
        "<space name='s'><objective probe='7:snapshot' metric='max' goal='minimise'/>"
        "<parameter name='a' type='integer' min='9223372036854775805' max='9223372036854775807'"
        " step='2'/>"
        "<parameter name='b' type='integer' min='1' max='4611686018427387904' factor='2'/>"
        "<parameter name='c' type='integer' min='-9223372036854775808' max='9223372036854775806'"
        " step='9223372036854775807'/>"
        "</space>");
    const struct spex_parameter *p = file->space.parameters;
    assert_int_equal(p[0].count, 2);
    assert_int_equal(p[0].values[1].integer, INT64_MAX);
    assert_int_equal(p[1].count, 63);
    assert_int_equal(p[1].values[62].integer, INT64_C(1) << 62);
    assert_int_equal(p[2].count, 3);
    assert_int_equal(p[2].values[1].integer, -1);
    spex_space_free(file);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
