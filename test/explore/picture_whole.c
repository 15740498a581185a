/* SPDX-License-Identifier: MIT */
/* Whole scripts of pictures against what stands in expected/; numbers may differ where rounding
 * does. What was written instead is left in the file that a failure names. */
#include <ctype.h>
#include <stdio.h>

#include "picture_bench.h"

static const char whole[] = "<space name='whole &amp; &apos;all&apos;'>"
                            "<parameter name='threads' type='integer' min='1' max='60'/>"
                            "<parameter name='size' type='integer' unit='KB' values='4 64 1024'/>"
                            "<parameter name='mode' type='categorical' values='x 50%'/>"
                            "<parameter name='only' type='integer' values='8'/>" OBJECTIVE
                            "<objective probe='q:lat' metric='p99' goal='minimise'/>"
                            "<limit probe='q:lat' metric='max' at_most='20ms'/>"
                            "<run threads='threads'/></space>";

/* Three trials of each tenth configuration. Throughput grows with threads up to 40, and latency
 * with the throughput; small sizes are slow, and large ones exceed the limit. */
static void make_study(struct spex_study *study) {
    begin(study, whole);
    for (size_t t = 0; t < 3; t++)
        for (size_t c = 0; c < 360; c += 10) {
            size_t levels[] = {c / 6, c % 3, c / 10 % 2, 0};
            double threads = levels[0] < 40 ? (double)levels[0] + 1 : 40;
            double tpt = 1000 * threads * (levels[1] ? 1 : 0.4) * (levels[2] ? 1.2 : 1) *
                         (1 + 0.003 * (double)((c / 10 * 7 + t * 5) % 6));
            double values[] = {tpt, 1e-9 * tpt * tpt / (double)(1 + levels[2]),
                               levels[1] == 2 ? 0.03 : 0.01};
            values[0] = c % 70 == 60 && t == 1 ? NAN : values[0];
            add(study, levels, values);
        }
    find(study);
}

/* Two texts whose numbers hardly differ. */
static bool same(const char *a, const char *b) {
    while (*a && *b) {
        char *end_a, *end_b;
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            double one = strtod(a, &end_a), other = strtod(b, &end_b);
            if (!(fabs(one - other) <= 1e-5 * fabs(other)))
                return false;
            a = end_a;
            b = end_b;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

static void expect_script(const char *name, char *script) {
    char path[512], expected[1 << 16] = "";
    snprintf(path, sizeof(path), EXPECTED "/%s", name);
    FILE *file = fopen(path, "re");
    if (file) {
        expected[fread(expected, 1, sizeof(expected) - 1, file)] = '\0';
        fclose(file);
    }
    if (!same(script, expected)) {
        char wrong[512];
        snprintf(wrong, sizeof(wrong), "/tmp/spex-%s", name);
        file = fopen(wrong, "we");
        assert_non_null(file);
        fputs(script, file);
        fclose(file);
        fail_msg("%s differs from %s", wrong, path);
    }
    free(script);
}

static void scripts(void **state) {
    static const struct {
        const char *name;
        spex_drawing *draw;
        bool png;
    } cases[] = {{"pareto.gp", spex_draw_pareto, false},
                 {"heatmap.gp", spex_draw_heatmap, false},
                 {"effects.gp", spex_draw_effects, true},
                 {"convergence.gp", spex_draw_convergence, true}};
    struct spex_study study;
    (void)state;
    make_study(&study);
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        expect_script(cases[c].name, script_of(&study, cases[c].draw, 0, cases[c].png));
    end(&study);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts),
    };
    return cmocka_run_group_tests_name("picture_whole", tests, NULL, NULL);
}
