/* SPDX-License-Identifier: MIT */
/* Any file as a space: refused with one line, or a space that keeps every promise, whose text gives
 * it again and whose configurations a program can read. */
#include <errno.h>
#include <string.h>

#include <spex/config.h>

#include <libxml/parser.h>
#include <libxml/relaxng.h>

#include "explore/space/config_file.h"
#include "explore/space/space.h"
#include "explore/space/space_parameter.h"
#include "explore/space/space_values.h"
#include "explore/trial/agent_filled.h"
#include "memory_file.h"

static void check_parameter(const struct spex_parameter *parameter) {
    FUZZ_CHECK(*parameter->name && parameter->unit);
    FUZZ_CHECK(parameter->default_level < parameter->count);
    FUZZ_CHECK(parameter->count >= 1 && parameter->count <= SPEX_VALUES_MAX);
    for (size_t v = 0; v < parameter->count; v++) {
        FUZZ_CHECK(*parameter->values[v].text);
        if (spex_parameter_ordered(parameter) && v > 0)
            FUZZ_CHECK(parameter->values[v].number >= parameter->values[v - 1].number &&
                       parameter->values[v].position >= parameter->values[v - 1].position);
        FUZZ_CHECK(parameter->values[v].position >= 0 && parameter->values[v].position <= 1);
    }
}

static void check_space(const struct spex_space_file *file) {
    const struct spex_space *space = &file->space;
    FUZZ_CHECK(space->parameter_count >= 1 && space->parameter_count <= SPEX_PARAMETERS_MAX);
    for (size_t p = 0; p < space->parameter_count; p++)
        check_parameter(&space->parameters[p]);
    FUZZ_CHECK(*space->name && space->objective_count >= 1 &&
               space->objective_count <= space->criterion_count);
    for (size_t c = 0; c < space->criterion_count; c++)
        FUZZ_CHECK(space->criteria[c].probe && space->criteria[c].metric &&
                   spex_criterion_is_limit(&space->criteria[c]) == (c >= space->objective_count));
    FUZZ_CHECK(spex_space_configurations(space) >= 1);
    FUZZ_CHECK(spex_space_configurations(space) <= SPEX_SPACE_CONFIGURATIONS_MAX);
    FUZZ_CHECK(space->threads_parameter <= space->parameter_count);
    FUZZ_CHECK(file->heatmap_x <= space->parameter_count);
    FUZZ_CHECK((file->heatmap_x < space->parameter_count) ==
               (file->heatmap_y < space->parameter_count));
    FUZZ_CHECK(space->rules.trials_per_config >= 1 && space->rules.records_per_thread >= 1);
    FUZZ_CHECK(space->rules.startup_seconds > 0 && space->rules.duration_seconds > 0);
    FUZZ_CHECK(space->rules.duration_seconds > space->rules.warmup_seconds);
    size_t first[SPEX_PARAMETERS_MAX] = {0};
    FUZZ_CHECK(spex_space_threads(space, first) >= 1);
}

static xmlRelaxNG *schema_read(void) {
    xmlRelaxNGParserCtxt *parser = xmlRelaxNGNewParserCtxt(SCHEMA);
    FUZZ_CHECK(parser);
    xmlRelaxNG *schema = xmlRelaxNGParse(parser);
    FUZZ_CHECK(schema);
    xmlRelaxNGFreeParserCtxt(parser);
    return schema;
}

/* What we take the published schema takes, too. */
static void check_schema(const char *text) {
    static xmlRelaxNG *schema;
    if (!schema)
        schema = schema_read();
    xmlDoc *document = xmlReadMemory(text, (int)strlen(text), "space", NULL,
                                     XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    xmlRelaxNGValidCtxt *validation = xmlRelaxNGNewValidCtxt(schema);
    FUZZ_CHECK(document && validation);
    if (xmlRelaxNGValidateDoc(validation, document) != 0) {
        fprintf(stderr, "the schema refuses:\n%s\n", text);
        FUZZ_CHECK(false);
    }
    xmlRelaxNGFreeValidCtxt(validation);
    xmlFreeDoc(document);
}

static void check_again(const struct spex_space_file *file) {
    struct spex_space_file *again;
    struct spex_error why;
    FUZZ_CHECK(spex_space_parse("stored", file->xml, &again, &why) == 0);
    char *identity = spex_space_identity(file);
    char *second = spex_space_identity(again);
    FUZZ_CHECK(identity && second && strcmp(identity, second) == 0);
    free(identity);
    free(second);
    spex_space_free(again);
}

static void check_configuration(const struct spex_space *space, size_t *levels) {
    struct spex_config *config;
    struct spex_error why;
    const char *path = memory_file(NULL, 0);
    FUZZ_CHECK(spex_config_write(path, space, levels, &why) == 0);
    FUZZ_CHECK(spex_config_read(path, &config, why.text, sizeof(why.text)) == 0);
    for (size_t p = 0; p < space->parameter_count; p++) {
        const char *text = spex_config_text(config, space->parameters[p].name);
        FUZZ_CHECK(text && strcmp(text, space->parameters[p].values[levels[p]].text) == 0);
    }
    spex_config_free(config);
}

/* What has been taken can be filled, whatever applies: nothing is named that there is not. */
static void check_agent(const struct spex_space_file *file, size_t *levels) {
    char *argv[] = {(char *)(uintptr_t) "program", NULL};
    struct spex_agent_filled filled;
    struct spex_error why;
    FUZZ_CHECK(spex_agent_fill(file, argv, levels, &filled, &why) == 0);
    for (size_t l = 0; l < filled.load_count; l++)
        FUZZ_CHECK(filled.loads[l].workers <= SPEX_LOAD_WORKERS_MAX);
    spex_agent_filled_free(&filled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_space_file *file;
    struct spex_error why = {""};
    int err = spex_space_read(memory_file(data, size), &file, &why);
    if (err) {
        FUZZ_CHECK(!file && (err == -EINVAL || err == -EFBIG));
        FUZZ_CHECK(*why.text && !strchr(why.text, '\n'));
        return 0;
    }
    size_t levels[SPEX_PARAMETERS_MAX] = {0};
    check_space(file);
    check_again(file);
    check_schema(file->xml);
    check_configuration(&file->space, levels);
    check_agent(file, levels);
    for (size_t p = 0; p < file->space.parameter_count; p++)
        levels[p] = file->space.parameters[p].count - 1;
    check_configuration(&file->space, levels);
    check_agent(file, levels);
    spex_space_free(file);
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        "<?xml version='1.0' encoding='UTF-8'?>\n<!-- a -->\n<space name='sqlite'>\n"
        "<parameter name='cache' type='integer' unit='MB' min='2' max='16' factor='2'/>\n"
        "<parameter name='mode' type='categorical' values='shared private &amp;&lt;'/>\n"
        "<parameter name='threads' type='integer' min='1' max='7' step='3'/>\n"
        "<objective probe='query:tpt' metric='throughput' goal='maximise'/>\n"
        "<run trials_per_config='2' records_per_thread='20' threads='threads' warmup='0.1' "
        "startup='5' duration='10' seed='1'/>\n<heatmap x='cache' y='threads'/>\n</space>\n",
        "<space name='s'><parameter name='a' type='integer' values='1 2'/>"
        "<objective command='wall' goal='minimise'/>"
        "<objective output='ops/s: *([0-9.]+)' goal='maximise'/>"
        "<objective json='/results/0' goal='maximise'/><objective measure='./score {a}' "
        "goal='minimise'/><limit command='memory' at_most='2MiB'/></space>",
        "<space name='s'><parameter name='a' type='integer' values='-1 0 5'/>"
        "<objective probe='7:snapshot' metric='p99' goal='minimise'/></space>",
        "<space name='s'><parameter name='a' type='integer' min='1' max='9223372036854775807' "
        "step='1152921504606846976'/><objective probe='q:lat' metric='max' goal='minimise'/>"
        "<parameter name='b' type='integer' min='1' max='60000'/></space>",
        "<space name='s'><parameter name='b' type='boolean' default='true'/>"
        "<parameter name='r' type='real' min='0.5' max='8' points='5' scale='log' when='$b'/>"
        "<parameter name='m' type='categorical' values='x y z' fixed='y' unit='u'/>"
        "<parameter name='i' type='integer' min='1' max='64' points='7' default='8'/>"
        "<constraint require=\"$i * $r &lt;= 64 or ($m != 'x' and not($b))\"/>"
        "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
        "<objective probe='q:llc' metric='mean' field='1' goal='minimise'/>"
        "<limit probe='q:lat' metric='p99.9' at_most='2.5ms'/>"
        "<run precision='2%' warmup='auto' trials='50'/></space>",
        "<!DOCTYPE space [<!ENTITY a 'b'>]><space name='&a;'/>",
        "<space name='s'><parameter name='a' type='integer' min='0' max='2'/>"
        "<objective probe='q:lat' metric='max' goal='minimise'/>"
        "<environment name='A' value='{a}'/><configuration descriptor='3'/>"
        "<setup command='echo {a}' timeout='5'/><teardown command='x'/>"
        "<load stressor='cpu' workers='{a}' options='--cpu-load 5'/></space>",
    };
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {"<space name='s'>",
                                  "</space>",
                                  "<parameter ",
                                  "<objective ",
                                  "<run ",
                                  "<heatmap ",
                                  "/>",
                                  ">",
                                  "name='b' ",
                                  "type='integer' ",
                                  "type='categorical' ",
                                  "unit='s' ",
                                  "values='1 2' ",
                                  "min='1' ",
                                  "max='9' ",
                                  "step='2' ",
                                  "factor='2' ",
                                  "<environment ",
                                  "<setup ",
                                  "<teardown ",
                                  "<load ",
                                  "command='{a}' ",
                                  "workers='{a}' ",
                                  "{a}",
                                  "{{",
                                  "threads='a' ",
                                  "seed='0' ",
                                  "duration='1' ",
                                  "warmup='1' ",
                                  "x='a' ",
                                  "y='b' ",
                                  "'",
                                  "\"",
                                  " ",
                                  "\n",
                                  "-",
                                  "0",
                                  "1",
                                  "9",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "&amp;",
                                  "&#10;",
                                  "&#x1f600;",
                                  "&#0;",
                                  "<!--",
                                  "-->",
                                  "<![CDATA[",
                                  "]]>",
                                  "<?",
                                  "?>",
                                  "<!DOCTYPE space>",
                                  "xmlns='u' ",
                                  "a:",
                                  "\xef\xbb\xbf",
                                  "encoding='ISO-8859-1'",
                                  "encoding='UTF-16'",
                                  "\xc3\xa9",
                                  "\xff",
                                  NULL};
