/* SPDX-License-Identifier: MIT */
/* The strict reading of documents: what is refused, word for word, and what bounds and parts
 * mean. */
#define _GNU_SOURCE
#include "../check.h"

#include <math.h>

#include "xml/xml.h"
#include "xml/xml_criterion.h"

static const char *const known[] = {"one", "two", NULL};

/* What is said of a document whose root is <r> with these attributes, and has children or not; "":
 * it is taken. */
static const char *said(const char *text, int children) {
    static struct spex_error error;
    const xmlNode *root;
    struct spex_xml xml;
    error.text[0] = '\0';
    int err = spex_xml_read_text(&xml, "d.xml", text, &error);
    if (!err) {
        err = spex_xml_root(&xml, "r", &root);
        err = err ? err : spex_xml_check(&xml, root, known, children);
        spex_xml_free(&xml);
    }
    assert_null(xml.text);
    assert_int_equal(err, error.text[0] ? -EINVAL : 0);
    return error.text;
}

TEST(documents) {
    static const struct {
        const char *text;
        int children;
        const char *expected;
    } cases[] = {
        {"<r/>", 0, ""},
        {"<r one='1' two=''/>", 0, ""},
        {"<r> \n\t<!-- comment --></r>", 0, ""},
        {"<r><c/></r>", 1, ""},
        {"<r>\n<c/></r>", 0, "d.xml:2: <c>: not expected inside <r>"},
        {"<s/>", 0, "d.xml:1: <s>: <r> was expected here"},
        {"\n<r three='3'/>", 0, "d.xml:2: <r>: unknown attribute \"three\"; expected: one, two"},
        {"<r one='1' three='3'/>", 0,
         "d.xml:1: <r>: unknown attribute \"three\"; expected: one, two"},
        {"<r>x</r>", 1, "d.xml:1: <r>: text is not expected here"},
        {"<r><![CDATA[x]]></r>", 1, "d.xml:1: <r>: text is not expected here"},
        {"<r> <c/> x</r>", 1, "d.xml:1: <r>: text is not expected here"},
        {"<r xmlns='u'/>", 0, "d.xml:1: <r>: namespaces are not expected"},
        {"<n:r xmlns:n='u'/>", 0, "d.xml:1: <r>: namespaces are not expected"},
        {"<r xmlns:n='u'/>", 0, "d.xml:1: <r>: namespaces are not expected"},
        {"<r xml:one='1'/>", 0, "d.xml:1: <r>: namespaces are not expected"},
        {"<r one='a&#10;'/>", 0, "d.xml:1: <r>: one: a control character is not expected"},
        {"<r one='1' two='a&#9;'/>", 0, "d.xml:1: <r>: two: a control character is not expected"},
        {"<!DOCTYPE r [<!ENTITY a 'b'>]><r/>", 0,
         "d.xml: a document type declaration is not accepted"},
        {"<!DOCTYPE r><r/>", 0, "d.xml: a document type declaration is not accepted"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const char *got = said(cases[c].text, cases[c].children);
        if (strcmp(got, cases[c].expected) != 0)
            fail_msg("%s: \"%s\" and not \"%s\"", cases[c].text, got, cases[c].expected);
    }
    /* The words behind are the library's. */
    static const char begin[] = "d.xml:2: not well-formed XML: ";
    assert_int_equal(strncmp(said("\n<r", 0), begin, strlen(begin)), 0);
    assert_null(strchr(said("\n<r", 0), '\n'));
    assert_int_equal(strncmp(said("", 0), "d.xml:", 6), 0);
}

/* A file with a zero byte, which ends the document for the parser; and others. */
TEST(files) {
    static const char zero[] = "<r/>\n\n\0<r/>";
    char path[] = "/tmp/xml-strict-XXXXXX", expected[128];
    struct spex_error error = {""};
    struct spex_xml xml;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, zero, sizeof(zero)), sizeof(zero));
    assert_int_equal(spex_xml_read_file(&xml, path, &error), -EINVAL);
    snprintf(expected, sizeof(expected), "%s:3: not well-formed XML: a zero byte", path);
    assert_string_equal(error.text, expected);
    assert_int_equal(ftruncate(fd, 4), 0);
    assert_int_equal(spex_xml_read_file(&xml, path, &error), 0);
    assert_int_equal(xml.length, 4);
    assert_string_equal(xml.text, "<r/>");
    spex_xml_free(&xml);
    assert_null(xml.document);
    close(fd);
    unlink(path);
    assert_int_equal(spex_xml_read_file(&xml, path, &error), -ENOENT);
}

TEST(children_are_elements) {
    struct spex_error error = {""};
    struct spex_xml xml;
    const xmlNode *root;
    char names[16] = "";
    assert_int_equal(
        spex_xml_read_text(&xml, "d", "<r> <!-- x --><a/> <b>y</b><?p?><c/></r>", &error), 0);
    assert_int_equal(spex_xml_root(&xml, "r", &root), 0);
    for (const xmlNode *e = spex_xml_child(root); e; e = spex_xml_next(e))
        strcat(names, spex_xml_name(e));
    assert_string_equal(names, "abc");
    assert_null(spex_xml_child(spex_xml_child(root)));
    spex_xml_free(&xml);
}

/* "": it is *value. */
static const char *part_said(const char *attribute, double *value) {
    static struct spex_error error;
    struct spex_xml xml;
    const xmlNode *root;
    char text[128];
    error.text[0] = '\0';
    snprintf(text, sizeof(text), "<r %s/>", attribute);
    assert_int_equal(spex_xml_read_text(&xml, "d", text, &error), 0);
    assert_int_equal(spex_xml_root(&xml, "r", &root), 0);
    int err = spex_xml_part(&xml, root, "one", value);
    assert_int_equal(err, error.text[0] ? -EINVAL : 0);
    spex_xml_free(&xml);
    return error.text;
}

TEST(parts) {
    static const struct {
        const char *attribute;
        double value;
    } good[] = {{"one='2%'", 0.02},
                {"one='100%'", 1},
                {"one='0.5%'", 0.005},
                {"two='7%'", 9},
                {"one='1.0000000000000000000000000000%'", 0.01}};
    static const char *const bad[] = {"0%",
                                      "101%",
                                      "100.1%",
                                      "%",
                                      "2",
                                      "",
                                      "-1%",
                                      "2%%",
                                      "x%",
                                      "2 %",
                                      "1.00000000000000000000000000000%"};
    for (size_t g = 0; g < COUNT_OF(good); g++) {
        double value = 9;
        assert_string_equal(part_said(good[g].attribute, &value), "");
        assert_true(fabs(value - good[g].value) < 1e-12);
    }
    for (size_t b = 0; b < COUNT_OF(bad); b++) {
        char attribute[64], expected[256];
        double value = 9;
        snprintf(attribute, sizeof(attribute), "one='%s'", bad[b]);
        snprintf(expected, sizeof(expected),
                 "d:1: <r>: one=\"%s\": more than 0%% and at most 100%% were expected, as \"2%%\"",
                 bad[b]);
        assert_string_equal(part_said(attribute, &value), expected);
        assert_true(value == 9);
    }
}

/* The criterion as a text, or what is said. */
static const char *criterion_said(const char *attributes, bool bound) {
    static char text[512];
    struct spex_criterion criterion = {.probe = NULL};
    struct spex_error error = {""};
    struct spex_xml xml;
    const xmlNode *root;
    snprintf(text, sizeof(text), "<r %s/>", attributes);
    assert_int_equal(spex_xml_read_text(&xml, "d", text, &error), 0);
    assert_int_equal(spex_xml_root(&xml, "r", &root), 0);
    int err = spex_xml_take_metric(&xml, root, &criterion);
    err = err || !bound ? err : spex_xml_take_bound(&xml, root, &criterion);
    assert_int_equal(err, error.text[0] ? -EINVAL : 0);
    if (err)
        snprintf(text, sizeof(text), "%s", error.text);
    else
        snprintf(text, sizeof(text), "%s %s %u %d %.9g", criterion.probe, criterion.metric,
                 criterion.field, (int)criterion.goal, criterion.bound);
    free((char *)(uintptr_t)criterion.probe);
    free((char *)(uintptr_t)criterion.metric);
    spex_xml_free(&xml);
    return text;
}

#define R                     "d:1: <r>: "
#define LAT                   "probe='q:lat' metric='mean' "
#define METRIC(metric, those) R "metric=\"" metric "\": " those " was expected"
#define OF_SNAPSHOT           "mean, min, max or a quantile as p50 or p99.9"
#define PROBE(probe)          R "probe=\"" probe "\": one probe and its type was expected, as \"query:tpt\""
#define FIELD(field)                                                                               \
    R "field=\"" field "\": a whole number of 0 to 255 was expected: which of a record's values"
#define EITHER      R "either at_most or at_least was expected"
#define TIME(bound) R bound ": a number of seconds, or one with ms, us or ns, was expected"

TEST(criteria) {
    static const struct {
        const char *attributes;
        bool bound;
        const char *expected;
    } cases[] = {
        {LAT "at_most='2ms'", true, "q:lat mean 0 3 0.002"},
        {LAT "at_most='2us'", true, "q:lat mean 0 3 2e-06"},
        {LAT "at_most='2ns'", true, "q:lat mean 0 3 2e-09"},
        {LAT "at_most='2s'", true, "q:lat mean 0 3 2"},
        {LAT "at_most='2'", true, "q:lat mean 0 3 2"},
        {LAT "at_least='-0.5'", true, "q:lat mean 0 4 -0.5"},
        {LAT "at_most='0000000000000000000000000000000000000000000000000000000000002s'", true,
         "q:lat mean 0 3 2"},
        {LAT, true, EITHER},
        {LAT "at_most='1' at_least='1'", true, EITHER},
        {LAT "at_most='s'", true, TIME("at_most=\"s\"")},
        {LAT "at_least=''", true, TIME("at_least=\"\"")},
        {LAT "at_most='1m'", true, TIME("at_most=\"1m\"")},
        {LAT "at_most='x ms'", true, TIME("at_most=\"x ms\"")},
        {LAT "at_most='inf'", true, TIME("at_most=\"inf\"")},
        {"probe='q:tpt' metric='throughput' at_least='7'", true, "q:tpt throughput 0 4 7"},
        {"probe='q:tpt' metric='throughput' at_least='7ms'", true,
         R "at_least=\"7ms\": a number was expected"},
        {"probe='q:snapshot' metric='p99.9' field='255' at_most='1e3'", true,
         "q:snapshot p99.9 255 3 1000"},
        {LAT "field='0'", false, "q:lat mean 0 0 0"},
        {LAT "field='256'", false, FIELD("256")},
        {LAT "field='-1'", false, FIELD("-1")},
        {LAT "field=''", false, FIELD("")},
        {LAT "field='1.0'", false, FIELD("1.0")},
        {"metric='mean'", false, R "attribute \"probe\" was expected"},
        {"probe='' metric='mean'", false, R "attribute \"probe\" was expected"},
        {"probe='q:lat'", false, R "attribute \"metric\" was expected"},
        {"probe='q' metric='mean'", false, PROBE("q")},
        {"probe='q*:lat' metric='mean'", false, PROBE("q*:lat")},
        {"probe='q:lat,r:lat' metric='mean'", false, PROBE("q:lat,r:lat")},
        {"probe='+q:lat' metric='mean'", false, PROBE("+q:lat")},
        {"probe='q:lat' metric='p0'", false, METRIC("p0", "throughput, " OF_SNAPSHOT)},
        {"probe='q:lat' metric='p100'", false, METRIC("p100", "throughput, " OF_SNAPSHOT)},
        {"probe='q:lat' metric='p99.99'", false, "q:lat p99.99 0 0 0"},
        {"probe='q:lat' metric='median'", false, METRIC("median", "throughput, " OF_SNAPSHOT)},
        {"probe='q:cnt' metric='mean'", false, METRIC("mean", "throughput, as of any cnt probe,")},
        {"probe='q:cnt' metric='throughput'", false, "q:cnt throughput 0 0 0"},
        {"probe='q:snapshot' metric='throughput'", false, METRIC("throughput", OF_SNAPSHOT)},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const char *got = criterion_said(cases[c].attributes, cases[c].bound);
        if (strcmp(got, cases[c].expected) != 0)
            fail_msg("%s: \"%s\" and not \"%s\"", cases[c].attributes, got, cases[c].expected);
    }
}
