/* SPDX-License-Identifier: MIT */
/* A configuration space and the rules of its exploration, from XML:
 *
 *     <space name="sqlite">
 *       <parameter name="cache" type="integer" unit="MB" min="2" max="256" factor="2"/>
 *       <parameter name="mode" type="categorical" values="shared private"/>
 *       <objective probe="query:tpt" metric="throughput" goal="maximise"/>
 *       <run trials_per_config="2" records_per_thread="20" threads="threads" warmup="0.1"
 *            duration="10" seed="1"/>
 *       <heatmap x="cache" y="threads"/>
 *     </space>
 *
 * docs/spaces.md describes every element. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_H
#define SPEX_EXPLORE_SPACE_SPACE_H

#include <spex/policy.h>

#include "text/error.h"

#define SPEX_SPACE_CONFIGURATIONS_MAX (UINT64_C(1) << 40)

struct spex_agent;
struct spex_conditions;

struct spex_space_file {
    struct spex_space space; /* owns what it points to */
    struct spex_conditions *conditions;
    struct spex_agent *agent; /* environment, commands and loads of trials */
    char *probes;             /* selection that has the probes of all criteria */
    char *xml;                /* the file's text */
    size_t heatmap_x;         /* axes of the heat map; parameter_count: not given */
    size_t heatmap_y;
};

/* Reads a space. 0; -EINVAL when it is malformed or contradicts itself; or the error of reading. */
int spex_space_read(const char *path, struct spex_space_file **file, struct spex_error *error);

/* Reads a plan of runs, which needs no objective. */
int spex_space_read_plan(const char *path, struct spex_space_file **file, struct spex_error *error);

/* The same from a text; `path` is for messages. */
int spex_space_parse(const char *path, const char *text, struct spex_space_file **file,
                     struct spex_error *error);
int spex_space_parse_plan(const char *path, const char *text, struct spex_space_file **file,
                          struct spex_error *error);

void spex_space_free(struct spex_space_file *file);

/* The text of everything in which two spaces must agree for their trials to be comparable, one item
 * a line; to be freed. NULL when out of memory. */
char *spex_space_identity(const struct spex_space_file *file);

/* Moves both texts on to the first line in which they differ, or to their ends. */
void spex_identity_skip_equal(const char **a, const char **b);

#endif
