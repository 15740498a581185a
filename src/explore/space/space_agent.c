/* SPDX-License-Identifier: MIT */
/* Reads the elements that say how a trial prepares the program, and checks them before the first
 * trial: names of variables, templates, commands and loads. A command is run by a shell, so
 * parameters in it are restricted to what a shell takes as it is. */
#define _GNU_SOURCE
#include "explore/space/space_agent.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/space_parameter.h"
#include "explore/space/template.h"
#include "text/number.h"

/* Seconds that a command may take. */
#define TIMEOUT_DEFAULT 60
#define TIMEOUT_MAX     86400
#define DESCRIPTOR_MAX  255

/* Not isalpha() and isdigit(), which depend on the user's locale. */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

/* Characters that a shell does not interpret. */
#define SHELL_SAFE LETTERS DIGITS "_.,:/@%+=-"

/* What all functions here need. */
struct taking {
    struct spex_xml *xml;
    const struct spex_space *space;
    struct spex_agent *agent;
};

static int fail_memory(struct spex_xml *xml) {
    return spex_fail(xml->error, -ENOMEM, "out of memory");
}

static int copy_text(struct spex_xml *xml, const char *text, char **to) {
    *to = strdup(text);
    return *to ? 0 : fail_memory(xml);
}

/* Copies a template after checking that its names are parameters. `named` may be NULL. */
static int take_template(const struct taking *taking, const xmlNode *element, const char *attribute,
                         const char *text, uint64_t *named, char **to) {
    struct spex_error error;
    uint64_t unused;
    int err = spex_template_check(text, taking->space, named ? named : &unused, &error);
    if (err == -EINVAL)
        spex_xml_complain(taking->xml, element, "%s: %s", attribute, error.text);
    return err == -ENOMEM ? fail_memory(taking->xml) : err ? err : copy_text(taking->xml, text, to);
}

static bool is_variable(const char *name) {
    return strspn(name, LETTERS "_") > 0 && name[strspn(name, LETTERS DIGITS "_")] == '\0';
}

/* Fails for names that are no variable's, that spex sets itself, or that are given twice. */
static int check_variable(const struct taking *taking, const xmlNode *element, const char *name) {
    static const char *const ours[] = {"SPEX_CONFIG", "SPEX_CONFIG_FILE", "SPEX_PROBES", "SPEX_OUT",
                                       "SPEX_OUT_SOCKET"};
    if (!is_variable(name))
        return spex_xml_fail(taking->xml, element,
                             "name=\"%s\": letters, digits and \"_\" were expected", name);
    for (size_t o = 0; o < sizeof(ours) / sizeof(ours[0]); o++)
        if (strcmp(name, ours[o]) == 0)
            return spex_xml_fail(taking->xml, element, "name=\"%s\": spex itself sets this one",
                                 name);
    for (size_t v = 0; v < taking->agent->variable_count; v++)
        if (strcmp(taking->agent->variables[v].name, name) == 0)
            return spex_xml_fail(taking->xml, element, "\"%s\" is there twice", name);
    return 0;
}

/* The count grows before the texts are copied, so that spex_agent_free frees what was copied. */
static int take_environment(const struct taking *taking, const xmlNode *element) {
    static const char *const known[] = {"name", "value", NULL};
    struct spex_agent *agent = taking->agent;
    const char *name, *value = spex_xml_attribute(element, "value");
    int err = spex_xml_check(taking->xml, element, known, 0);
    err = err ? err : spex_xml_required(taking->xml, element, "name", &name);
    err = err ? err : check_variable(taking, element, name);
    if (!err && !value)
        err = spex_xml_fail(taking->xml, element, "attribute \"value\" was expected");
    if (!err && agent->variable_count == SPEX_AGENT_VARIABLES_MAX)
        err = spex_xml_fail(taking->xml, element, "at most %d were expected",
                            SPEX_AGENT_VARIABLES_MAX);
    if (err)
        return err;
    struct spex_agent_variable *variable = &agent->variables[agent->variable_count++];
    err = copy_text(taking->xml, name, &variable->name);
    return err ? err : take_template(taking, element, "value", value, NULL, &variable->value);
}

/* Descriptors 0 to 2 are the program's standard streams. */
static int take_configuration(const struct taking *taking, const xmlNode *element) {
    static const char *const known[] = {"descriptor", NULL};
    const char *text;
    int64_t descriptor;
    int err = spex_xml_check(taking->xml, element, known, 0);
    err = err ? err : spex_xml_required(taking->xml, element, "descriptor", &text);
    if (err)
        return err;
    if (taking->agent->descriptor)
        return spex_xml_fail(taking->xml, element, "only one was expected");
    if (!spex_number_integer(text, &descriptor) || descriptor < 3 || descriptor > DESCRIPTOR_MAX)
        return spex_xml_fail(taking->xml, element,
                             "descriptor=\"%s\": a whole number of 3 to %d was expected", text,
                             DESCRIPTOR_MAX);
    taking->agent->descriptor = (int)descriptor;
    return 0;
}

/* Names of variables have letters, digits and "_" only, so "." and "-" of parameters' names are
 * replaced. */
char *spex_agent_parameter_variable(const char *parameter) {
    char *variable;
    if (asprintf(&variable, "SPEX_PARAMETER_%s", parameter) < 0)
        return NULL;
    for (char *c = variable; *c; c++)
        *c = *c == '.' || *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return variable;
}

/* Parameters in a command are replaced before a shell reads it, so their values must not contain
 * characters that the shell interprets. */
static int check_shell_safe(const struct taking *taking, const xmlNode *element, uint64_t named) {
    for (size_t p = 0; p < taking->space->parameter_count; p++) {
        const struct spex_parameter *parameter = &taking->space->parameters[p];
        for (size_t v = 0; named >> p & 1 && v < parameter->count; v++) {
            const char *value = parameter->values[v].text;
            if (value[strspn(value, SHELL_SAFE)] == '\0')
                continue;
            char *variable = spex_agent_parameter_variable(parameter->name);
            int err = variable
                          ? spex_xml_fail(taking->xml, element,
                                          "{%s} can be \"%s\", which a shell would not take as "
                                          "it is: \"$%s\" was expected",
                                          parameter->name, value, variable)
                          : fail_memory(taking->xml);
            free(variable);
            return err;
        }
    }
    return 0;
}

/* Fails when two parameters have the same variable in commands ("a.b" and "a-b").
 * O(parameters²). */
static int check_variables_differ(const struct taking *taking, const xmlNode *element) {
    const struct spex_space *space = taking->space;
    char *variables[SPEX_PARAMETERS_MAX] = {NULL};
    int err = 0;
    for (size_t p = 0; p < space->parameter_count && !err; p++) {
        if (!(variables[p] = spex_agent_parameter_variable(space->parameters[p].name)))
            err = fail_memory(taking->xml);
        for (size_t q = 0; q < p && !err; q++)
            if (strcmp(variables[p], variables[q]) == 0)
                err = spex_xml_fail(
                    taking->xml, element, "parameters \"%s\" and \"%s\" are both %s to a command",
                    space->parameters[q].name, space->parameters[p].name, variables[p]);
    }
    for (size_t p = 0; p < space->parameter_count; p++)
        free(variables[p]);
    return err;
}

/* Takes a template that a shell runs. */
static int take_shell(const struct taking *taking, const xmlNode *element, const char *attribute,
                      const char *text, char **to) {
    uint64_t named;
    int err = take_template(taking, element, attribute, text, &named, to);
    err = err ? err : check_shell_safe(taking, element, named);
    return err ? err : check_variables_differ(taking, element);
}

/* Reads a <setup>, <teardown> or <service>. `command` is zeroed if there was none before. */
static int take_command(const struct taking *taking, const xmlNode *element,
                        const char *const known[], struct spex_agent_command *command) {
    const char *text, *timeout = spex_xml_attribute(element, "timeout");
    int err = spex_xml_check(taking->xml, element, known, 0);
    err = err ? err : spex_xml_required(taking->xml, element, "command", &text);
    if (!err && command->text)
        err = spex_xml_fail(taking->xml, element, "only one was expected");
    command->timeout_seconds = TIMEOUT_DEFAULT;
    if (!err && timeout &&
        (!spex_number_seconds(timeout, &command->timeout_seconds) ||
         command->timeout_seconds <= 0 || command->timeout_seconds > TIMEOUT_MAX))
        err = spex_xml_fail(taking->xml, element,
                            "timeout=\"%s\": seconds, more than 0 and at most %d, were expected",
                            timeout, TIMEOUT_MAX);
    return err ? err : take_shell(taking, element, "command", text, &command->text);
}

/* Checks the command of an <objective> or <limit> that is measured by one. */
static int take_measure(const struct taking *taking, const xmlNode *element) {
    const char *text = spex_xml_attribute(element, "measure");
    char *checked = NULL;
    int err = take_shell(taking, element, "measure", text, &checked);
    free(checked);
    return err;
}

/* Returns whether the text is a number of workers, or a parameter all of whose values are. Values
 * ascend, so the first and the last tell. */
static bool are_workers(const struct spex_space *space, const char *text) {
    int64_t number;
    if (spex_number_integer(text, &number))
        return number >= 0 && number <= SPEX_LOAD_WORKERS_MAX;
    for (size_t p = 0; p < space->parameter_count; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        size_t length = strlen(parameter->name);
        if (strlen(text) == length + 2 && text[0] == '{' && text[length + 1] == '}' &&
            memcmp(text + 1, parameter->name, length) == 0)
            return parameter->kind == SPEX_INTEGER && parameter->values[0].integer >= 0 &&
                   parameter->values[parameter->count - 1].integer <= SPEX_LOAD_WORKERS_MAX;
    }
    return false;
}

/* The stressor becomes part of an option of stress-ng ("--cpu"), so only letters, digits and "-"
 * may be in it. */
static int check_load(const struct taking *taking, const xmlNode *element, const char *stressor,
                      const char *workers) {
    if (stressor[strspn(stressor, LETTERS DIGITS "-")] || *stressor == '-')
        return spex_xml_fail(taking->xml, element,
                             "stressor=\"%s\": the name of a stressor of stress-ng was expected",
                             stressor);
    if (!are_workers(taking->space, workers))
        return spex_xml_fail(taking->xml, element,
                             "workers=\"%s\": 0 to %d, or an integer parameter in braces that has "
                             "such values, was expected",
                             workers, SPEX_LOAD_WORKERS_MAX);
    if (taking->agent->load_count == SPEX_AGENT_LOADS_MAX)
        return spex_xml_fail(taking->xml, element, "at most %d were expected",
                             SPEX_AGENT_LOADS_MAX);
    return 0;
}

/* The workers are checked as a template first, whose message says which parameters there are, and
 * then as a number. */
static int take_load(const struct taking *taking, const xmlNode *element) {
    static const char *const known[] = {"stressor", "workers", "options", NULL};
    const char *stressor, *workers, *options = spex_xml_attribute(element, "options");
    char *checked = NULL;
    int err = spex_xml_check(taking->xml, element, known, 0);
    err = err ? err : spex_xml_required(taking->xml, element, "stressor", &stressor);
    err = err ? err : spex_xml_required(taking->xml, element, "workers", &workers);
    err = err ? err : take_template(taking, element, "workers", workers, NULL, &checked);
    free(checked);
    err = err ? err : check_load(taking, element, stressor, workers);
    if (err)
        return err;
    struct spex_agent_load *load = &taking->agent->loads[taking->agent->load_count++];
    err = copy_text(taking->xml, stressor, &load->stressor);
    err = err ? err : copy_text(taking->xml, workers, &load->workers);
    return err ? err
               : take_template(taking, element, "options", options ? options : "", NULL,
                               &load->options);
}

static const char *const command_attributes[] = {"command", "timeout", NULL};

static int take_setup(const struct taking *taking, const xmlNode *element) {
    return take_command(taking, element, command_attributes, &taking->agent->setup);
}

static int take_teardown(const struct taking *taking, const xmlNode *element) {
    return take_command(taking, element, command_attributes, &taking->agent->teardown);
}

/* Fails for a port that is none; one that a parameter has in it is a template. */
static int check_port(const struct taking *taking, const xmlNode *element, const char *ready) {
    const char *port = ready + strlen(SPEX_SERVICE_PORT);
    int64_t number;
    if (strncmp(ready, SPEX_SERVICE_PORT, strlen(SPEX_SERVICE_PORT)) != 0 || strchr(port, '{') ||
        (spex_number_integer(port, &number) && number >= 1 && number <= 65535))
        return 0;
    return spex_xml_fail(taking->xml, element,
                         "ready=\"%s\": port:1 to port:65535, or a command, was expected", ready);
}

/* The count grows first, so that spex_agent_free frees what was copied. */
static int take_service(const struct taking *taking, const xmlNode *element) {
    static const char *const known[] = {"command", "ready", "timeout", NULL};
    struct spex_agent *agent = taking->agent;
    const char *ready;
    if (agent->service_count == SPEX_AGENT_SERVICES_MAX)
        return spex_xml_fail(taking->xml, element, "at most %d were expected",
                             SPEX_AGENT_SERVICES_MAX);
    struct spex_agent_service *service = &agent->services[agent->service_count++];
    int err = take_command(taking, element, known, &service->command);
    err = err ? err : spex_xml_required(taking->xml, element, "ready", &ready);
    err = err ? err : check_port(taking, element, ready);
    return err ? err : take_shell(taking, element, "ready", ready, &service->ready);
}

/* The elements that are read here. */
static const struct {
    const char *name;
    int (*take)(const struct taking *, const xmlNode *);
} elements[] = {
    {"environment", take_environment},
    {"configuration", take_configuration},
    {"setup", take_setup},
    {"teardown", take_teardown},
    {"service", take_service},
    {"load", take_load},
};

enum { ELEMENTS = sizeof(elements) / sizeof(elements[0]) };

/* ELEMENTS: the name is none of them. */
static size_t element_of(const char *name) {
    size_t e = 0;
    while (e < ELEMENTS && strcmp(elements[e].name, name) != 0)
        e++;
    return e;
}

bool spex_agent_element(const char *name) {
    return element_of(name) < ELEMENTS;
}

/* The elements may stand anywhere in the space, also before the parameters that they name. */
int spex_agent_take(struct spex_xml *xml, const xmlNode *root, const struct spex_space *space,
                    struct spex_agent **agent) {
    *agent = calloc(1, sizeof(**agent));
    if (!*agent)
        return fail_memory(xml);
    const struct taking taking = {xml, space, *agent};
    int err = 0;
    for (const xmlNode *e = spex_xml_child(root); e && !err; e = spex_xml_next(e)) {
        size_t element = element_of(spex_xml_name(e));
        if (element < ELEMENTS)
            err = elements[element].take(&taking, e);
        else if (spex_xml_attribute(e, "measure"))
            err = take_measure(&taking, e);
    }
    return err;
}

void spex_agent_free(struct spex_agent *agent) {
    if (!agent)
        return;
    for (size_t v = 0; v < agent->variable_count; v++) {
        free(agent->variables[v].name);
        free(agent->variables[v].value);
    }
    for (size_t l = 0; l < agent->load_count; l++) {
        free(agent->loads[l].stressor);
        free(agent->loads[l].workers);
        free(agent->loads[l].options);
    }
    for (size_t s = 0; s < agent->service_count; s++) {
        free(agent->services[s].command.text);
        free(agent->services[s].ready);
    }
    free(agent->setup.text);
    free(agent->teardown.text);
    free(agent);
}

/* Commands and loads are part of what makes trials comparable. */
void spex_agent_print(const struct spex_agent *agent, FILE *out) {
    const struct spex_agent_command *commands[] = {&agent->setup, &agent->teardown};
    for (size_t v = 0; v < agent->variable_count; v++)
        fprintf(out, "environment %s=%s\n", agent->variables[v].name, agent->variables[v].value);
    if (agent->descriptor)
        fprintf(out, "configuration descriptor=%d\n", agent->descriptor);
    for (size_t c = 0; c < 2; c++)
        if (commands[c]->text)
            fprintf(out, "%s timeout=%.15g: %s\n", c ? "teardown" : "setup",
                    commands[c]->timeout_seconds, commands[c]->text);
    for (size_t s = 0; s < agent->service_count; s++)
        fprintf(out, "service timeout=%.15g ready=%s: %s\n",
                agent->services[s].command.timeout_seconds, agent->services[s].ready,
                agent->services[s].command.text);
    for (size_t l = 0; l < agent->load_count; l++)
        fprintf(out, "load %s workers=%s: %s\n", agent->loads[l].stressor, agent->loads[l].workers,
                agent->loads[l].options);
}
