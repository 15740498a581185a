/* SPDX-License-Identifier: MIT */
/* Criteria (objectives and limits) of a space: which are possible, and their texts. */
#ifndef SPEX_MEASURE_CRITERION_H
#define SPEX_MEASURE_CRITERION_H

#include <spex/policy.h>

#include "measure/usage.h"
#include "site/selection.h"

#define SPEX_OBJECTIVES_MAX 8
#define SPEX_CRITERIA_MAX   16

/* Room for the name of any criterion. */
enum { SPEX_CRITERION_TEXT_BYTES = 1024 };

/* What a criterion's figure is taken from. One that is not of a probe has the name of its source in
 * `probe`, which no probe's selection is, as it has no colon; and in `metric` what of it: a
 * resource, a regular expression for lines of the output, a JSON pointer, a shell's command, or a
 * resource of the services. */
enum spex_criterion_source {
    SPEX_FROM_PROBE,
    SPEX_FROM_COMMAND,
    SPEX_FROM_OUTPUT,
    SPEX_FROM_JSON,
    SPEX_FROM_MEASURE,
    SPEX_FROM_SERVICE,
    SPEX_CRITERION_SOURCES
};

/* The names of sources: attributes in spaces. That of probes is "probe". */
extern const char *const spex_criterion_source_names[SPEX_CRITERION_SOURCES];

enum spex_criterion_source spex_criterion_source(const struct spex_criterion *criterion);

/* Returns whether it is about the memory of a command or of services. */
bool spex_criterion_is_memory(const struct spex_criterion *criterion);

/* Returns whether a trial of the space is one run of a command, whatever probes that has. */
static inline bool spex_space_of_command(const struct spex_space *space) {
    return space->criterion_count && spex_criterion_source(space->criteria) != SPEX_FROM_PROBE;
}

/* Returns whether `probe`, whose selection this is, names one probe and its type, without a
 * glob. */
bool spex_criterion_names_one(const struct spex_selection *selection, const char *probe);

/* Returns whether probes of this type have the metric. */
bool spex_criterion_fits(const char *metric, uint32_t type);

/* The unit of the criterion's value: "/s", "s", "B" or "". */
const char *spex_criterion_unit(const struct spex_criterion *criterion);

/* "throughput of query:tpt", "wall time", "output ops: ([0-9]+)". Cut to `size`. */
void spex_criterion_name(const struct spex_criterion *criterion, char *text, size_t size);

/* "maximise throughput of query:tpt", "p99 of query:lat at most 2 ms". */
void spex_criterion_text(const struct spex_criterion *criterion, char *text, size_t size);

/* The same with the exact bound, "at most 0.002 s", for comparisons with what stores hold. */
void spex_criterion_identity(const struct spex_criterion *criterion, char *text, size_t size);

/* "throughput of query:tpt [/s]" */
void spex_criterion_label(const struct spex_criterion *criterion, char *text, size_t size);

/* A selection of the probes of all criteria, each once, "" without any; to be freed. NULL: out of memory. */
char *spex_criteria_probes(const struct spex_space *space);

#endif
