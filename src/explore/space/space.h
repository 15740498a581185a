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
    struct spex_space space; /* all it points to is owned */
    struct spex_conditions *conditions;
    struct spex_agent *agent; /* what is around the program */
    char *probes;             /* selection of the probes of all criteria */
    char *xml;                /* the text it was read from */
    size_t heatmap_x;         /* parameters; parameter_count when the space has no such axis */
    size_t heatmap_y;
};

/* 0; -EINVAL for a space that is malformed or contradicts itself; or as reading the file failed. */
int spex_space_read(const char *path, struct spex_space_file **file, struct spex_error *error);

/* The same of a plan of runs, which nobody judges: it needs no objective. */
int spex_space_read_plan(const char *path, struct spex_space_file **file, struct spex_error *error);

/* The same from text; `path` is for messages. */
int spex_space_parse(const char *path, const char *text, struct spex_space_file **file,
                     struct spex_error *error);
int spex_space_parse_plan(const char *path, const char *text, struct spex_space_file **file,
                          struct spex_error *error);

void spex_space_free(struct spex_space_file *file);

/* What two spaces must agree in for their trials to be comparable, as text, one item a line; the
 * caller frees it. NULL when out of memory. */
char *spex_space_identity(const struct spex_space_file *file);

/* Moves both texts on to the first line in which they differ, or to their ends. */
void spex_identity_skip_equal(const char **a, const char **b);

#endif
