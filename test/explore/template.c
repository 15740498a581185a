/* SPDX-License-Identifier: MIT */
/* Templates: what is replaced, what is left as it is, what is refused, what is left out. */
#include <errno.h>

#include "explore/space/template.h"
#include "spaces.h"

static const char xml[] =
    "<space name='s'>"
    "<parameter name='threads' type='integer' min='1' max='4'/>"
    "<parameter name='mode' type='categorical' values='fast {threads} }}'/>"
    "<parameter name='a.b-c_1' type='real' values='0.5 1.5'/>"
    "<parameter name='cache' type='integer' values='8 16' when=\"$mode = 'fast'\"/>"
    "<objective probe='q:lat' metric='mean' goal='minimise'/></space>";

static struct spex_space_file *file;

static void expect(const char *text, const size_t *levels, const char *expected) {
    uint64_t named;
    struct spex_error why = {""};
    char *filled;
    if (spex_template_check(text, &file->space, &named, &why))
        fail_msg("%s: %s", text, why.text);
    assert_int_equal(spex_template_fill(text, &file->space, levels, &filled), 0);
    if (!expected)
        assert_null(filled);
    else if (!filled || strcmp(filled, expected) != 0)
        fail_msg("%s became %s, not %s", text, filled ? filled : "nothing", expected);
    free(filled);
}

static void expect_all(const char *const (*cases)[2], size_t count) {
    static const size_t levels[] = {3, 0, 1, 1};
    for (size_t c = 0; c < count; c++)
        expect(cases[c][0], levels, cases[c][1]);
}

TEST(names) {
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"{threads}", "4"},
        {"--threads={threads}", "--threads=4"},
        {"--cache={cache}MB", "--cache=16MB"},
        {"{threads}{mode}{a.b-c_1}", "4fast1.5"},
        {"{threads}}", "4}"},
        {"{threads", "{threads"},
        {"threads}", "threads}"},
        {"\xc3\xa9{threads}\xff", "\xc3\xa9"
                                  "4\xff"},
    };
    expect_all(cases, COUNT_OF(cases));
}

/* What a value has is not looked at again. */
TEST(values_are_no_templates) {
    static const size_t braces[] = {0, 1, 0, 0}, closing[] = {0, 2, 0, 0};
    expect("<{mode}>", braces, "<{threads}>");
    expect("<{mode}>", closing, "<}}>");
}

TEST(literal_braces) {
    static const char *const cases[][2] = {
        {"{{threads}}", "{threads}"},
        {"{{{threads}}}", "{4}"},
        {"{{{{threads}}}}", "{{threads}}"},
        {"{{", "{"},
        {"}}", "}"},
        {"{{}}", "{}"},
        {"a}}b", "a}b"},
        {"{{\"t\":{threads}}}", "{\"t\":4}"},
        {"{{unknown}}", "{unknown}"},
    };
    expect_all(cases, COUNT_OF(cases));
}

TEST(braces_of_others) {
    static const char *const cases[][2] = {
        {"{}", "{}"},
        {"{", "{"},
        {"}", "}"},
        {"{ threads }", "{ threads }"},
        {"{1,2}", "{1,2}"},
        {"{9threads}", "{9threads}"},
        {"{\"a\":{\"b\":{}}}", "{\"a\":{\"b\":{}}}"},
        {"{\"a\":{\"b\":{threads}}}", "{\"a\":{\"b\":4}}"},
        {"{\"a\":[{\"b\":1},{\"c\":{threads}}]}", "{\"a\":[{\"b\":1},{\"c\":4}]}"},
        {"f() { echo {threads}; }", "f() { echo 4; }"},
        {"${HOME}/{threads}", "${HOME}/4"},
        {"${threads}", "${threads}"},
        {"$ {threads}", "$ 4"},
        {"$${{x}}", "$${x}"},
    };
    expect_all(cases, COUNT_OF(cases));
}

TEST(what_does_not_apply) {
    static const size_t other[] = {0, 1, 0, 0};
    expect("--cache={cache}", other, NULL);
    expect("{threads}{cache}", other, NULL);
    expect("{threads}{{cache}}", other, "1{cache}");
}

TEST(what_is_named) {
    static const struct {
        const char *text;
        uint64_t named;
    } cases[] = {{"", 0},
                 {"{threads}", 1},
                 {"{cache}{mode}{cache}", 8 | 2},
                 {"{{cache}}", 0},
                 {"${cache}{a.b-c_1}", 4}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        uint64_t named;
        assert_int_equal(spex_template_check(cases[c].text, &file->space, &named, NULL), 0);
        assert_int_equal(named, cases[c].named);
    }
}

TEST(unknown_names) {
    static const char *const cases[][2] = {
        {"{thread}", "{thread}: the space has no such parameter; it has threads, mode, a.b-c_1, "
                     "cache, and {{ is for a brace"},
        {"{threads}{threadss}", "{threadss}: "},
        {"awk '{print}'", "{print}: "},
        {"{_}", "{_}: "},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        uint64_t named;
        struct spex_error why = {""};
        assert_int_equal(spex_template_check(cases[c][0], &file->space, &named, &why), -EINVAL);
        assert_memory_equal(why.text, cases[c][1], strlen(cases[c][1]));
    }
}

static int setup(void **state) {
    (void)state;
    file = space_of(xml);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    spex_space_free(file);
    return 0;
}

int main(void) {
    return tests_run(setup, teardown);
}
