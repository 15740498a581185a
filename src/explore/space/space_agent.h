/* SPDX-License-Identifier: MIT */
/* How a space passes a configuration to the program, and what it runs before, beside and after the
 * program in a trial:
 *
 *     <environment name="THREADS" value="{threads}"/>
 *     <configuration descriptor="3"/>
 *     <setup command="createdb --pages={pages}" timeout="60"/>
 *     <teardown command="dropdb"/>
 *     <service command="redis-server --io-threads {io}" ready="redis-cli ping" timeout="60"/>
 *     <load stressor="cpu" workers="{neighbours}" options="--cpu-load 50"/>
 *
 * Values, commands, workers and options are templates. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_AGENT_H
#define SPEX_EXPLORE_SPACE_SPACE_AGENT_H

#include <stdio.h>

#include <spex/policy.h>

#include "xml/xml.h"

#define SPEX_AGENT_VARIABLES_MAX 64
#define SPEX_AGENT_LOADS_MAX     8
#define SPEX_AGENT_SERVICES_MAX  8
#define SPEX_LOAD_WORKERS_MAX    4096

struct spex_agent_variable {
    char *name;
    char *value;
};

struct spex_agent_command {
    char *text; /* NULL: no command */
    double timeout_seconds;
};

/* A load: a stressor of stress-ng. */
struct spex_agent_load {
    char *stressor;
    char *workers;
    char *options; /* "" when none were given */
};

/* What a service's `ready` begins with where that is a port, and not a command. */
#define SPEX_SERVICE_PORT "port:"

/* A server that runs during each trial. */
struct spex_agent_service {
    struct spex_agent_command command;
    char *ready;
};

struct spex_agent {
    struct spex_agent_variable variables[SPEX_AGENT_VARIABLES_MAX];
    size_t variable_count;
    struct spex_agent_command setup;
    struct spex_agent_command teardown;
    int descriptor; /* file descriptor on which the program can read its configuration; 0: none */
    struct spex_agent_load loads[SPEX_AGENT_LOADS_MAX];
    size_t load_count;
    struct spex_agent_service services[SPEX_AGENT_SERVICES_MAX];
    size_t service_count;
};

/* Returns whether spex_agent_take handles elements of this name. */
bool spex_agent_element(const char *name);

/* Takes all these elements of the space, whose parameters must be known. *agent is to be freed also
 * after an error. */
int spex_agent_take(struct spex_xml *xml, const xmlNode *root, const struct spex_space *space,
                    struct spex_agent **agent);

void spex_agent_free(struct spex_agent *agent);

/* Prints one line for each item, for the space's identity. */
void spex_agent_print(const struct spex_agent *agent, FILE *out);

/* The environment variable with a parameter's value in commands: SPEX_PARAMETER_ and the name in
 * capitals, with "_" for "." and "-". To be freed; NULL when out of memory. */
char *spex_agent_parameter_variable(const char *parameter);

#endif
