/* SPDX-License-Identifier: MIT */
/* The profiles that agents send to the master, and the samples of kernels' executions: taken, put
 * together, and answered for. */
#ifndef SPEX_TOOLS_FLEET_FLEET_REPORTS_H
#define SPEX_TOOLS_FLEET_FLEET_REPORTS_H

#include <jansson.h>

#include "fleet/lead/fleet_kernels.h"
#include "fleet/lead/fleet_sums.h"
#include "fleet/lead/lead.h"
#include "fleet/link/link.h"
#include "tools/fleet/fleet_store.h"

struct spex_fleet_reports {
    struct spex_link_inbox *inbox;
    struct spex_fleet_sums sums;
    /* The history; NULL: none is kept. When a snapshot is due, and between two. */
    struct spex_fleet_store *store;
    double due, every;
    /* Malformed, or of an agent that is not the host's. */
    uint64_t refused;
};

/* 0 or a negative errno value. */
int spex_fleet_reports_open(struct spex_fleet_reports *reports, struct spex_link *link,
                            const char *fleet);
void spex_fleet_reports_close(struct spex_fleet_reports *reports);

/* Takes what has come, for 20 ms at most. The last one that was refused is in `error`, which is
 * empty otherwise. 0 or -ENOMEM. */
int spex_fleet_reports_take(struct spex_fleet_reports *reports, const struct spex_lead *lead,
                            double now, struct spex_error *error);

/* Keeps a history in the file, with a snapshot each `every` seconds, and goes on with the kernels
 * that an earlier master has kept there. 0; or -EINVAL with the reason. */
int spex_fleet_reports_keep(struct spex_fleet_reports *reports, struct spex_fleet_kernels *kernels,
                            const char *path, const char *fleet, double every,
                            struct spex_error *error);

/* Writes a snapshot, and the kernels, where one is due, at the time `now`. 0, or a negative errno
 * value with the reason; then it is tried again. */
int spex_fleet_reports_write(struct spex_fleet_reports *reports, struct spex_fleet_kernels *kernels,
                             double now, struct spex_error *error);

/* The answer to "FROM" or "FROM HOST/PROCESS": probes from that number on, as far as they fit into
 * a message. */
json_t *spex_fleet_reports_answer(const struct spex_fleet_reports *reports, const char *request);

struct spex_fleet_sampled {
    struct spex_link_inbox *inbox;
    struct spex_fleet_kernels kernels;
    /* Malformed, or of an agent that is not the host's. */
    uint64_t refused;
};

int spex_fleet_sampled_open(struct spex_fleet_sampled *sampled, struct spex_link *link,
                            const char *fleet);
void spex_fleet_sampled_close(struct spex_fleet_sampled *sampled);

/* As spex_fleet_reports_take. */
int spex_fleet_sampled_take(struct spex_fleet_sampled *sampled, const struct spex_lead *lead,
                            double now, struct spex_error *error);

/* The answer to "": what there is; and to "CLASS" or "CLASS PATH": the class's first kernel, or the
 * first one behind that path, as a message. */
json_t *spex_fleet_sampled_answer(const struct spex_fleet_sampled *sampled, const char *request);

#endif
