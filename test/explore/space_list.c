/* SPDX-License-Identifier: MIT */
/* <configurations>: what is read of a list, what is refused with its line, and that all of it is
 * explored and nothing else. */
#include "explore/space/table.h"
#include "policies/explore/builtin.h"
#include "policies/explore/configurations.h"
#include "scratch.h"
#include "spaces.h"

#define SPACE(list)                                                                                \
    "<space name='s'>\n"                                                                           \
    "<parameter name='a' type='integer' values='1 2 4'/>\n"                                        \
    "<parameter name='mode' type='categorical' values='fast slow'/>\n"                             \
    "<parameter name='level' type='real' values='0.5 1.5' when=\"$mode = 'slow'\"/>\n"             \
    "<constraint require='$a &lt; 4 or $level = 0.5'/>\n"                                          \
    "<objective command='wall' goal='minimise'/>\n"                                                \
    "<run trials='100'/>\n" list "</space>\n"

#define LIST(rows) SPACE("<configurations>" rows "</configurations>")

static void expect(const struct spex_space *space, uint64_t row, size_t a, size_t mode,
                   size_t level) {
    const size_t levels[] = {a, mode, level};
    assert_memory_equal(space->listed + row * 3, levels, sizeof(levels));
}

/* Columns in any order, numbers as numbers, quotes, blanks, blank lines; CRLF is "&#13;" in XML. */
TEST(lists_are_read) {
    struct spex_space_file *file = space_of(LIST("mode , a,level\n"
                                                 "fast,4,\n\n"
                                                 " \"slow\" ,1.0, 1.5&#13;\n"
                                                 "slow,2,0.50\n"));
    const struct spex_space *space = &file->space;
    size_t other[] = {0, 0, 0}, unsettled[] = {2, 0, 1};
    assert_int_equal(space->listed_count, 3);
    assert_int_equal(spex_space_configurations(space), 3);
    expect(space, 0, 2, 0, 0);
    expect(space, 1, 0, 1, 1);
    expect(space, 2, 1, 1, 0);
    assert_false(spex_space_settle(space, other));
    assert_true(spex_space_settle(space, unsettled)); /* the level does not apply */
    assert_int_equal(unsettled[2], 0);
    spex_space_free(file);
}

struct bad {
    const char *list, *expected;
};

TEST(lists_are_refused) {
    static const struct bad bads[] = {
        {"", "made:8: a line of names and one of values at least were expected"},
        {"a,mode,level\n", "made:9: a line of names and one of values at least were expected"},
        {"a,level\n1,0.5", "made:8: a column of parameter \"mode\" was expected"},
        {"a,mode,level,b\n1,fast,0.5,1", "made:8: column 4 (b): the space has no such parameter"},
        {"a,mode,level,a\n1,fast,0.5,1",
         "made:8: column 4 (a): only one column of a parameter was expected"},
        {"a,mode,level\n1,slow", "made:9: 3 values were expected, as there are names, not 2"},
        {"a,mode,level\n1,slow,1.5,", "made:9: 3 values were expected, as there are names, not 4"},
        {"a,mode,level\n\n3,slow,1.5",
         "made:10: column 1 (a): one of the 3 values of parameter \"a\" was expected, not \"3\""},
        {"a,mode,level\n1,slow,",
         "made:9: column 3 (level): one of the 2 values of parameter \"level\" was expected"},
        {"a,mode,level\n1,quick,0.5", "made:9: column 2 (mode): one of the 2 values"},
        {"a,mode,level\nx,slow,0.5", "made:9: column 1 (a): one of the 3 values"},
        {"a,mode,level\n1,\"slow,0.5\n", "made:9: a closing quote was expected"},
        {"a,mode,level\n1,\"slow\"er,0.5\n", "made:9: a comma or the end of the line"},
        {"a,mode,level\n4,slow,1.5", "made:9: a configuration that the constraints allow"},
        {"a,mode,level\n1,fast,0.5\n2,fast,\n1,fast,1.5",
         "made:11: another configuration than that of line 9 was expected"},
        {"a,mode,level\n1,fast&#13;x,0.5", "made:9: UTF-8 without control characters"},
        {"a,mode,level\n1,fast,0.5<a/>", "<a>: not expected inside <configurations>"},
    };
    for (size_t b = 0; b < COUNT_OF(bads); b++) {
        char xml[1024];
        struct spex_space_file *file;
        struct spex_error why = {""};
        snprintf(xml, sizeof(xml), "%s", SPACE("<configurations>"));
        char *end = strstr(xml, "</space>");
        snprintf(end, sizeof(xml) - (size_t)(end - xml), "%s</configurations></space>",
                 bads[b].list);
        assert_int_equal(spex_space_parse("made", xml, &file, &why), -EINVAL);
        if (!strstr(why.text, bads[b].expected))
            fail_msg("%zu: %s", b, why.text);
    }
}

TEST(only_one_list_with_known_attributes) {
    struct spex_space_file *file;
    struct spex_error why;
    assert_int_equal(spex_space_parse("made", SPACE("<configurations path='x'/>"), &file, &why),
                     -EINVAL);
    assert_non_null(strstr(why.text, "unknown attribute \"path\"; expected: file"));
    assert_int_equal(spex_space_parse("made",
                                      SPACE("<configurations>a,mode,level\n1,fast,\n"
                                            "</configurations><configurations/>"),
                                      &file, &why),
                     -EINVAL);
    assert_non_null(strstr(why.text, "only one was expected"));
}

/* The space's text says all, wherever the file is later; a path is relative to the space. */
TEST(a_file_becomes_part_of_the_space) {
    struct spex_error why = {""};
    struct spex_space_file *file, *again;
    scratch_text("pool.csv", "\xef\xbb\xbf"
                             "a,mode,level\r\n2,slow,1.5\r\n1,\"fast\",\r\n");
    scratch_text("space.xml", SPACE("<configurations file='pool.csv'/>"));
    if (spex_space_read("space.xml", &file, &why))
        fail_msg("%s", why.text);
    assert_int_equal(spex_space_parse("elsewhere", file->xml, &again, &why), 0);
    char *one = spex_space_identity(file), *other = spex_space_identity(again);
    assert_string_equal(one, other);
    assert_non_null(strstr(one, "\nconfiguration 2 slow 1.5\nconfiguration 1 fast 0.5\n"));
    free(one);
    free(other);
    spex_space_free(file);
    spex_space_free(again);
}

TEST(bad_files_are_named) {
    static const char zero[] = "a,mode,level\n1,fast,\0\n";
    struct spex_error why;
    struct spex_table table;
    scratch_write("zero.csv", zero, sizeof(zero) - 1);
    assert_int_equal(spex_table_read(&table, "zero.csv", NULL, &why), -EINVAL);
    assert_non_null(strstr(why.text, "zero.csv:2: a zero byte is not expected"));
    spex_table_free(&table);
    assert_int_equal(spex_table_read(&table, "/nowhere/pool.csv", NULL, &why), -ENOENT);
    spex_table_free(&table);
}

/* Each policy tries all of a list, and nothing else: a plan that is not in it ends the test. Costs
 * are exact, so that none needs repeats to tell the best. */
static void explore_all(const struct spex_policy_ops *policy, const struct spex_space *space) {
    size_t levels[3], tried = 0;
    bool seen[64] = {false};
    struct spex_plan plan = {.size = sizeof(plan), .levels = levels, .duration_seconds = 1};
    void *policy_state = calloc(1, policy->state_size(space));
    assert_int_equal(policy->init(policy_state, space), 0);
    for (unsigned trials = 0; policy->next(policy_state, &plan) == 1; trials++) {
        uint64_t row = 0;
        while (row < space->listed_count &&
               memcmp(space->listed + row * 3, levels, sizeof(levels)) != 0)
            row++;
        if (row == space->listed_count || trials > 200)
            fail_msg("%s: not in the list", policy->name);
        tried += !seen[row];
        seen[row] = true;
        struct spex_measured measured = {(double)(1 + row * 7 % 64), NAN};
        struct spex_result result = {
            .size = sizeof(result), .levels = levels, .ok = true, .measured = &measured};
        if (policy->run_finished)
            policy->run_finished(policy_state, &result);
    }
    if (tried != space->listed_count)
        fail_msg("%s: %zu of %zu", policy->name, tried, (size_t)space->listed_count);
    if (policy->fini)
        policy->fini(policy_state);
    free(policy_state);
}

/* A diagonal of a cube: of 1000 combinations 40 exist. */
TEST(policies_explore_all_of_a_list) {
    char *xml;
    size_t length;
    FILE *out = open_memstream(&xml, &length);
    fputs("<space name='s'><parameter name='a' type='integer' min='0' max='39'/>"
          "<parameter name='b' type='integer' min='0' max='39'/>"
          "<parameter name='c' type='categorical' values='x y z'/>"
          "<objective command='wall' goal='minimise'/><run trials='100'/><configurations>a,b,c\n",
          out);
    for (unsigned i = 0; i < 40; i++)
        fprintf(out, "%u,%u,%c\n", i, i * 7 % 40, 'x' + (int)i % 3);
    fputs("</configurations></space>", out);
    fclose(out);
    struct spex_space_file *file = space_of(xml);
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        explore_all(spex_builtin_policies[p], &file->space);
    spex_space_free(file);
    free(xml);
}

static char *parameter_of(const char *csv) {
    struct spex_table table;
    struct spex_error why = {""};
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(spex_table_parse(&table, "made", 1, csv, &why), 0);
    if (spex_table_write_parameter(&table, 0, out, &why))
        fputs(why.text, out);
    fclose(out);
    spex_table_free(&table);
    return text;
}

TEST(columns_become_parameters) {
    static const struct {
        const char *csv, *parameter;
    } cases[] = {
        {"n\n3\n1\n1\n2", "  <parameter name=\"n\" type=\"integer\" values=\"1 2 3\"/>\n"},
        {"n\n100\n10\n1", "  <parameter name=\"n\" type=\"integer\" values=\"1 10 100\" "
                          "scale=\"log\"/>\n"},
        {"n\n0.5\n1\n0.50", "  <parameter name=\"n\" type=\"real\" values=\"0.5 1\"/>\n"},
        {"n\nb&\n1\na", "  <parameter name=\"n\" type=\"categorical\" values=\"1 a b&amp;\"/>\n"},
        {"n\n\"a b\"", "made:2: column 1 (n): a value without blanks was expected"},
        {"n,m\n,1", "made:2: column 1 (n): a value without blanks was expected"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char *found = parameter_of(cases[c].csv);
        assert_string_equal(found, cases[c].parameter);
        free(found);
    }
}

/* A hundred thousand rows, of more combinations than a space may have. */
TEST(large_lists_are_read) {
    enum { ROWS = 100000 };
    char *xml;
    size_t length;
    FILE *out = open_memstream(&xml, &length);
    fputs("<space name='s'>", out);
    for (unsigned p = 0; p < 3; p++)
        fprintf(out, "<parameter name='p%u' type='integer' min='0' max='%d'/>", p, ROWS - 1);
    fputs("<objective command='wall' goal='minimise'/><configurations>p0,p1,p2\n", out);
    for (unsigned i = 0; i < ROWS; i++)
        fprintf(out, "%u,%u,%u\n", i, ROWS - 1 - i, i);
    fputs("</configurations></space>", out);
    fclose(out);
    struct spex_space_file *file = space_of(xml);
    size_t levels[] = {77, ROWS - 1 - 77, 77}, other[] = {77, 77, 77};
    assert_int_equal(file->space.listed_count, ROWS);
    assert_true(spex_space_settle(&file->space, levels));
    assert_false(spex_space_settle(&file->space, other));
    spex_space_free(file);
    free(xml);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
