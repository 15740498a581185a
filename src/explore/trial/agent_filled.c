/* SPDX-License-Identifier: MIT */
/* Fills in the templates of the program's arguments and of the space's agent for one configuration.
 * A template that names a parameter that does not apply has no text (template.h), and what it is
 * for is left out. After an error the caller frees what was filled in. */
#define _GNU_SOURCE
#include "explore/trial/agent_filled.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/template.h"
#include "text/number.h"

/* Called once, before the first trial, so that a wrong name does not fail every trial. */
int spex_agent_check_arguments(const struct spex_space *space, char *const *argv,
                               struct spex_error *error) {
    struct spex_error reason;
    uint64_t named;
    for (size_t i = 0; argv[i]; i++) {
        int err = spex_template_check(argv[i], space, &named, &reason);
        if (err)
            return spex_fail(error, err, "argument %zu of the program, \"%.80s\": %s", i, argv[i],
                             reason.text);
    }
    return 0;
}

/* The configuration that is filled in. */
struct filling {
    const struct spex_space *space;
    const size_t *levels;
};

static int fill_template(const struct filling *filling, const char *template, char **text) {
    return spex_template_fill(template, filling->space, filling->levels, text);
}

/* A list of at most `most` texts, which ends with NULL from the beginning. NULL: out of memory. */
static char **list_new(size_t most) {
    return calloc(most + 1, sizeof(char *));
}

static void list_free(char **list) {
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

/* Arguments that are left out leave no gap. Without argv[0] there is nothing to run. */
static int fill_argv(const struct filling *filling, char *const *argv, char ***list,
                     struct spex_error *error) {
    size_t count = 0;
    while (argv[count])
        count++;
    *list = list_new(count);
    if (!*list)
        return -ENOMEM;
    for (size_t i = 0, to = 0; i < count; i++) {
        if (fill_template(filling, argv[i], &(*list)[to]))
            return -ENOMEM;
        if (i == 0 && !(*list)[0])
            return spex_fail(error, -EINVAL, "%s names a parameter that does not apply", argv[0]);
        to += (*list)[to] != NULL;
    }
    return 0;
}

/* "NAME=value", or "NAME" without a value, by which the variable is removed. NULL: out of
 * memory. */
static char *assignment(const char *name, const char *value) {
    char *text;
    return asprintf(&text, "%s%s%s", name, value ? "=" : "", value ? value : "") < 0 ? NULL : text;
}

/* A variable whose value names a parameter that does not apply is removed from the program's
 * environment, also where this process has it. */
static int fill_variables(const struct filling *filling, const struct spex_agent *agent,
                          char ***list) {
    *list = list_new(agent->variable_count);
    int err = *list ? 0 : -ENOMEM;
    for (size_t v = 0; v < agent->variable_count && !err; v++) {
        char *value;
        err = fill_template(filling, agent->variables[v].value, &value);
        if (!err && !((*list)[v] = assignment(agent->variables[v].name, value)))
            err = -ENOMEM;
        free(value);
    }
    return err;
}

/* Commands get every parameter as SPEX_PARAMETER_…, whatever its characters: a shell does not
 * interpret the value of a variable. */
static int fill_parameters(const struct filling *filling, char ***list) {
    const struct spex_space *space = filling->space;
    *list = list_new(space->parameter_count);
    if (!*list)
        return -ENOMEM;
    for (size_t p = 0; p < space->parameter_count; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        bool applies = spex_space_applies(space, filling->levels, p);
        char *name = spex_agent_parameter_variable(parameter->name);
        if (name)
            (*list)[p] =
                assignment(name, applies ? parameter->values[filling->levels[p]].text : NULL);
        free(name);
        if (!(*list)[p])
            return -ENOMEM;
    }
    return 0;
}

/* Fills in options, separated by blanks, each by itself: a value with a blank in it stays one
 * option. *applies: all parameters that they name apply. */
static int fill_options(const struct filling *filling, const char *options, char ***list,
                        bool *applies) {
    char *words = strdup(options), *rest = NULL;
    *list = list_new(strlen(options) / 2 + 1);
    int err = words && *list ? 0 : -ENOMEM;
    size_t to = 0;
    for (char *word = err ? NULL : strtok_r(words, " ", &rest); word && *applies && !err;
         word = strtok_r(NULL, " ", &rest)) {
        err = fill_template(filling, word, &(*list)[to]);
        *applies = (*list)[to++] != NULL;
    }
    free(words);
    return err;
}

/* A load that names a parameter that does not apply keeps 0 workers, and is not started. */
static int fill_load(const struct filling *filling, const struct spex_agent_load *load,
                     struct spex_load_filled *filled) {
    char *workers;
    int64_t number = 0;
    bool applies = true;
    if (fill_template(filling, load->workers, &workers) ||
        fill_options(filling, load->options, &filled->options, &applies)) {
        free(workers);
        return -ENOMEM;
    }
    if (workers && applies && spex_number_integer(workers, &number))
        filled->workers = (unsigned)number;
    free(workers);
    return 0;
}

static int fill_command(const struct filling *filling, const struct spex_agent_command *command,
                        char **text) {
    return command->text ? fill_template(filling, command->text, text) : 0;
}

/* Without one of the two there is no service. */
static int fill_service(const struct filling *filling, const struct spex_agent_service *service,
                        struct spex_service_filled *filled) {
    filled->timeout_seconds = service->command.timeout_seconds;
    int err = fill_template(filling, service->command.text, &filled->command);
    return err ? err : fill_template(filling, service->ready, &filled->ready);
}

/* The loads are named first, since each gets its row in the trial whatever fails. */
int spex_agent_fill(const struct spex_space_file *file, char *const *argv, const size_t *levels,
                    struct spex_agent_filled *filled, struct spex_error *error) {
    const struct spex_agent *agent = file->agent;
    const struct filling filling = {&file->space, levels};
    *filled = (struct spex_agent_filled){.load_count = agent->load_count,
                                         .service_count = agent->service_count};
    for (size_t l = 0; l < agent->load_count; l++)
        filled->loads[l].stressor = agent->loads[l].stressor;
    int err = fill_argv(&filling, argv, &filled->argv, error);
    err = err ? err : fill_variables(&filling, agent, &filled->variables);
    err = err ? err : fill_parameters(&filling, &filled->parameters);
    err = err ? err : fill_command(&filling, &agent->setup, &filled->setup);
    err = err ? err : fill_command(&filling, &agent->teardown, &filled->teardown);
    for (size_t l = 0; l < agent->load_count && !err; l++)
        err = fill_load(&filling, &agent->loads[l], &filled->loads[l]);
    for (size_t s = 0; s < agent->service_count && !err; s++)
        err = fill_service(&filling, &agent->services[s], &filled->services[s]);
    return err == -ENOMEM ? spex_fail(error, err, "out of memory") : err;
}

void spex_agent_filled_free(struct spex_agent_filled *filled) {
    list_free(filled->argv);
    list_free(filled->variables);
    list_free(filled->parameters);
    free(filled->setup);
    free(filled->teardown);
    for (size_t l = 0; l < filled->load_count; l++)
        list_free(filled->loads[l].options);
    for (size_t s = 0; s < filled->service_count; s++) {
        free(filled->services[s].command);
        free(filled->services[s].ready);
    }
    *filled = (struct spex_agent_filled){.argv = NULL};
}
