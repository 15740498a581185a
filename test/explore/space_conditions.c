/* SPDX-License-Identifier: MIT */
/* Kinds of parameters, their values and places on their scale; which parameters apply and which
 * configurations are allowed; and what is refused. */
#include <errno.h>
#include <math.h>

#include "explore/space/space_condition.h"
#include "explore/space/space_criterion.h"
#include "spaces.h"

#define SPACE(inside)                                                                              \
    "<space name='s'>\n" inside "\n<objective probe='q:lat' metric='mean' "                        \
    "goal='minimise'/></space>"
#define P(rest) "<parameter name='p' " rest "/>"

TEST(values) {
    static const struct {
        const char *xml, *texts;
    } cases[] = {
        {P("type='real' min='0' max='1' points='5'"), "0 0.25 0.5 0.75 1"},
        {P("type='real' min='-1' max='1' step='0.5'"), "-1 -0.5 0 0.5 1"},
        {P("type='real' min='0.001' max='10' factor='10'"), "0.001 0.01 0.1 1 10"},
        {P("type='real' min='1' max='100' points='3' scale='log'"), "1 10 100"},
        {P("type='real' values='0.1 1e3 2e3'"), "0.1 1e3 2e3"},
        {P("type='real' min='0' max='0.3' step='0.1'"), "0 0.1 0.2 0.3"},
        {P("type='real' min='2.5' max='2.5'"), "2.5"},
        {P("type='integer' min='1' max='1000' points='4' scale='log'"), "1 10 100 1000"},
        {P("type='integer' min='1' max='4' points='9'"), "1 2 3 4"},
        {P("type='integer' min='0' max='10' points='3'"), "0 5 10"},
        {P("type='boolean'"), "false true"},
        {P("type='boolean' values='off on'"), "off on"},
        {P("type='integer' min='1' max='8' fixed='5'"), "5"},
        {P("type='categorical' values='a b c' fixed='b'"), "b"},
        {P("type='boolean' fixed='true'"), "true"},
        {P("type='real' min='0' max='1' points='5' fixed='0.50'"), "0.5"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char xml[512], texts[256] = "";
        snprintf(xml, sizeof(xml), SPACE("%s"), cases[c].xml);
        struct spex_space_file *file = space_of(xml);
        const struct spex_parameter *p = file->space.parameters;
        for (size_t v = 0; v < p->count; v++)
            snprintf(texts + strlen(texts), sizeof(texts) - strlen(texts), "%s%s", v ? " " : "",
                     p->values[v].text);
        if (strcmp(texts, cases[c].texts) != 0)
            fail_msg("%s: %s", cases[c].xml, texts);
        spex_space_free(file);
    }
}

static void close_to(double found, double expected) {
    if (!(fabs(found - expected) < 1e-12))
        fail_msg("%.17g is not %.17g", found, expected);
}

TEST(positions) {
    struct spex_space_file *file = space_of(SPACE(
        "<parameter name='linear' type='integer' values='0 1 10'/>"
        "<parameter name='log' type='integer' min='1' max='100' factor='10'/>"
        "<parameter name='real' type='real' min='0.5' max='8' points='5' scale='log' default='4'/>"
        "<parameter name='none' type='categorical' values='x y' default='y'/>"
        "<parameter name='flag' type='boolean' default='true'/>"));
    const struct spex_parameter *p = file->space.parameters;
    assert_false(p[0].logarithmic);
    assert_true(p[1].logarithmic && p[2].logarithmic);
    close_to(p[0].values[0].position, 0);
    close_to(p[0].values[1].position, 0.1);
    close_to(p[0].values[2].position, 1);
    close_to(p[1].values[1].position, 0.5);
    close_to(p[2].values[1].position, 0.25);
    close_to(p[2].values[3].number, 4);
    assert_int_equal(p[2].default_level, 3);
    assert_int_equal(p[3].default_level, 1);
    assert_int_equal(p[4].default_level, 1);
    assert_int_equal(p[4].values[0].integer, 0);
    assert_int_equal(p[4].values[1].integer, 1);
    assert_true(spex_parameter_ordered(&p[2]) && !spex_parameter_ordered(&p[3]) &&
                !spex_parameter_ordered(&p[4]));
    assert_int_equal(file->space.parameters[0].default_level, 0);
    assert_null(file->space.settle);
    assert_true(spex_space_settle(&file->space, (size_t[]){0, 0, 0, 0, 0}));
    assert_true(spex_space_applies(&file->space, (size_t[]){0, 0, 0, 0, 0}, 3));
    spex_space_free(file);
}

/* compress: false true; level: 1 to 9 (6), window: 10 to 12 (11); mode: none ring tree; size: 1 2 4
 * 8 */
static const char conditional[] = SPACE(
    "<parameter name='compress' type='boolean'/>"
    "<parameter name='level' type='integer' min='1' max='9' default='6' when='$compress'/>"
    "<parameter name='window' type='integer' min='10' max='12' default='11' when='$level &gt; 5'/>"
    "<parameter name='mode' type='categorical' values='none ring tree'/>"
    "<parameter name='size' type='integer' min='1' max='8' factor='2' when=\"$mode != 'none'\"/>"
    "<constraint require='$level * $size &lt;= 24'/>"
    "<constraint require=\"not($mode = 'tree' and $compress)\"/>");

TEST(settles) {
    static const struct {
        size_t levels[5], settled[5];
        bool allowed, applies[5];
    } cases[] = {
        {{0, 0, 0, 0, 3}, {0, 5, 1, 0, 0}, true, {true, false, false, true, false}},
        {{1, 0, 2, 0, 3}, {1, 0, 1, 0, 0}, true, {true, true, false, true, false}},
        {{1, 8, 2, 0, 0}, {1, 8, 2, 0, 0}, true, {true, true, true, true, false}},
        {{1, 5, 2, 1, 2}, {1, 5, 2, 1, 2}, true, {true, true, true, true, true}},
        {{1, 5, 2, 1, 3}, {1, 5, 2, 1, 3}, false, {true, true, true, true, true}},
        {{1, 1, 0, 2, 0}, {1, 1, 1, 2, 0}, false, {true, true, false, true, true}},
        {{0, 1, 0, 2, 1}, {0, 5, 1, 2, 1}, true, {true, false, false, true, true}},
        /* What does not apply has its default in constraints. */
        {{0, 1, 0, 2, 3}, {0, 5, 1, 2, 3}, false, {true, false, false, true, true}},
    };
    struct spex_space_file *file = space_of(conditional);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        size_t levels[5];
        memcpy(levels, cases[c].levels, sizeof(levels));
        if (spex_space_settle(&file->space, levels) != cases[c].allowed)
            fail_msg("case %zu is%s allowed", c, cases[c].allowed ? " not" : "");
        for (size_t p = 0; p < 5; p++) {
            if (levels[p] != cases[c].settled[p])
                fail_msg("case %zu: parameter %zu is settled to %zu", c, p, levels[p]);
            if (spex_space_applies(&file->space, cases[c].levels, p) != cases[c].applies[p])
                fail_msg("case %zu: whether parameter %zu applies", c, p);
        }
        assert_int_equal(spex_space_settle(&file->space, levels), cases[c].allowed); /* again */
        assert_memory_equal(levels, cases[c].settled, sizeof(levels));
    }
    spex_space_free(file);
}

/* Whichever of few it is, one that is allowed is found. */
TEST(one_that_is_allowed_is_found) {
    for (unsigned c = 0; c < 6; c++) {
        char xml[512];
        snprintf(xml, sizeof(xml),
                 SPACE("<parameter name='a' type='integer' min='1' max='3'/>"
                       "<parameter name='b' type='integer' min='1' max='2'/>"
                       "<constraint require='$a = %u and $b = %u'/>"),
                 1 + c / 2, 1 + c % 2);
        spex_space_free(space_of(xml));
    }
}

/* All of them: two spaces are told apart by this text. */
TEST(conditions_as_text) {
    struct spex_space_file *file = space_of(conditional);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    spex_conditions_print(file->space.context, out);
    fclose(out);
    assert_string_equal(text, "parameter level when $compress\n"
                              "parameter window when $level > 5\n"
                              "parameter size when $mode != 'none'\n"
                              "require $level * $size <= 24\n"
                              "require not($mode = 'tree' and $compress)\n");
    free(text);
    spex_space_free(file);
}

TEST(identity) {
    struct spex_space_file *file = space_of(conditional);
    char *text = spex_space_identity(file);
    assert_non_null(strstr(text, "\nparameter level []: 1 2 3 4 5 6 7 8 9 (6)\n"));
    assert_non_null(strstr(text, "\nparameter level when $compress\n"));
    assert_non_null(strstr(text, "\nrequire $level * $size <= 24\n"));
    free(text);
    spex_space_free(file);
}

#define ABC                                                                                        \
    "<parameter name='a' type='integer' min='1' max='4'/>"                                         \
    "<parameter name='b' type='boolean'/><parameter name='c' type='categorical' values='x y'/>\n"

TEST(refused) {
    static const struct {
        const char *inside, *where, *expected;
    } cases[] = {
        {ABC "<constraint/>", ":3: <constraint>:", "\"require\" was expected"},
        {ABC "<constraint require=''/>", ":3: <constraint>:", "require"},
        {ABC "<constraint require='1 = 1'/>",
         ":3: <constraint>:", "a parameter was expected in it"},
        {ABC "<constraint require='$d > 1'/>", ":3: <constraint>:", "$d: the space has no such"},
        {ABC "<constraint require='$a >'/>",
         ":3: <constraint>:", "an XPath condition was expected"},
        {ABC "<constraint require='$a > 1 1'/>", ":3: <constraint>:", "an XPath condition"},
        {ABC "<constraint require='nonsense($a)'/>",
         ":3: <constraint>:", "nonsense(): there are not"},
        {ABC "<constraint require='count(/) > $a'/>",
         ":3: <constraint>:", "count(): there are not"},
        {ABC "<constraint require='floor($a, 1)'/>", ":3: <constraint>:", "an XPath condition"},
        {ABC "<constraint require=\"$c = 'z'\"/>", ":3: <constraint>:", "'z' is no value of"},
        {ABC "<constraint require=\"$b = 'true'\"/>", ":3: <constraint>:", "$b or not($b)"},
        {ABC "<constraint require='$a > 4'/>",
         ":1: <space>:", "a configuration that the constraints"},
        {ABC "<constraint require='$c = x'/>",
         ":3: <constraint>:", "require: x: a parameter has a $, and a text quotes: 'x'"},
        {ABC "<constraint require='a &lt; 3'/>",
         ":3: <constraint>:", "require: a: a parameter has a $"},
        {ABC "<constraint require='$a > 2' when='$b'/>", ":3: <constraint>:", "unknown attribute"},
        {"<parameter name='a' type='integer' min='1' max='4' when='$b'/>\n<parameter name='b' "
         "type='boolean'/>",
         ":2: <parameter>:", "$b: the space has no such parameter before this"},
        {"<parameter name='a' type='boolean' when='$a'/>",
         ":2: <parameter>:", "$a: a parameter before this was expected"},
        {P("type='real'"), ":2: <parameter>:", "values, or min and max, were expected"},
        {P("type='real' min='1' max='0'"), ":2: <parameter>:", "not to be above max=0"},
        {P("type='real' min='0' max='1' points='1'"), ":2: <parameter>:", "from 2 was expected"},
        {P("type='real' min='0' max='1' points='3' step='1'"),
         ":2: <parameter>:", "either step or points was expected, not both"},
        {P("type='real' min='0' max='1' scale='log'"), ":2: <parameter>:", "to begin above 0"},
        {P("type='real' min='0' max='1' step='0.3'"), ":2: <parameter>:", "is not reached"},
        {P("type='real' min='0' max='1' step='1e-9'"), ":2: <parameter>:", "at most 100000"},
        {P("type='real' min='1' max='1.00000000000001'"),
         ":2: <parameter>:", "differ in 12 digits"},
        {P("type='real' min='x' max='1'"), ":2: <parameter>:", "min=\"x\": a number was expected"},
        {P("type='real' min='0' max='nan'"), ":2: <parameter>:", "max=\"nan\": a number"},
        {P("type='real' values='1 1.0'"), ":2: <parameter>:", "ascending ones were expected"},
        {P("type='real' values='one'"), ":2: <parameter>:", "\"one\" is no number"},
        {P("type='integer' values='0 1' scale='log'"),
         ":2: <parameter>:", "to begin above 0, not at 0"},
        {P("type='integer' min='1' max='4' scale='cube'"), ":2: <parameter>:", "linear or log"},
        {P("type='boolean' scale='log'"), ":2: <parameter>:", "only numbers have one"},
        {P("type='boolean' values='on'"), ":2: <parameter>:", "two were expected for a boolean"},
        {P("type='boolean' values='no maybe yes'"), ":2: <parameter>:", "two were expected"},
        {P("type='integer' min='1' max='4' default='5'"),
         ":2: <parameter>:", "default=\"5\": one of"},
        {P("type='integer' min='1' max='4' fixed='five'"),
         ":2: <parameter>:", "a number was expected"},
        {P("type='categorical' values='a b' fixed='c'"), ":2: <parameter>:", "fixed=\"c\": one of"},
        {P("type='integer' min='1' max='4' fixed='1' default='1'"),
         ":2: <parameter>:", "either default or fixed"},
        {P("type='boolean'") "<limit probe='q:lat' metric='p99'/>",
         ":2: <limit>:", "either at_most or at_least was expected"},
        {P("type='boolean'") "<limit probe='q:lat' metric='p99' at_most='2min'/>",
         ":2: <limit>:", "a number of seconds, or one with ms, us or ns, was expected"},
        {P("type='boolean'") "<limit probe='q:tpt' metric='throughput' at_least='2ms'/>",
         ":2: <limit>:", "a number was expected"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char xml[1024];
        struct spex_space_file *file = (void *)1;
        struct spex_error why = {""};
        snprintf(xml, sizeof(xml), SPACE("%s"), cases[c].inside);
        int err = spex_space_parse("bad.xml", xml, &file, &why);
        if (err != -EINVAL || file || !strstr(why.text, cases[c].where) ||
            !strstr(why.text, cases[c].expected))
            fail_msg("%s\nis refused so: %d %s", cases[c].inside, err, why.text);
    }
}

TEST(criteria) {
    static const char *const texts[] = {
        "maximise throughput of q:tpt", "minimise p99.9 of q:lat", "maximise mean of s:snapshot[2]",
        "throughput of q:tpt at least 50/s", "p99 of q:lat at most 2 ms"};
    struct spex_space_file *file =
        space_of("<space name='s'><parameter name='a' type='boolean'/>"
                 "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
                 "<limit probe='q:tpt' metric='throughput' at_least='50'/>"
                 "<limit probe='q:lat' metric='p99' at_most='2ms'/>"
                 "<objective probe='q:lat' metric='p99.9' goal='minimise'/>"
                 "<objective probe='s:snapshot' metric='mean' field='2' goal='maximise'/></space>");
    assert_int_equal(file->space.objective_count, 3);
    assert_int_equal(file->space.criterion_count, 5);
    for (size_t c = 0; c < COUNT_OF(texts); c++) {
        char text[128];
        spex_criterion_text(&file->space.criteria[c], text, sizeof(text));
        assert_string_equal(text, texts[c]);
    }
    close_to(file->space.criteria[4].bound, 0.002);
    assert_string_equal(file->probes, "q:tpt,q:lat,s:snapshot");
    spex_space_free(file);
}
