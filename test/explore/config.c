/* SPDX-License-Identifier: MIT */
/* Configurations on their way from the explorer to the program: what is written is what is read,
 * and what is no configuration is refused. */
#include <errno.h>
#include <sys/stat.h>

#include <spex/config.h>

#include "base/descriptor.h"
#include "explore/space/config_file.h"
#include "scratch.h"
#include "spaces.h"

static const char special[] =
    "<space name='&lt;&amp;\"&apos;&#xe9;'>"
    "<parameter name='number' type='integer' values='-9223372036854775808 -1 0 9223372036854775807'"
    "/>"
    "<parameter name='word' type='categorical' values='plain &amp; &lt; &gt; &quot; &apos; "
    "&amp;amp; &lt;a&#x3d;&quot;b&quot;/&gt; %s%n \\ ]]&gt; &#x20ac;&#xe9; &#x1f600;  -- 007'"
    "/>"
    "<parameter name='Dots.and-lines_' type='integer' min='1' max='1'/>"
    "<objective probe='q:lat' metric='mean' goal='minimise'/></space>";

static struct spex_config *config_of(const char *path) {
    struct spex_config *config;
    char why[256] = "";
    if (spex_config_read(path, &config, why, sizeof(why)))
        fail_msg("%s", why);
    return config;
}

TEST(round_trip) {
    struct spex_space_file *file = space_of(special);
    const struct spex_space *space = &file->space;
    struct spex_error why = {""};
    size_t levels[3] = {0};
    assert_string_equal(space->parameters[1].values[1].text, "&");
    assert_int_equal(space->parameters[1].count, 15);
    do {
        assert_int_equal(spex_config_write("config.xml", space, levels, &why), 0);
        struct spex_config *config = config_of("config.xml");
        for (size_t p = 0; p < space->parameter_count; p++)
            assert_string_equal(spex_config_text(config, space->parameters[p].name),
                                space->parameters[p].values[levels[p]].text);
        int64_t number;
        assert_int_equal(spex_config_integer(config, "number", INT64_MIN, INT64_MAX, &number,
                                             why.text, sizeof(why.text)),
                         0);
        assert_int_equal(number, space->parameters[0].values[levels[0]].integer);
        assert_null(spex_config_text(config, "words"));
        spex_config_free(config);
        levels[0] = (levels[0] + 1) % space->parameters[0].count;
    } while (++levels[1] < space->parameters[1].count);
    spex_space_free(file);
}

TEST(document) {
    struct spex_space_file *file = space_of(special);
    struct spex_error why = {""};
    char text[512] = "";
    mode_t mask = umask(0077); /* the program of another user may read it all the same */
    int err = spex_config_write("config.xml", &file->space, (size_t[]){1, 2, 0}, &why);
    umask(mask);
    assert_int_equal(err, 0);
    struct stat about;
    FILE *in = fopen("config.xml", "r");
    assert_non_null(in);
    assert_int_equal(fstat(fileno(in), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0644);
    assert_true(fread(text, 1, sizeof(text) - 1, in) > 0);
    fclose(in);
    assert_string_equal(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                              "<configuration space=\"&lt;&amp;&quot;'\xc3\xa9\">\n"
                              "  <parameter name=\"number\" value=\"-1\"/>\n"
                              "  <parameter name=\"word\" value=\"&lt;\"/>\n"
                              "  <parameter name=\"Dots.and-lines_\" value=\"1\"/>\n"
                              "</configuration>\n");
    spex_space_free(file);
}

/* The reason goes to the caller, who may be drawing on the terminal, and nowhere else. */
TEST(unwritable) {
    static const struct {
        const char *path;
        int err;
    } cases[] = {
        {"/dev/full", -ENOSPC},
        {"missing/config.xml", -ENOENT},
        {".", -EISDIR},
        {"config.xml/config.xml", -ENOTDIR},
    };
    struct spex_space_file *file = space_of(special);
    scratch_text("config.xml", "");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_error why = {""};
        int old = catch_messages();
        int err = spex_config_write(cases[c].path, &file->space, (size_t[]){0, 0, 0}, &why);
        expect_no_messages(old);
        if (err != cases[c].err || !strstr(why.text, cases[c].path) ||
            !strstr(why.text, strerror(-cases[c].err)))
            fail_msg("%s: %d %s", cases[c].path, err, why.text);
    }
    spex_space_free(file);
}

TEST(received) {
    struct spex_config *config = (void *)1;
    char why[256] = "";
    unsetenv("SPEX_CONFIG");
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), -ENOENT);
    assert_null(config);
    assert_non_null(strstr(why, "SPEX_CONFIG is not set"));
    setenv("SPEX_CONFIG", "", 1);
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), -ENOENT);
    scratch_text("config.xml", "<configuration space='s'/>");
    setenv("SPEX_CONFIG", "config.xml", 1);
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), 0);
    assert_null(spex_config_text(config, "threads"));
    spex_config_free(config);
    unsetenv("SPEX_CONFIG");
}

/* As by a program that may not search the directory any more. */
TEST(inherited) {
    struct spex_config *config = NULL;
    char why[256] = "", text[SPEX_DESCRIPTOR_TEXT_BYTES];
    scratch_text("config.xml", "<configuration space='s'/>");
    struct spex_descriptor file = spex_descriptor_of(open("config.xml", O_RDONLY | O_CLOEXEC));
    spex_descriptor_text(&file, text);
    setenv("SPEX_CONFIG", "missing/config.xml", 1);
    setenv("SPEX_CONFIG_FILE", text, 1);
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), 0);
    spex_config_free(config);
    spex_descriptor_close(&file);
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), -EIO);
    assert_null(config);
    assert_non_null(strstr(why, "missing/config.xml"));
    unsetenv("SPEX_CONFIG_FILE");
    unsetenv("SPEX_CONFIG");
}

/* -ENOENT says that nobody explores: a program would go on with its defaults. */
TEST(explored_but_missing) {
    struct spex_config *config = (void *)1;
    char why[256] = "";
    setenv("SPEX_CONFIG", "missing.xml", 1);
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), -EIO);
    assert_null(config);
    assert_non_null(strstr(why, "missing.xml"));
    assert_int_equal(mkfifo("pipe", 0600), 0);
    setenv("SPEX_CONFIG", "pipe", 1);
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), -EINVAL);
    assert_string_equal(why, "SPEX_CONFIG=pipe: a regular file was expected");
    scratch_text("config.xml", "<space name='s'/>");
    setenv("SPEX_CONFIG", "config.xml", 1);
    assert_int_equal(spex_config_receive(&config, why, sizeof(why)), -EINVAL);
    assert_null(config);
    unsetenv("SPEX_CONFIG");
}

TEST(integers) {
    static const struct {
        const char *name;
        int64_t low, high;
        int err;
        const char *phrase;
    } cases[] = {
        {"four", 1, 4, 0, ""},
        {"four", 4, 4, 0, ""},
        {"four", 5, 9, -EINVAL, "\"four\": an integer of 5 to 9 was expected, not \"4\""},
        {"four", -9, 3, -EINVAL, "\"four\": an integer of -9 to 3 was expected, not \"4\""},
        {"least", INT64_MIN, 0, 0, ""},
        {"beyond", INT64_MIN, INT64_MAX, -EINVAL, "not \"9223372036854775808\""},
        {"empty", 0, 9, -EINVAL, "not \"\""},
        {"word", 0, 9, -EINVAL, "not \"on\""},
        {"spaced", 0, 9, -EINVAL, "not \" 4\""},
        {"fraction", 0, 9, -EINVAL, "not \"4.0\""},
        {"five", 0, 9, -ENOENT, "no parameter \"five\""},
    };
    scratch_text("config.xml", "<configuration space='s'><parameter name='four' value='4'/>"
                               "<parameter name='least' value='-9223372036854775808'/>"
                               "<parameter name='beyond' value='9223372036854775808'/>"
                               "<parameter name='empty' value=''/>"
                               "<parameter name='word' value='on'/>"
                               "<parameter name='spaced' value=' 4'/>"
                               "<parameter name='fraction' value='4.0'/></configuration>");
    struct spex_config *config = config_of("config.xml");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        int64_t value = 99;
        char why[256] = "";
        int err = spex_config_integer(config, cases[c].name, cases[c].low, cases[c].high, &value,
                                      why, sizeof(why));
        if (err != cases[c].err || !strstr(why, cases[c].phrase))
            fail_msg("%s: %d %s", cases[c].name, err, why);
        if (!err)
            assert_int_equal(value, strcmp(cases[c].name, "four") == 0 ? 4 : INT64_MIN);
    }
    assert_string_equal(spex_config_text(config, "empty"), "");
    spex_config_free(config);
    spex_config_free(NULL);
}

#define OPEN  "<configuration space='s'>\n"
#define CLOSE "\n</configuration>\n"

TEST(malformed) {
    static const struct {
        const char *xml, *where, *expected;
    } cases[] = {
        {"", ":1: ", "not well-formed"},
        {"threads=4", ":1: ", "not well-formed"},
        {OPEN, ":2: ", "not well-formed"},
        {OPEN "<parameter name='a' value='<'/>" CLOSE, ":2: ", "not well-formed"},
        {OPEN "<parameter name='a' value='&b;'/>" CLOSE, ":2: ", "not well-formed"},
        {OPEN CLOSE OPEN CLOSE, ":4: ", "not well-formed"},
        {"<!DOCTYPE configuration>" OPEN CLOSE, "", "document type declaration"},
        {"<space name='s'/>", ":1: <space>:", "<configuration> was expected"},
        {"<configuration space='s' policy='grid'/>", ":1: <configuration>:", "expected: space"},
        {OPEN "a=1" CLOSE, ":1: <configuration>:", "text is not expected"},
        {OPEN "<value name='a' value='1'/>" CLOSE, ":2: <value>:", "<parameter> was expected"},
        {OPEN "<parameter value='1'/>" CLOSE, ":2: <parameter>:", "\"name\" was expected"},
        {OPEN "<parameter name='' value='1'/>" CLOSE, ":2: <parameter>:", "\"name\" was expected"},
        {OPEN "<parameter name='a'/>" CLOSE, ":2: <parameter>:", "\"value\" was expected"},
        {OPEN "<parameter name='a' value='1&#10;2'/>" CLOSE,
         ":2: <parameter>:", "value: a control character is not expected"},
        {OPEN "<parameter name='a' value='1' unit='s'/>" CLOSE, ":2: <parameter>:", "name, value"},
        {OPEN "<parameter name='a' value='1'>1</parameter>" CLOSE, ":2: <parameter>:", "text is"},
        {OPEN "<parameter name='a' value='1'><b/></parameter>" CLOSE, ":2: <b>:", "not expected"},
        {OPEN "<parameter name='a' value='1'/>\n<parameter name='a' value='1'/>" CLOSE,
         ":3: <parameter>:", "parameter \"a\" is there twice"},
        {OPEN "<parameter value='1'/><parameter name='a' value='1'/>" CLOSE,
         ":2: <parameter>:", "\"name\" was expected"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_config *config = (void *)1;
        char why[512] = "";
        scratch_text("bad.xml", cases[c].xml);
        int err = spex_config_read("bad.xml", &config, why, sizeof(why));
        if (err != -EINVAL || config || !strstr(why, "bad.xml") || !strstr(why, cases[c].where) ||
            !strstr(why, cases[c].expected))
            fail_msg("%d %s for:\n%s", err, why, cases[c].xml);
    }
}

TEST(unreadable) {
    struct spex_config *config = (void *)1;
    char why[256] = "";
    assert_int_equal(spex_config_read("missing.xml", &config, why, sizeof(why)), -ENOENT);
    assert_null(config);
    assert_int_equal(spex_config_read(".", &config, why, sizeof(why)), -EISDIR);
    scratch_write("bad.xml", OPEN CLOSE "\0", sizeof(OPEN CLOSE));
    assert_int_equal(spex_config_read("bad.xml", &config, why, sizeof(why)), -EINVAL);
    assert_non_null(strstr(why, "zero byte"));
}

/* A program's buffer may be small. */
TEST(short_reasons) {
    struct spex_config *config;
    char why[9] = "12345678";
    assert_int_equal(spex_config_read("missing.xml", &config, why, 8), -ENOENT);
    assert_string_equal(why, "cannot ");
    assert_int_equal(spex_config_read("missing.xml", &config, NULL, 0), -ENOENT);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
