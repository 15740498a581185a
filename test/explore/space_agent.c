/* SPDX-License-Identifier: MIT */
/* What a space says of how a configuration reaches its program: what is taken, and what is refused
 * with the line, the element and what was expected. */
#include <errno.h>

#include "explore/space/space_agent.h"
#include "spaces.h"

/* Elements of an agent are in line 3. */
#define WITH(xml)                                                                                  \
    "<space name='s'><objective probe='q:lat' metric='mean' goal='minimise'/>\n"                   \
    "<parameter name='threads' type='integer' min='0' max='4'/>"                                   \
    "<parameter name='mode' type='categorical' values='fast a;b'/>"                                \
    "<parameter name='a.b-c' type='integer' values='-1 1'/>"                                       \
    "<parameter name='ratio' type='real' values='0.5 1'/>\n" xml "</space>"

TEST(nothing) {
    struct spex_space_file *file = space_of(WITH(""));
    assert_int_equal(file->agent->variable_count, 0);
    assert_int_equal(file->agent->load_count, 0);
    assert_int_equal(file->agent->descriptor, 0);
    assert_null(file->agent->setup.text);
    assert_null(file->agent->teardown.text);
    char *identity = spex_space_identity(file);
    assert_null(strstr(identity, "load"));
    free(identity);
    spex_space_free(file);
}

/* Also before the parameters that it names. */
TEST(everything) {
    static const char xml[] =
        "<space name='s'><load stressor='cpu' workers='{threads}' options='--cpu-load {threads}'/>"
        "<environment name='THREADS' value='{threads}'/><environment name='_E2' value=''/>"
        "<configuration descriptor='3'/><setup command='make {threads} &amp; {a.b-c}'/>"
        "<teardown command='echo \"$SPEX_PARAMETER_MODE\" {{mode}}' timeout='0.5'/>"
        "<load stressor='vm' workers='0'/>"
        "<parameter name='threads' type='integer' min='0' max='4'/>"
        "<parameter name='mode' type='categorical' values='fast a;b'/>"
        "<parameter name='a.b-c' type='integer' values='-1 1'/>"
        "<objective probe='q:lat' metric='mean' goal='minimise'/></space>";
    struct spex_space_file *file = space_of(xml);
    const struct spex_agent *agent = file->agent;
    assert_int_equal(agent->variable_count, 2);
    assert_string_equal(agent->variables[0].name, "THREADS");
    assert_string_equal(agent->variables[0].value, "{threads}");
    assert_string_equal(agent->variables[1].value, "");
    assert_int_equal(agent->descriptor, 3);
    assert_string_equal(agent->setup.text, "make {threads} & {a.b-c}");
    assert_true(agent->setup.timeout_seconds == 60);
    assert_true(agent->teardown.timeout_seconds == 0.5);
    assert_int_equal(agent->load_count, 2);
    assert_string_equal(agent->loads[0].stressor, "cpu");
    assert_string_equal(agent->loads[0].workers, "{threads}");
    assert_string_equal(agent->loads[0].options, "--cpu-load {threads}");
    assert_string_equal(agent->loads[1].options, "");
    char *identity = spex_space_identity(file);
    assert_non_null(strstr(identity, "\nenvironment THREADS={threads}\nenvironment _E2=\n"
                                     "configuration descriptor=3\n"
                                     "setup timeout=60: make {threads} & {a.b-c}\n"
                                     "teardown timeout=0.5: echo \"$SPEX_PARAMETER_MODE\" "
                                     "{{mode}}\n"
                                     "load cpu workers={threads}: --cpu-load {threads}\n"
                                     "load vm workers=0: \n"));
    free(identity);
    spex_space_free(file);
}

TEST(variables_of_parameters) {
    static const char *const cases[][2] = {{"threads", "SPEX_PARAMETER_THREADS"},
                                           {"a.b-c_9Z", "SPEX_PARAMETER_A_B_C_9Z"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char *variable = spex_agent_parameter_variable(cases[c][0]);
        assert_string_equal(variable, cases[c][1]);
        free(variable);
    }
}

TEST(refused) {
    static const char *const cases[][2] = {
        {"<environment value='1'/>", "<environment>: attribute \"name\" was expected"},
        {"<environment name='A'/>", "<environment>: attribute \"value\" was expected"},
        {"<environment name='A' values='1'/>", "unknown attribute \"values\""},
        {"<environment name='1A' value='1'/>", "letters, digits and \"_\" were expected"},
        {"<environment name='A=B' value='1'/>", "letters, digits and \"_\" were expected"},
        {"<environment name='SPEX_OUT' value='1'/>",
         "name=\"SPEX_OUT\": spex itself sets this one"},
        {"<environment name='SPEX_PROBES' value='1'/>", "spex itself"},
        {"<environment name='SPEX_CONFIG' value='1'/>", "spex itself"},
        {"<environment name='A' value='1'/><environment name='A' value='2'/>",
         "\"A\" is there twice"},
        {"<environment name='A' value='{thread}'/>",
         "<environment>: value: {thread}: the space has no such parameter; it has threads, mode"},
        {"<environment name='A' value='&#10;'/>", "value: a control character is not expected"},
        {"<environment name='A' value='1'>x</environment>", "text is not expected"},
        {"<configuration/>", "attribute \"descriptor\" was expected"},
        {"<configuration descriptor='2'/>",
         "<configuration>: descriptor=\"2\": a whole number of 3 to 255 was expected"},
        {"<configuration descriptor='256'/>", "3 to 255"},
        {"<configuration descriptor='{threads}'/>", "3 to 255"},
        {"<configuration descriptor='3'/><configuration descriptor='4'/>", "only one"},
        {"<configuration descriptor='3'>x</configuration>", "text is not expected"},
        {"<configuration descriptor='3'><x/></configuration>", "<x>: not expected inside"},
        {"<setup/>", "<setup>: attribute \"command\" was expected"},
        {"<setup command=''/>", "attribute \"command\" was expected"},
        {"<setup command='a'/><setup command='b'/>", "only one was expected"},
        {"<setup command='a' timeout='0'/>", "timeout=\"0\": seconds, more than 0 and at most"},
        {"<teardown command='a' timeout='1m'/>", "<teardown>: timeout=\"1m\""},
        {"<teardown command='a' timeout='86401'/>", "at most 86400"},
        {"<setup command='echo {x}'/>", "command: {x}: the space has no such parameter"},
        {"<setup command='echo {threads} {mode}'/>",
         "{mode} can be \"a;b\", which a shell would not take as it is: \"$SPEX_PARAMETER_MODE\" "
         "was expected"},
        {"<parameter name='A_B.C' type='integer' values='1'/><teardown command='a'/>",
         "parameters \"a.b-c\" and \"A_B.C\" are both SPEX_PARAMETER_A_B_C to a command"},
        {"<load workers='1'/>", "<load>: attribute \"stressor\" was expected"},
        {"<load stressor='cpu'/>", "attribute \"workers\" was expected"},
        {"<load stressor='-cpu' workers='1'/>", "the name of a stressor"},
        {"<load stressor='c pu' workers='1'/>", "the name of a stressor"},
        {"<load stressor='cpu' workers='-1'/>",
         "workers=\"-1\": 0 to 4096, or an integer parameter in braces"},
        {"<load stressor='cpu' workers='4097'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='threads'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='1{threads}'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='xthreadsx'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='{{threads}}'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='{mode}'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='{ratio}'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='{a.b-c}'/>", "0 to 4096"},
        {"<load stressor='cpu' workers='{n}'/>", "workers: {n}: the space has no such parameter"},
        {"<load stressor='cpu' workers='1' options='{n}'/>", "options: {n}: the space has no"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_space_file *file;
        struct spex_error why = {""};
        char xml[1024];
        snprintf(xml, sizeof(xml), WITH("%s"), cases[c][0]);
        assert_int_equal(spex_space_parse("bad.xml", xml, &file, &why), -EINVAL);
        assert_null(file);
        if (strncmp(why.text, "bad.xml:3: <", 12) != 0 || !strstr(why.text, cases[c][1]))
            fail_msg("%s: %s", cases[c][0], why.text);
    }
}

/* Of the first two, too. */
TEST(variables_of_commands_differ) {
    struct spex_space_file *file;
    struct spex_error why = {""};
    static const char xml[] =
        "<space name='s'><objective probe='q:lat' metric='mean' goal='minimise'/>"
        "<parameter name='a-b' type='integer' values='1'/>"
        "<parameter name='a_b' type='integer' values='1'/><setup command='true'/></space>";
    assert_int_equal(spex_space_parse("bad.xml", xml, &file, &why), -EINVAL);
    if (!strstr(why.text, "parameters \"a-b\" and \"a_b\" are both SPEX_PARAMETER_A_B"))
        fail_msg("%s", why.text);
}

TEST(too_many) {
    static const struct {
        const char *element;
        int most;
    } cases[] = {{"<environment name='A%d' value='1'/>", SPEX_AGENT_VARIABLES_MAX},
                 {"<load stressor='cpu' workers='1' options='%d'/>", SPEX_AGENT_LOADS_MAX}};
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (int more = 0; more < 2; more++) {
            char xml[8192] = "<space name='s'><parameter name='a' type='integer' values='1'/>"
                             "<objective probe='q:lat' metric='mean' goal='minimise'/>";
            struct spex_space_file *file;
            struct spex_error why = {""};
            for (int e = 0; e < cases[c].most + more; e++) {
                size_t length = strlen(xml);
                snprintf(xml + length, sizeof(xml) - length, cases[c].element, e);
            }
            strcat(xml, "</space>");
            assert_int_equal(spex_space_parse("many", xml, &file, &why), more ? -EINVAL : 0);
            if (more)
                assert_non_null(strstr(why.text, "at most"));
            spex_space_free(file);
        }
}
