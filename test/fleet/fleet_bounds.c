/* SPDX-License-Identifier: MIT */
/* Messages of a fleet with one part exchanged: which are still taken, at and beyond each bound, and
 * with which words the others are refused. */
#define _GNU_SOURCE
#include "../check.h"

#include "explore/space/space_agent.h"
#include "fleet/decide/message.h"
#include "fleet/lead/kernel_message.h"
#include "fleet/trials/trial_message.h"

/* The part of the good message, what stands in its place, and how the error begins; NULL: it is
 * taken. */
struct change {
    const char *part, *by, *refused;
};

static struct spex_space_file *file;
static struct spex_store_fleet of = {"00000000000000aa", ""};

static char *changed(const char *text, const char *part, const char *by) {
    const char *at = strstr(text, part);
    char *made = NULL;
    if (!at)
        fail_msg("%s is not in %s", part, text);
    assert_true(asprintf(&made, "%.*s%s%s", (int)(at - text), text, by, at + strlen(part)) >= 0);
    return made;
}

/* A text of so many bytes. */
static const char *bytes_of(size_t count) {
    static char text[4][5000];
    static unsigned next;
    char *made = text[next++ % 4];
    memset(made, 'x', count);
    made[count] = '\0';
    return made;
}

static void check_all(int (*read)(const char *text, struct spex_error *error), const char *good,
                      const struct change *changes, size_t count) {
    for (size_t c = 0; c < count; c++) {
        struct spex_error error = {""};
        char *text = changed(good, changes[c].part, changes[c].by);
        int err = read(text, &error);
        const char *expected = changes[c].refused ? changes[c].refused : "";
        bool said = *expected ? strncmp(error.text, expected, strlen(expected)) == 0 : !*error.text;
        if (err != (changes[c].refused ? -22 : 0) || !said)
            fail_msg("%.200s: %d \"%s\" and not \"%s\"", changes[c].by, err, error.text, expected);
        free(text);
    }
}

static int report_read(const char *text, struct spex_error *error) {
    struct spex_fleet_report report;
    int err = spex_fleet_report_read(text, strlen(text), &report, error);
    spex_fleet_report_free(&report);
    return err;
}

#define WHOLE(name) name ": a whole number was expected"
#define UP_TO(most) "a number from 0 to " most ", or null, was expected"

TEST(reports) {
    static const char good[] =
        "{\"format\":1,\"agent\":1,\"desired\":2,\"probes\":[\"a:lat\",\"b:lat\",\"c:lat\",\"d:"
        "lat\",\"e:lat\"],"
        "\"instances\":[{\"instance\":\"1.2\",\"program\":\"p\",\"response\":3,\"throughput\":4,"
        "\"budget\":0.5,\"here\":\"f1\",\"on\":\"30\",\"costs\":[6,7],\"rates\":[8,9],\"why\":"
        "\"w\"}]}";
    char long_program[80], too_long_program[80], long_why[300], too_long_why[300], long_probe[320],
        too_long_probe[320];
    snprintf(long_program, sizeof(long_program), "\"%s\"", bytes_of(63));
    snprintf(too_long_program, sizeof(too_long_program), "\"%s\"", bytes_of(64));
    snprintf(long_why, sizeof(long_why), "\"%s\"", bytes_of(255));
    snprintf(too_long_why, sizeof(too_long_why), "\"%s\"", bytes_of(256));
    snprintf(long_probe, sizeof(long_probe), "\"%s\"", bytes_of(287));
    snprintf(too_long_probe, sizeof(too_long_probe), "\"%s\"", bytes_of(288));
    const struct change changes[] = {
        {"\"agent\":1", "\"agent\":0", NULL},
        {"\"agent\":1", "\"agent\":1.0", WHOLE("agent")},
        {"\"agent\":1", "\"agent\":-1", WHOLE("agent")},
        {"\"desired\":2", "\"desired\":0", NULL},
        {"\"desired\":2", "\"desired\":\"2\"", WHOLE("desired")},
        {"\"1.2\"", "\"0.2\"", "instance: PROCESS.LOADED was expected"},
        {"\"1.2\"", "\"2147483647.0\"", NULL},
        {"\"1.2\"", "\"2147483648.0\"", "instance: PROCESS.LOADED was expected"},
        {"\"1.2\"", "\"1.-1\"", "instance: PROCESS.LOADED was expected"},
        {"\"1.2\"", "\"1.\"", "instance: PROCESS.LOADED was expected"},
        {"\"1.2\"", "\".2\"", "instance: PROCESS.LOADED was expected"},
        {"\"1.2\"", "\"12\"", "instance: PROCESS.LOADED was expected"},
        {"\"1.2\"", "12", "instance: PROCESS.LOADED was expected"},
        {"\"1.2\"", "\"01.2\"", "instance: PROCESS.LOADED was expected"},
        {"\"p\"", "\"\"", NULL},
        {"\"p\"", long_program, NULL},
        {"\"p\"", too_long_program, "program: a text of less than 64 bytes was expected"},
        {"\"p\"", "7", "program: a text of less than 64 bytes was expected"},
        {"\"w\"", long_why, NULL},
        {"\"w\"", too_long_why, "why: a text of less than 256 bytes was expected"},
        {"\"a:lat\"", long_probe, NULL},
        {"\"a:lat\"", too_long_probe, "probes: the name of a probe was expected"},
        {"\"a:lat\"", "\"\"", "probes: the name of a probe was expected"},
        {"\"a:lat\"", "\"b:lat\"", "probes: each was expected once"},
        {"\"response\":3", "\"response\":1e6", NULL},
        {"\"response\":3", "\"response\":0", NULL},
        {"\"response\":3", "\"response\":1000001", UP_TO("1e+06")},
        {"\"response\":3", "\"response\":-0.1", UP_TO("1e+06")},
        {"\"response\":3", "\"response\":\"3\"", UP_TO("1e+06")},
        {"\"throughput\":4", "\"throughput\":1e9", NULL},
        {"\"throughput\":4", "\"throughput\":1.1e9", UP_TO("1e+09")},
        {"\"budget\":0.5", "\"budget\":1", NULL},
        {"\"budget\":0.5", "\"budget\":1.1", UP_TO("1")},
        {"\"f1\"", "\"f2\"", "a set of 5 probes was expected"},
        {"\"f1\"", "\"f\"", "a set of 5 probes was expected"},
        {"\"f1\"", "\"f10\"", "a set of 5 probes was expected"},
        {"\"f1\"", "\"F1\"", "a set of 5 probes was expected"},
        {"[6,7]", "[1e6,null]", NULL},
        {"[6,7]", "[1e7,0]", UP_TO("1e+06")},
        {"[6,7]", "[6]", UP_TO("1e+06")},
        {"[6,7]", "[6,7,8]", "costs: one for each probe that is on was expected"},
        {"[8,9]", "[1e12,0]", NULL},
        {"[8,9]", "[1e13,0]", UP_TO("1e+12")},
        {"[8,9]", "[8,9,10]", "rates: one for each probe that is on was expected"},
        {"\"format\":1", "\"format\":2", "a message of format 1 was expected"},
        {"\"format\":1,", "", "a message of format 1 was expected"},
        {"\"agent\":1", "\"agent\":1,\"agent\":1", "JSON was expected: duplicate object key"},
        {"\"a:lat\"", "\"\\u001b[2J\"", "probes: the name of a probe was expected"},
        {"[\"a:lat\",\"b:lat\",\"c:lat\",\"d:lat\",\"e:lat\"]", "{}",
         "probes: an array of at most 1024 was expected"},
        {"[6,7]", "[-1,7]", UP_TO("1e+06")},
        {"[6,7]", "[\"6\",7]", UP_TO("1e+06")},
        {"\"w\"", "\"\\n\"", "why: a text of less than 256 bytes was expected"},
        {",\"why\":\"w\"", "", "why: a text of less than 256 bytes was expected"},
        {",\"rates\":[8,9]", "", UP_TO("1e+12")},
        {"\"instances\":[{", "\"instances\":[7,{", "instance: PROCESS.LOADED was expected"},
        {"\"instances\":[", "\"instances\":7,\"others\":[",
         "instances: an array of at most 1024 was expected"},
    };
    check_all(report_read, good, changes, COUNT_OF(changes));
}

/* As many probes and instances as there may be, and one more. */
TEST(large_reports) {
    for (size_t more = 0; more < 2; more++) {
        struct spex_error error;
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);
        fprintf(stream, "{\"format\":1,\"agent\":1,\"desired\":0,\"probes\":[\"0:lat\"");
        for (size_t p = 1; p < SPEX_FLEET_PROBES_MAX + more; p++)
            fprintf(stream, ",\"%zu:lat\"", p);
        fprintf(stream, "],\"instances\":[]}");
        fclose(stream);
        assert_int_equal(report_read(text, &error), more ? -22 : 0);
        if (more)
            assert_string_equal(error.text, "probes: an array of at most 1024 was expected");
        free(text);
        stream = open_memstream(&text, &size);
        fprintf(stream, "{\"format\":1,\"number\":1,\"probes\":[],\"instances\":[{\"instance\":\"1."
                        "1\",\"on\":\"\"}");
        for (size_t i = 1; i < SPEX_FLEET_HOST_INSTANCES_MAX + more; i++)
            fprintf(stream, ",{\"instance\":\"%zu.1\",\"on\":\"\"}", i);
        fprintf(stream, "]}");
        fclose(stream);
        struct spex_fleet_desired desired;
        assert_int_equal(spex_fleet_desired_read(text, size, &desired, &error), more ? -22 : 0);
        assert_int_equal(desired.count, more ? 0 : SPEX_FLEET_HOST_INSTANCES_MAX);
        if (more)
            assert_string_equal(error.text, "instances: an array of at most 1024 was expected");
        spex_fleet_desired_free(&desired);
        free(text);
    }
}

static int result_read(const char *text, struct spex_error *error) {
    struct spex_trial_result result;
    int err = spex_trial_result_read(text, strlen(text), &file->space, &of, &result, error);
    if (!err)
        spex_trial_result_free(&result);
    return err;
}

#define TEXT    "a printable text was expected"
#define METRIC  "metrics: numbers of a probe were expected"
#define USAGE   "usage: numbers were expected"
#define LOAD    "loads: a stressor, its workers and usage were expected"
#define ENDED   "ok, status, steady: how the trial ended was expected"
#define TRIAL   "trial: two whole numbers were expected"
#define LEVELS  "levels: a configuration of the space was expected"
#define MACHINE "machine: a text of 1 to 255 bytes was expected"

TEST(results) {
    static const char good[] = "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"0\","
                               "\"trial\":[7,2],\"levels\":[2],"
                               "\"machine\":[\"h\",\"6.1\",\"c\",\"2\",\"8\",\"b\",\"s\"],\"ok\":"
                               "true,\"status\":\"ok\",\"measured\":[[1,2]],"
                               "\"used\":3,\"lost\":4,\"seconds\":5,\"steady\":true,\"usage\":[6,7,"
                               "true,8,9,10,11,12,13,14,15,16],"
                               "\"loads\":[[\"cpu\",2,null]],\"note\":\"n\",\"metrics\":[[9,-1,1,0,"
                               "\"work\",\"lib\",5,1,2,3,4,5,6,7,8,9]]}";
    char note[4200], long_note[4200], host[300], long_host[300];
    snprintf(note, sizeof(note), "\"%s\"", bytes_of(4095));
    snprintf(long_note, sizeof(long_note), "\"%s\"", bytes_of(4096));
    snprintf(host, sizeof(host), "\"%s\"", bytes_of(255));
    snprintf(long_host, sizeof(long_host), "\"%s\"", bytes_of(256));
    const struct change changes[] = {
        {"[7,2]", "[1,0]", NULL},
        {"[7,2]", "[0,0]", TRIAL},
        {"[7,2]", "[7,2147483647]", NULL},
        {"[7,2]", "[7,2147483648]", TRIAL},
        {"[7,2]", "[7,-1]", TRIAL},
        {"[7,2]", "[7,2,3]", TRIAL},
        {"[7,2]", "[7,true]", TRIAL},
        {"\"levels\":[2]", "\"levels\":[0]", NULL},
        {"\"levels\":[2]", "\"levels\":[3]", LEVELS},
        {"\"levels\":[2]", "\"levels\":[-1]", LEVELS},
        {"\"levels\":[2]", "\"levels\":[2,0]", LEVELS},
        {"\"levels\":[2]", "\"levels\":[true]", LEVELS},
        {"\"levels\":[2]", "\"levels\":2", LEVELS},
        {"\"h\"", host, NULL},
        {"\"h\"", long_host, MACHINE},
        {"\"h\"", "\"\"", MACHINE},
        {"\"h\"", "7", MACHINE},
        {"\"h\",", "", "machine: 7 texts were expected"},
        {"0000aa", "0000ab", "exploration: another one was expected"},
        {"0000aa", "0000a", "exploration: 16 hexadecimal digits were expected"},
        {"0000aa", "0000ag", "exploration: 16 hexadecimal digits were expected"},
        {"0000aa", "0000aaa", "exploration: a text of less than 17 bytes was expected"},
        {"\"ok\":true,", "", ENDED},
        {"\"ok\":true", "\"ok\":1", ENDED},
        {"\"ok\":true", "\"ok\":false", ENDED},
        {"\"status\":\"ok\"", "\"status\":\"no\"", ENDED},
        {"\"status\":\"ok\"", "\"status\":null", TEXT},
        {"\"note\":\"n\"", "\"note\":\"\\u001b[2J\"", TEXT},
        {"\"steady\":true", "\"steady\":1", ENDED},
        {"\"metrics\":", "\"metrics\":null,\"others\":", "metrics: an array was expected"},
        {"\"loads\":[[", "\"loads\":null,\"others\":[[", "loads: an array was expected"},
        {"}", "", "JSON was expected: "},
        {"\"steady\":true", "\"steady\":false", NULL},
        {"\"steady\":true", "\"steady\":null", ENDED},
        {"\"n\"", note, NULL},
        {"\"n\"", long_note, TEXT},
        {"\"n\"", "\"\"", TEXT},
        {"\"n\"", "\"\\n\"", TEXT},
        {"\"n\"", "null", NULL},
        {"\"note\":\"n\",", "", NULL},
        {"[[1,2]]", "[[1,null]]", NULL},
        {"[[1,2]]", "[[-1,0]]", NULL},
        {"[[1,2]]", "[[1,-0.1]]", "measured: a value with its error was expected"},
        {"[[1,2]]", "[[null,1]]", "measured: a value with its error was expected"},
        {"[[1,2]]", "[[1,true]]", "a number or null was expected"},
        {"[[1,2]]", "[[\"1\",2]]", "a number or null was expected"},
        {"[[1,2]]", "[]", "measured: a value for each criterion was expected"},
        {"[[1,2]]", "[[1,2],[1,2]]", "measured: a value for each criterion was expected"},
        {"[[1,2]]", "{}", "measured: a value for each criterion was expected"},
        {"\"used\":3", "\"used\":0", NULL},
        {"\"used\":3", "\"used\":-1", WHOLE("used")},
        {"\"lost\":4", "\"lost\":0", NULL},
        {"\"lost\":4", "\"lost\":0.5", WHOLE("lost")},
        {"\"seconds\":5", "\"seconds\":0", NULL},
        {"\"seconds\":5", "\"seconds\":-1", "seconds: how long it was measured was expected"},
        {"\"seconds\":5", "\"seconds\":null", "seconds: how long it was measured was expected"},
        {"[6,7,true,8", "[0,0,false,0", NULL},
        {"[6,7,true,8", "[6,7,true,-1", USAGE},
        {"[6,7,true,8", "[6,7,true,0.5", USAGE},
        {"[6,7,true,8", "[6,7,8", USAGE},
        {"[6,7,true,8", "[6,7,8,8", USAGE},
        {"[6,7,true,8", "[null,7,true,8", USAGE},
        {"[6,7,true,8", "[6,null,true,8", USAGE},
        {"15,16]", "15,16,17]", USAGE},
        {"15,16]", "15]", USAGE},
        {"15,16]", "15,-16]", USAGE},
        {"\"usage\":[6,7,true,8,9,10,11,12,13,14,15,16]", "\"usage\":null", NULL},
        {"\"usage\":[6,7,true,8,9,10,11,12,13,14,15,16]", "\"usage\":0", USAGE},
        {"\"cpu\",2", "\"cpu\",0", NULL},
        {"\"cpu\",2", "\"cpu\",65535", NULL},
        {"\"cpu\",2", "\"cpu\",65536", LOAD},
        {"\"cpu\",2", "\"cpu\",-1", LOAD},
        {"\"cpu\",2", "\"cpu\",2,3", LOAD},
        {"\"cpu\",2", "\"\",2", TEXT},
        {"\"cpu\",2,null", "\"cpu\",2,1", USAGE},
        {"[[\"cpu\",2,null]]", "[]", NULL},
        {"[[\"cpu\",2,null]]", "{}", "loads: an array was expected"},
        {"[9,-1,1,0", "[0,0,2,65535", NULL},
        {"[9,-1,1,0", "[65535,2147483647,1,0", NULL},
        {"[9,-1,1,0", "[65536,-1,1,0", METRIC},
        {"[9,-1,1,0", "[-1,-1,1,0", METRIC},
        {"[9,-1,1,0", "[9,-2,1,0", METRIC},
        {"[9,-1,1,0", "[9,2147483648,1,0", METRIC},
        {"[9,-1,1,0", "[9,-1,0,0", METRIC},
        {"[9,-1,1,0", "[9,-1,3,0", METRIC},
        {"[9,-1,1,0", "[9,-1,4294967297,0", METRIC},
        {"[9,-1,1,0", "[1.0,-1,1,0", METRIC},
        {"[9,-1,1,0", "[9,-1,1,-1", METRIC},
        {"[9,-1,1,0", "[9,-1,1,65536", METRIC},
        {"[9,-1,1,0", "[9,-1,1,0,0", METRIC},
        {"\"lib\",5,", "\"lib\",0,", NULL},
        {"\"lib\",5,", "\"lib\",-1,", METRIC},
        {"\"lib\",5,", "null,5,", NULL},
        {"\"lib\",5,", "7,5,", TEXT},
        {"\"work\",", "null,", NULL},
        {"\"work\",", "\"\",", TEXT},
        {",5,1,2,3", ",5,null,2,3", "metrics: a count was expected"},
        {",5,1,2,3", ",5,1,null,null", NULL},
        {",5,1,2,3", ",5,1,2,\"\"", "a number or null was expected"},
        {"8,9]]", "8,true]]", "a number or null was expected"},
        {"\"metrics\":[[9", "\"metrics\":[[9,-1,1,0,null,null,5,1,2,3,4,5,6,7,8,9],[9",
         "metrics: each was expected once"},
        {"\"metrics\":[[9", "\"metrics\":[[9,-1,1,1,null,null,5,1,2,3,4,5,6,7,8,9],[9", NULL},
        {"\"metrics\":[[9", "\"metrics\":[[9,-1,2,0,null,null,5,1,2,3,4,5,6,7,8,9],[9", NULL},
        {"\"metrics\":[[9", "\"metrics\":[[8,-1,1,0,null,null,5,1,2,3,4,5,6,7,8,9],[9", NULL},
        {"\"metrics\":[", "\"other\":[", NULL},
    };
    check_all(result_read, good, changes, COUNT_OF(changes));
    struct spex_error error;
    char loads[40 * (SPEX_AGENT_LOADS_MAX + 1)] = "[\"cpu\",2,null]", *text;
    for (size_t l = 2; l <= SPEX_AGENT_LOADS_MAX + 1; l++) {
        strcat(loads, ",[\"vm\",1,null]");
        text = changed(good, "[\"cpu\",2,null]", loads);
        assert_int_equal(result_read(text, &error), l <= SPEX_AGENT_LOADS_MAX ? 0 : -22);
        free(text);
    }
    /* Of another kernel's version. */
    text = changed(good, "6.1", "6.2");
    assert_int_equal(result_read(text, &error), -22);
    assert_non_null(strstr(error.text, "machine: one of class "));
    free(text);
}

static int kernels_read(const char *text, struct spex_error *error) {
    struct spex_kernel_message message;
    int err = spex_kernel_message_read(text, strlen(text), &message, error);
    spex_kernel_message_free(&message);
    return err;
}

#define ROWS  "rows: a run, a weight, a time and values were expected"
#define NAME  "parameters: the name of one was expected"
#define PATHS "path: a text of 1 to 4095 bytes was expected"

TEST(kernels) {
    static const char good[] =
        "{\"format\":1,\"agent\":5,\"machine\":[\"h\",\"6.1\",\"c\",\"2\",\"8\",\"b\",\"s\"],"
        "\"lost\":3,"
        "\"kernels\":[{\"path\":\"a\",\"parameters\":[\"n\"],\"rows\":[0,1,1000,2]}]}";
    char path[4200], long_path[4200], name[300], long_name[300];
    snprintf(path, sizeof(path), "\"path\":\"%s\"", bytes_of(4095));
    snprintf(long_path, sizeof(long_path), "\"path\":\"%s\"", bytes_of(4096));
    snprintf(name, sizeof(name), "\"%s\"", bytes_of(255));
    snprintf(long_name, sizeof(long_name), "\"%s\"", bytes_of(256));
    const struct change changes[] = {
        {"\"agent\":5", "\"agent\":-5", WHOLE("agent")},
        {"\"lost\":3", "\"lost\":-3", WHOLE("lost")},
        {"\"h\",", "", "machine: 7 texts were expected"},
        {"\"path\":\"a\"", path, NULL},
        {"\"path\":\"a\"", long_path, PATHS},
        {"\"path\":\"a\"", "\"path\":\"\"", PATHS},
        {"\"path\":\"a\"", "\"path\":\"\\u001b\"", PATHS},
        {"\"n\"", name, NULL},
        {"\"n\"", long_name, NAME},
        {"\"n\"", "\"\"", NAME},
        {"\"n\"", "\"\\n\"", NAME},
        {"\"n\"", "7", NAME},
        {"[\"n\"]", "{}", "parameters: an array of at most 8 was expected"},
        {"[\"n\"]", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]",
         "parameters: an array of at most 8 was expected"},
        {"[0,1,1000,2]", "[]", NULL},
        {"[0,1,1000,2]", "[4294967295,1e16,1,0]", NULL},
        {"[0,1,1000,2]", "[4294967296,1,1000,2]", ROWS},
        {"[0,1,1000,2]", "[-1,1,1000,2]", ROWS},
        {"[0,1,1000,2]", "[0,0,1000,2]", ROWS},
        {"[0,1,1000,2]", "[0,1.1e16,1000,2]", ROWS},
        {"[0,1,1000,2]", "[0,1,-1,2]", ROWS},
        {"[0,1,1000,2]", "[0,1,1e22,2]", ROWS},
        {"[0,1,1000,2]", "[0,1,1000,-1]", ROWS},
        {"[0,1,1000,2]", "[0,1,1000,null]", ROWS},
        {"[0,1,1000,2]", "[0,1,1000]", "rows: up to 4096 of 4 numbers each were expected"},
        {"[0,1,1000,2]", "{}", "rows: up to 4096 of 4 numbers each were expected"},
        {"[0,1,1000,2]", "[0,1,true,2]", ROWS},
        {"[0,1,1000,2]", "[\"0\",1,1000,2]", ROWS},
        {",\"rows\":[0,1,1000,2]", "", "rows: up to 4096 of 4 numbers each were expected"},
        {",\"parameters\":[\"n\"]", "", "parameters: an array of at most 8 was expected"},
        {"\"path\":\"a\"", "\"path\":7", PATHS},
        {"\"kernels\":[", "\"kernels\":[null,", PATHS},
        {"\"kernels\":[", "\"kernels\":{},\"others\":[",
         "kernels: an array of at most 16 was expected"},
    };
    check_all(kernels_read, good, changes, COUNT_OF(changes));
}

static int begin(void **state) {
    static const char xml[] =
        "<space name=\"test\"><parameter name=\"a\" type=\"integer\" values=\"1 2 4\"/>"
        "<objective probe=\"work:tpt\" metric=\"throughput\" goal=\"maximise\"/>"
        "<run duration=\"5\"/></space>";
    struct spex_error error;
    struct spex_circumstances is = {{(char[]){"any"}, (char[]){"6.1"}, (char[]){"c"}, (char[]){"2"},
                                     (char[]){"8"}, (char[]){"b"}, (char[]){"s"}}};
    (void)state;
    spex_circumstances_class(&is, of.class);
    return spex_space_parse("test", xml, &file, &error);
}

static int end(void **state) {
    (void)state;
    spex_space_free(file);
    return 0;
}

int main(void) {
    return tests_run(begin, end);
}
