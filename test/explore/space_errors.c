/* SPDX-License-Identifier: MIT */
/* Spaces that are none: each is refused with the line, the element and what was expected there. */
#include <errno.h>

#include "explore/space/space.h"
#include "explore/space/space_condition.h"
#include "explore/space/space_parameter.h"
#include "explore/space/space_values.h"
#include "measure/criterion.h"
#include "scratch.h"
#include "xml/xml.h"

struct bad {
    const char *xml;
    const char *where;    /* ":LINE: <ELEMENT>:" */
    const char *expected; /* what else the message must hold */
};

/* Line 1 opens the space, line 2 is the parameter "a", line 3 the objective, line 4 the case. */
#define OPEN      "<space name='s'>\n"
#define A         "<parameter name='a' type='integer' min='1' max='4'/>\n"
#define OBJECTIVE "<objective probe='q:tpt' metric='throughput' goal='maximise'/>\n"
#define CLOSE     "\n</space>\n"

#define WITH(xml)                OPEN A OBJECTIVE xml CLOSE
#define OBJECTIVE_OF(attributes) OPEN A "<objective " attributes "/>" CLOSE
#define PARAMETER(attributes)    WITH("<parameter " attributes "/>")
#define RANGE(attributes)        PARAMETER("name='b' type='integer' " attributes)
#define LIST(values)             PARAMETER("name='b' type='integer' values='" values "'")
#define WORDS(values)            PARAMETER("name='b' type='categorical' values='" values "'")
#define WORDS_OF(values)         "<parameter name='b' type='categorical' values='" values "'/>\n"
#define RUN(attributes)          WITH("<run " attributes "/>")

static const struct bad documents[] = {
    {"", ":1: ", "not well-formed"},
    {"\n", ":2: ", "not well-formed"},
    {"threads=4\n", ":1: ", "not well-formed"},
    {"\x7f\x45\x4c\x46\x02\x01\x01", ":1: ", "not well-formed"},
    {"\xff\xfe<\xff", ":1: ", "not well-formed"},
    {OPEN A, ":3: ", "not well-formed"},
    {OPEN "<parameter name='a'", ":2: ", "not well-formed"},
    {OPEN A OBJECTIVE "</spice>", ":4: ", "not well-formed"},
    {WITH("<run seed=1/>"), ":4: ", "not well-formed"},
    {WITH("<run seed='1' seed='2'/>"), ":4: ", "not well-formed"},
    {WITH("") "<space/>", ":6: ", "not well-formed"},
    {WITH("") "more", ":6: ", "not well-formed"},
    {WITH("<run seed='&one;'/>"), ":4: ", "not well-formed"},
    {"<!DOCTYPE space>\n" WITH(""), "bad.xml: ", "document type declaration is not accepted"},
    {"<!DOCTYPE space [<!ENTITY one '1'>]>\n" WITH("<run seed='&one;'/>"),
     "bad.xml: ", "document type declaration is not accepted"},
    {"<!DOCTYPE space SYSTEM 'file:///etc/passwd' [<!ENTITY p SYSTEM 'file:///etc/passwd'>]>\n"
     "<space name='s'>&p;</space>",
     "bad.xml: ", "document type declaration is not accepted"},
    {"<!DOCTYPE s [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
     "<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'>"
     "<!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'><!ENTITY f '&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;'>"
     "<!ENTITY g '&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;'>]>\n<space name='&g;'/>",
     "bad.xml:", ""},
};

static const struct bad elements[] = {
    {"<configuration space='s'/>", ":1: <configuration>:", "<space> was expected"},
    {"<Space name='s'/>", ":1: <Space>:", "<space> was expected"},
    {"<space/>", ":1: <space>:", "attribute \"name\" was expected"},
    {"<space name=''/>", ":1: <space>:", "attribute \"name\" was expected"},
    {"<space name='s' version='2'/>",
     ":1: <space>:", "unknown attribute \"version\"; expected: na"},
    {"<space name='s'/>", ":1: <space>:", "at least one <parameter> was expected"},
    {OPEN OBJECTIVE CLOSE, ":1: <space>:", "at least one <parameter> was expected"},
    {OPEN A CLOSE, ":1: <space>:", "an <objective> was expected"},
    {WITH("<parameters/>"), ":4: <parameters>:", "<service> or <load> was expected"},
    {WITH("<Run/>"), ":4: <Run>:", "<service> or <load> was expected"},
    {OPEN "text" A OBJECTIVE CLOSE, ":1: <space>:", "text is not expected"},
    {WITH("<![CDATA[text]]>"), ":1: <space>:", "text is not expected"},
    {WITH("<run>20</run>"), ":4: <run>:", "text is not expected"},
    {WITH("<run>\n<seed/></run>"), ":5: <seed>:", "not expected inside <run>"},
    {WITH("<heatmap x='a' y='a'><x/></heatmap>"), ":4: <x>:", "not expected inside <heatmap>"},
    {OPEN A "<objective probe='q:tpt' metric='throughput' goal='maximise'>x</objective>" CLOSE,
     ":3: <objective>:", "text is not expected"},
    {WITH(OBJECTIVE), ":4: <objective>:", "is an objective already"},
    {WITH("<run/>\n<run/>"), ":5: <run>:", "only one was expected"},
    {WITH("<parameter name='b' type='integer' min='1' max='2'/>\n"
          "<heatmap x='a' y='b'/>\n<heatmap x='b' y='a'/>"),
     ":6: <heatmap>:", "only one was expected"},
    {"<space xmlns='urn:other' name='s'>" A OBJECTIVE "</space>",
     ":1: <space>:", "namespaces are not expected"},
    {"<o:space xmlns:o='urn:other' name='s'>" A OBJECTIVE "</o:space>",
     ":1: <space>:", "namespaces are not expected"},
    {WITH("<run xml:seed='3'/>"), ":4: <run>:", "namespaces are not expected"},
};

static const struct bad parameters[] = {
    {PARAMETER("type='integer' min='1' max='2'"), ":4: <parameter>:", "\"name\" was expected"},
    {PARAMETER("name='' type='integer' min='1' max='2'"), ":4: <parameter>:", "\"name\" was exp"},
    {PARAMETER("name='b c' type='integer' min='1' max='2'"), ":4: <parameter>:", "a letter, then"},
    {PARAMETER("name='1b' type='integer' min='1' max='2'"), ":4: <parameter>:", "a letter, then"},
    {PARAMETER("name='b=' type='integer' min='1' max='2'"), ":4: <parameter>:", "a letter, then"},
    {PARAMETER("name='a' type='integer' min='1' max='2'"), ":4: <parameter>:", "is there twice"},
    {PARAMETER("name='b' type='integer&#10;' min='1' max='2'"),
     ":4: <parameter>:", "type: a control character is not expected"},
    {PARAMETER("name='b' type='integer' unit=']: 1&#10;x' min='1' max='2'"),
     ":4: <parameter>:", "unit: a control character is not expected"},
    {PARAMETER("name='b' type='categorical' values='&#x9b;31m'"),
     ":4: <parameter>:", "values: a control character is not expected"},
    {PARAMETER("name='b' min='1' max='2'"), ":4: <parameter>:", "\"type\" was expected"},
    {PARAMETER("name='b' type='float' min='1' max='2'"),
     ":4: <parameter>:", "integer, real, categorical or boolean was expected"},
    {PARAMETER("name='b' type='integer' minimum='1'"), ":4: <parameter>:",
     "unknown attribute \"minimum\"; expected: name, type, unit, values, min, max, step, factor"},
    {PARAMETER("name='b' type='categorical'"), ":4: <parameter>:", "\"values\" was expected"},
    {PARAMETER("name='b' type='categorical' min='1' max='2'"),
     ":4: <parameter>:", "\"values\" was expected"},
    {RANGE(""), ":4: <parameter>:", "values, or min and max, were expected"},
    {RANGE("min='1'"), ":4: <parameter>:", "values, or min and max, were expected"},
    {RANGE("max='1'"), ":4: <parameter>:", "values, or min and max, were expected"},
    {RANGE("min='3' max='2'"), ":4: <parameter>:", "min=3 was expected not to be above max=2"},
    {RANGE("min='one' max='2'"), ":4: <parameter>:", "min=\"one\": an integer was expected"},
    {RANGE("min='1' max=''"), ":4: <parameter>:", "max=\"\": an integer was expected"},
    {RANGE("min='1' max='2.5'"), ":4: <parameter>:", "max=\"2.5\": an integer was expected"},
    {RANGE("min='+1' max='2'"), ":4: <parameter>:", "min=\"+1\": an integer was expected"},
    {RANGE("min='01' max='2'"), ":4: <parameter>:", "min=\"01\": an integer was expected"},
    {RANGE("min='-0' max='2'"), ":4: <parameter>:", "min=\"-0\": an integer was expected"},
    {RANGE("min=' 1' max='2'"), ":4: <parameter>:", "min=\" 1\": an integer was expected"},
    {RANGE("min='0x1' max='2'"), ":4: <parameter>:", "min=\"0x1\": an integer was expected"},
    {RANGE("min='1' max='9223372036854775808'"), ":4: <parameter>:", "an integer was expected"},
    {RANGE("min='1' max='9' step='3'"),
     ":4: <parameter>:", "max=9 is not reached from min=1; 7 is"},
    {RANGE("min='1' max='9' factor='2'"), ":4: <parameter>:", "max=9 is not reached from min=1; 8"},
    {RANGE("min='1' max='9' step='0'"), ":4: <parameter>:", "step=\"0\": an integer from 1 was"},
    {RANGE("min='1' max='9' step='-1'"), ":4: <parameter>:", "step=\"-1\": an integer from 1 was"},
    {RANGE("min='1' max='8' factor='1'"),
     ":4: <parameter>:", "factor=\"1\": an integer from 2 was"},
    {RANGE("min='1' max='8' factor='2' step='1'"), ":4: <parameter>:", "either step or factor was"},
    {RANGE("min='0' max='8' factor='2'"), ":4: <parameter>:", "min was expected to be at least 1"},
    {RANGE("min='-4' max='-1' factor='2'"), ":4: <parameter>:", "min was expected to be at least"},
    {RANGE("min='9223372036854775800' max='9223372036854775807' step='5'"),
     ":4: <parameter>:", "max=9223372036854775807 is not reached"},
    {RANGE("min='3' max='9223372036854775807' factor='3000000000'"), ":4: <parameter>:",
     "max=9223372036854775807 is not reached from min=3; 9000000000 is the last"},
    {RANGE("min='-9223372036854775808' max='9223372036854775807'"),
     ":4: <parameter>:", "at most 100000 values were expected"},
    {RANGE("min='1' max='100001'"), ":4: <parameter>:", "at most 100000 values were expected"},
    {RANGE("values='1 2' min='1'"), ":4: <parameter>:", "either values or min was expected"},
    {RANGE("values='1 2' max='1'"), ":4: <parameter>:", "either values or max was expected"},
    {RANGE("values='1 2' step='1'"), ":4: <parameter>:", "either values or step was expected"},
    {RANGE("values='1 2' factor='2'"), ":4: <parameter>:", "either values or factor was expected"},
    {LIST(""), ":4: <parameter>:", "at least one was expected"},
    {LIST(" \t "), ":4: <parameter>:", "at least one was expected"},
    {PARAMETER("name='r' type='real' min='1' max='1.0000000000002' points='3'"),
     ":4: <parameter>:", "points that differ in 12 digits were expected, not 1 after 1"},
    {LIST("1 3 2"), ":4: <parameter>:", "ascending ones were expected, not 2 after 3"},
    {LIST("1 2 2"), ":4: <parameter>:", "ascending ones were expected, not 2 after 2"},
    {LIST("1,2"), ":4: <parameter>:", "\"1,2\" is no integer"},
    {LIST("1 two"), ":4: <parameter>:", "\"two\" is no integer"},
    {LIST("9223372036854775808"), ":4: <parameter>:", "\"9223372036854775808\" is no integer"},
    {WORDS(""), ":4: <parameter>:", "at least one was expected"},
    {WORDS("on off on"), ":4: <parameter>:", "\"on\" is there twice"},
};

static const struct bad objectives[] = {
    {OBJECTIVE_OF("metric='mean' goal='minimise'"), ":3: <objective>:", "one of probe, command, "},
    {OBJECTIVE_OF("probe='q:lat' metric='mean' command='wall' goal='minimise'"),
     ":3: <objective>:", "one of probe, command, output, json, measure and service was expected"},
    {OBJECTIVE_OF("output='(a)' json='/a' goal='minimise'"), ":3: <objective>:", "one of probe, "},
    {OBJECTIVE_OF("command='wall' metric='mean' goal='minimise'"),
     ":3: <objective>:", "metric was expected with probe alone"},
    {OBJECTIVE_OF("command='wall' field='1' goal='minimise'"),
     ":3: <objective>:", "field was expected with probe alone"},
    {OBJECTIVE_OF("command='time' goal='minimise'"),
     ":3: <objective>:", "command=\"time\": wall, cpu, memory, faults or switches was expected"},
    {OBJECTIVE_OF("service='wall' goal='minimise'"),
     ":3: <objective>:", "service=\"wall\": cpu, memory, faults or switches was expected"},
    {OBJECTIVE_OF("service='cpu' goal='minimise'"),
     ":1: <space>:", "CPU time of services: a <service> was expected"},
    {OBJECTIVE_OF("service='cpu' field='1' goal='minimise'"),
     ":3: <objective>:", "field was expected with probe alone"},
    {OBJECTIVE_OF("output='' goal='minimise'"), ":3: <objective>:", "\"output\" was expected"},
    {OBJECTIVE_OF("output='(a' goal='minimise'"),
     ":3: <objective>:", "output=\"(a\": no regular expression: "},
    {OBJECTIVE_OF("output='ops' goal='minimise'"),
     ":3: <objective>:", "one group in brackets, for the number, was expected, not 0"},
    {OBJECTIVE_OF("output='(o)(ps)' goal='minimise'"), ":3: <objective>:", "expected, not 2"},
    {OBJECTIVE_OF("output='(a&#10;b)' goal='minimise'"), ":3: <objective>:", "control character"},
    {OBJECTIVE_OF("json='results' goal='minimise'"),
     ":3: <objective>:", "json=\"results\": a pointer was expected, as \"/results/0/ops\""},
    {OBJECTIVE_OF("measure='score {b}' goal='minimise'"),
     ":3: <objective>:", "measure: {b}: the space has no such parameter"},
    {OPEN WORDS_OF("x;y") "<objective measure='score {b}' goal='minimise'/>" CLOSE,
     ":3: <objective>:", "{b} can be \"x;y\", which a shell would not take as it is"},
    {WITH("<limit command='wall' at_most='1'/>"),
     ":4: <limit>:", "figures of probes alone, or none of probes, were expected"},
    {OBJECTIVE_OF("command='wall' goal='minimise'/><limit command='memory' at_most='1 MB'"),
     ":3: <limit>:", "a number of bytes, or one with KiB, MiB or GiB, was expected"},
    {OBJECTIVE_OF("command='cpu' goal='minimise'/><objective command='cpu' goal='minimise'"),
     ":3: <objective>:", "CPU time is an objective already"},
    {OBJECTIVE_OF("probe='q:lat' goal='minimise'"), ":3: <objective>:", "\"metric\" was expected"},
    {OBJECTIVE_OF("probe='q:lat' metric='mean'"), ":3: <objective>:", "\"goal\" was expected"},
    {OBJECTIVE_OF("probe='q:lat' metric='mean' goal='minimise' unit='s'"), ":3: <objective>:",
     "unknown attribute \"unit\"; expected: probe, metric, field, command, output"},
    {OBJECTIVE_OF("probe='q:lat' metric='mean' goal='minimize'"),
     ":3: <objective>:", "goal=\"minimize\": maximise or minimise was expected"},
    {OBJECTIVE_OF("probe='q' metric='mean' goal='minimise'"), ":3: <objective>:", "and its type"},
    {OBJECTIVE_OF("probe='@5' metric='mean' goal='minimise'"), ":3: <objective>:", "name or id"},
    {OBJECTIVE_OF("probe=':lat' metric='mean' goal='minimise'"), ":3: <objective>:", "one probe"},
    {OBJECTIVE_OF("probe='+q:lat' metric='mean' goal='minimise'"), ":3: <objective>:", "one probe"},
    {OBJECTIVE_OF("probe='q:lat@off' metric='mean' goal='minimise'"),
     ":3: <objective>:", "one probe"},
    {OBJECTIVE_OF("probe='file=a.c:lat' metric='mean' goal='minimise'"),
     ":3: <objective>:", "one probe"},
    {OBJECTIVE_OF("probe='q:lat,q:tpt' metric='mean' goal='minimise'"),
     ":3: <objective>:", "one probe"},
    {OBJECTIVE_OF("probe='q:' metric='mean' goal='minimise'"), ":3: <objective>:", "lat, tpt"},
    {OBJECTIVE_OF("probe='q:LAT' metric='mean' goal='minimise'"), ":3: <objective>:", "lat, tpt"},
    {OBJECTIVE_OF("probe='q:lat:lat' metric='mean' goal='minimise'"),
     ":3: <objective>:", "lat, tpt"},
    {OBJECTIVE_OF("probe='q*:lat' metric='mean' goal='minimise'"), ":3: <objective>:", "one probe"},
    {OBJECTIVE_OF("probe='q?:lat' metric='mean' goal='minimise'"), ":3: <objective>:", "one probe"},
    {OBJECTIVE_OF("probe='[q]:lat' metric='mean' goal='minimise'"), ":3: <objective>:", "one prob"},
    {OBJECTIVE_OF("probe='q:lat@0' metric='mean' goal='minimise'"), ":3: <objective>:", "a period"},
    {OBJECTIVE_OF("probe='q:lat,r:lat' metric='mean' goal='minimise'"), ":3: <objective>:", "one "},
    {OBJECTIVE_OF("probe='q:lat' metric='median' goal='minimise'"),
     ":3: <objective>:", "metric=\"median\": throughput"},
    {OBJECTIVE_OF("probe='q:lat' metric='p' goal='minimise'"), ":3: <objective>:", "as p50 or p99"},
    {OBJECTIVE_OF("probe='q:lat' metric='p0' goal='minimise'"),
     ":3: <objective>:", "as p50 or p99"},
    {OBJECTIVE_OF("probe='q:lat' metric='p100' goal='minimise'"), ":3: <objective>:", "p50 or p99"},
    {OBJECTIVE_OF("probe='q:lat' metric='mean' field='-1' goal='minimise'"),
     ":3: <objective>:", "field=\"-1\": a whole number of 0 to 255"},
    {OBJECTIVE_OF("probe='q:snapshot' metric='throughput' goal='maximise'"),
     ":3: <objective>:", "\"throughput\": mean, min, max or a quantile"},
    {OBJECTIVE_OF("probe='q:cnt' metric='mean' goal='maximise'"),
     ":3: <objective>:", "throughput, as of any cnt probe, was expected"},
    {OBJECTIVE_OF("probe='q:cnt' metric='max' goal='maximise'"), ":3: <objective>:", "expected"},
};

static const struct bad runs[] = {
    {RUN("runs='2'"), ":4: <run>:", "unknown attribute \"runs\"; expected: trials_per_config"},
    {RUN("trials_per_config='0'"), ":4: <run>:", "a whole number of 1 to 1000 was expected"},
    {RUN("trials_per_config='1001'"), ":4: <run>:", "a whole number of 1 to 1000 was expected"},
    {RUN("trials_per_config='two'"), ":4: <run>:", "a whole number of 1 to 1000 was expected"},
    {RUN("records_per_thread='0'"), ":4: <run>:", "a whole number of 1 to 1000000000 was expected"},
    {RUN("records_per_thread='1000000001'"), ":4: <run>:", "a whole number of 1 to 1000000000"},
    {RUN("seed='-1'"), ":4: <run>:", "seed=\"-1\": a whole number of 0 to"},
    {RUN("seed='9223372036854775808'"), ":4: <run>:", "a whole number of 0 to"},
    {RUN("warmup='-1'"), ":4: <run>:", "warmup=\"-1\": auto, or seconds of 0 to 86400, was"},
    {RUN("warmup='1s'"), ":4: <run>:", "warmup=\"1s\": auto, or seconds of 0 to 86400, was"},
    {RUN("warmup='.5'"), ":4: <run>:", "auto, or seconds of 0 to 86400, was"},
    {RUN("warmup='5.'"), ":4: <run>:", "auto, or seconds of 0 to 86400, was"},
    {RUN("warmup='1e1'"), ":4: <run>:", "auto, or seconds of 0 to 86400, was"},
    {RUN("warmup='nan'"), ":4: <run>:", "auto, or seconds of 0 to 86400, was"},
    {RUN("warmup=''"), ":4: <run>:", "auto, or seconds of 0 to 86400, was"},
    {RUN("startup='0'"), ":4: <run>:", "startup: more than 0 seconds were expected"},
    {RUN("startup='inf'"), ":4: <run>:", "startup=\"inf\": seconds of 0 to 86400 were expected"},
    {RUN("duration='86400.1'"), ":4: <run>:", "seconds of 0 to 86400 were expected"},
    {RUN("duration='10000000000'"), ":4: <run>:", "seconds of 0 to 86400 were expected"},
    {RUN("duration='0'"), ":4: <run>:", "duration: more than 0 seconds were expected"},
    {RUN("least='-1'"), ":4: <run>:", "least=\"-1\": seconds of 0 to 86400 were expected"},
    {RUN("least='3' duration='2'"), ":4: <run>:", "least=3s was expected not to be above"},
    {RUN("warmup='2' duration='2'"), ":4: <run>:", "duration=2s was expected to be longer"},
    {RUN("warmup='60'"), ":4: <run>:", "duration=60s was expected to be longer than warmup=60s"},
    {RUN("threads='b'"), ":4: <run>:", "threads=\"b\": the space has no such parameter"},
    {RUN("threads=''"), ":4: <run>:", "the space has no such parameter"},
    {WITH("<parameter name='b' type='categorical' values='1 2'/>\n<run threads='b'/>"),
     ":5: <run>:", "threads=\"b\": an integer parameter from 1 was expected"},
    {WITH("<parameter name='b' type='integer' min='0' max='2'/>\n<run threads='b'/>"),
     ":5: <run>:", "threads=\"b\": an integer parameter from 1 was expected"},
    {WITH("<heatmap x='a'/>"), ":4: <heatmap>:", "attribute \"y\" was expected"},
    {WITH("<heatmap y='a'/>"), ":4: <heatmap>:", "attribute \"x\" was expected"},
    {WITH("<heatmap x='a' y='a'/>"), ":4: <heatmap>:", "x and y were expected to differ"},
    {WITH("<heatmap x='a' y='b'/>"), ":4: <heatmap>:", "y=\"b\": the space has no such parameter"},
    {WITH("<heatmap x='b' y='a'/>"), ":4: <heatmap>:", "x=\"b\": the space has no such parameter"},
    {WITH("<heatmap x='a' y='a' z='a'/>"),
     ":4: <heatmap>:", "unknown attribute \"z\"; expected: x"},
    {OPEN "<parameter name='a' type='integer' min='1' max='65536'/>"
          "<parameter name='b' type='integer' min='1' max='65536'/>"
          "<parameter name='c' type='integer' min='1' max='257'/>" OBJECTIVE CLOSE,
     ":1: <space>:", "at most 2^40 configurations were expected"},
};

static void check_message(const char *xml, const char *message, const char *where,
                          const char *expected) {
    if (strncmp(message, "bad.xml:", 8) != 0)
        fail_msg("does not begin with the path: %s", message);
    if (!strstr(message, where) || !strstr(message, expected))
        fail_msg("\"%s\" and \"%s\" are not in: %s\n%s", where, expected, message, xml);
    if (strchr(message, '\n'))
        fail_msg("more than one line: %s", message);
}

static void check_bad(const struct bad *cases, size_t count) {
    for (size_t c = 0; c < count; c++) {
        struct spex_space_file *file = (void *)1;
        struct spex_error why = {""};
        int err = spex_space_parse("bad.xml", cases[c].xml, &file, &why);
        if (err != -EINVAL || file)
            fail_msg("%d for:\n%s", err, cases[c].xml);
        check_message(cases[c].xml, why.text, cases[c].where, cases[c].expected);
    }
}

TEST(bad_documents) {
    check_bad(documents, COUNT_OF(documents));
}

TEST(bad_elements) {
    check_bad(elements, COUNT_OF(elements));
}

TEST(bad_parameters) {
    check_bad(parameters, COUNT_OF(parameters));
}

TEST(bad_objectives) {
    check_bad(objectives, COUNT_OF(objectives));
}

TEST(bad_runs) {
    check_bad(runs, COUNT_OF(runs));
}

TEST(too_many_parameters) {
    static char xml[16384];
    size_t length = (size_t)snprintf(xml, sizeof(xml), OPEN OBJECTIVE);
    for (int p = 0; p <= SPEX_PARAMETERS_MAX; p++)
        length += (size_t)snprintf(xml + length, sizeof(xml) - length,
                                   "<parameter name='p%d' type='integer' values='1'/>\n", p);
    snprintf(xml + length, sizeof(xml) - length, "</space>");
    check_bad(&(struct bad){xml, ":67: <parameter>:", "at most 64 parameters were expected"}, 1);
}

/* A space with so many of an element, which are numbered, is one; with one more it is none. */
static void check_most(const char *element, int most, const char *expected) {
    static char xml[1 << 20];
    for (int count = most; count <= most + 1; count++) {
        struct spex_space_file *file = NULL;
        struct spex_error why = {""};
        char where[16];
        size_t length = (size_t)snprintf(xml, sizeof(xml), OPEN A "%s",
                                         strstr(element, "<objective") ? "" : OBJECTIVE);
        for (int e = 0; e < count; e++) {
            length += (size_t)snprintf(xml + length, sizeof(xml) - length, element, e);
            xml[length++] = '\n';
        }
        snprintf(xml + length, sizeof(xml) - length, "</space>");
        int err = spex_space_parse("bad.xml", xml, &file, &why);
        assert_int_equal(err, count > most ? -EINVAL : 0);
        snprintf(where, sizeof(where), ":%d: ", count + 2 + !strstr(element, "<objective"));
        if (err)
            check_message(xml, why.text, where, expected);
        spex_space_free(file);
    }
}

TEST(too_many_of_an_element) {
    check_most("<objective probe='q%d:lat' metric='mean' goal='minimise'/>", SPEX_OBJECTIVES_MAX,
               "<objective>: at most 8 were expected");
    check_most("<limit probe='q%d:lat' metric='mean' at_most='1'/>", SPEX_CRITERIA_MAX - 1,
               "<limit>: at most 16 objectives and limits were expected");
    check_most("<constraint require='$a &lt; %d + 9'/>", SPEX_CONSTRAINTS_MAX,
               "<constraint>: at most 64 were expected");
}

/* The same of a parameter's values, which are numbered, too. */
static void check_most_values(const char *kind, int most, const char *expected) {
    static char xml[1 << 21];
    for (int count = most; count <= most + 1; count++) {
        struct spex_space_file *file = NULL;
        struct spex_error why = {""};
        size_t length = (size_t)snprintf(
            xml, sizeof(xml), OPEN OBJECTIVE "<parameter name='b' type='%s' values='", kind);
        for (int v = 0; v < count; v++)
            length += (size_t)snprintf(xml + length, sizeof(xml) - length, "%d ", v);
        snprintf(xml + length, sizeof(xml) - length, "'/></space>");
        int err = spex_space_parse("bad.xml", xml, &file, &why);
        if (err != (count > most ? -EINVAL : 0))
            fail_msg("%d %s: %d, %s", count, kind, err, why.text);
        if (err)
            check_message("", why.text, ":3: <parameter>: ", expected);
        else
            assert_int_equal(file->space.parameters[0].count, count);
        spex_space_free(file);
    }
}

TEST(too_many_values) {
    check_most_values("categorical", SPEX_CATEGORIES_MAX, "at most 4096 categories were expected");
    check_most_values("integer", SPEX_VALUES_MAX, "at most 100000 values were expected");
    static const struct bad cases[] = {
        {PARAMETER("name='b' type='real' min='1' max='2' points='100001'"),
         ":4: <parameter>:", "at most 100000 values were expected"},
        {PARAMETER("name='b' type='integer' min='1' max='9' points='100001'"),
         ":4: <parameter>:", "at most 100000 values were expected"},
        {PARAMETER("name='b' type='real' min='1' max='2' step='1e-6'"),
         ":4: <parameter>:", "at most 100000 values were expected"},
        {PARAMETER("name='b' type='real' min='1' max='2' step='0'"),
         ":4: <parameter>:", "step=\"0\": a number above 0 was expected"},
        {PARAMETER("name='b' type='real' min='1' max='2' factor='1'"),
         ":4: <parameter>:", "factor=\"1\": a number above 1 was expected"},
        {PARAMETER("name='b' type='real' min='x' max='2'"),
         ":4: <parameter>:", "min=\"x\": a number was expected"},
    };
    check_bad(cases, COUNT_OF(cases));
}

/* Messages stay one line that is cut, however long the names in them are. */
TEST(long_names) {
    static char xml[65536];
    static char name[32768];
    memset(name, 'n', sizeof(name) - 1);
    snprintf(xml, sizeof(xml), "<space name='s'><%s/></space>", name);
    check_bad(&(struct bad){xml, ":1: <nnnnn", ""}, 1);
    snprintf(xml, sizeof(xml), "<space name='s' %s='1'></space>", name);
    check_bad(&(struct bad){xml, ":1: <space>:", "unknown attribute \"nnnnn"}, 1);
}

static void check_file(const char *path, int expected, const char *phrase) {
    struct spex_space_file *file = (void *)1;
    struct spex_error why = {""};
    assert_int_equal(spex_space_read(path, &file, &why), expected);
    assert_null(file);
    if (!strstr(why.text, path) || !strstr(why.text, phrase))
        fail_msg("\"%s\" is not in: %s", phrase, why.text);
}

TEST(bad_files) {
    check_file("missing.xml", -ENOENT, "No such file");
    check_file(".", -EISDIR, "Is a directory");
    scratch_text("bad.xml", "");
    check_file("bad.xml", -EINVAL, ":1: not well-formed");
    check_file("bad.xml/space.xml", -ENOTDIR, "Not a directory");
}

TEST(zero_bytes) {
    static const char inside[] = OPEN A "\0" OBJECTIVE CLOSE;
    static const char behind[] = WITH("") "\0<space/>";
    scratch_write("bad.xml", inside, sizeof(inside) - 1);
    check_file("bad.xml", -EINVAL, ":3: not well-formed");
    scratch_write("bad.xml", behind, sizeof(behind) - 1);
    check_file("bad.xml", -EINVAL, ":6: not well-formed");
}

/* Some of libxml2's errors are printed whatever it is told; not into our progress, though. */
TEST(nothing_printed) {
    static const char *const cases[] = {
        "<?xml version='1.0' encoding='ASCII'?>\n" WITH("<!-- \xff\xff\x7f -->"),
        "<?xml version='1.0' encoding='EUC-JP'?>\n" WITH("<!-- \xff\xff\x7f -->"),
        "<?xml version='1.0' encoding='no such'?>\n" WITH(""),
        "<?xml version='1.0'?>\n" WITH("<a:run/><!-- \xff -->"),
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        scratch_text("bad.xml", cases[c]);
        int old = catch_messages();
        struct spex_space_file *file = NULL;
        struct spex_error why = {""};
        int err = spex_space_read("bad.xml", &file, &why);
        spex_space_free(file);
        expect_no_messages(old);
        if (err != -EINVAL)
            fail_msg("%d for:\n%s", err, cases[c]);
    }
}

TEST(too_large) {
    static char xml[SPEX_XML_BYTES_MAX + 2];
    size_t length = (size_t)snprintf(xml, sizeof(xml), WITH(""));
    memset(xml + length, ' ', sizeof(xml) - length);
    scratch_write("bad.xml", xml, SPEX_XML_BYTES_MAX + 1);
    check_file("bad.xml", -EFBIG, "cannot read bad.xml: at most 1 MiB were expected");
    scratch_write("bad.xml", xml, SPEX_XML_BYTES_MAX);
    struct spex_space_file *file;
    struct spex_error why = {""};
    assert_int_equal(spex_space_read("bad.xml", &file, &why), 0);
    spex_space_free(file);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
