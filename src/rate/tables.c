/* SPDX-License-Identifier: MIT */
#include "rate/tables.h"

#include "rate/caches.h"
#include "rate/groups.h"
#include "ring/reserve.h"

struct spex_rate_tables *spex_rate_tables_make(const struct spex_rate_policy_ops *policy,
                                               struct spex_rate *rate,
                                               struct spex_snapshot *snapshot, size_t *bytes) {
    size_t workspace = policy->workspace_size(SPEX_MAX_SITES);
    size_t before = sizeof(struct spex_rate_tables) + spex_groups_bytes();
    if (workspace > PTRDIFF_MAX - before)
        return NULL;
    struct spex_rate_tables *tables =
        spex_memory_reserve(before + workspace, spex_mappings_are_locked());
    if (!tables)
        return NULL;
    void *work = (char *)tables + before;
    spex_groups_begin((struct spex_grouped *)(tables + 1));
    *bytes = before + workspace;
    *rate = (struct spex_rate){.known = tables->known,
                               .classes = tables->classes,
                               .decisions = tables->decisions,
                               .order = tables->order,
                               .caches = spex_caches_usual()};
    *snapshot = (struct spex_snapshot){.subjects = tables->subjects,
                                       .executions = tables->executions,
                                       .slices = tables->slices,
                                       .seen = tables->seen,
                                       .in = {.policy = policy,
                                              .workspace = work,
                                              .overspends = spex_rate_overspends(policy, work),
                                              .polls = policy->combinations != NULL}};
    return tables;
}
