/* SPDX-License-Identifier: MIT */
/* What values are called: those of a type, and those of a snapshot by its sites. */
#include <stdio.h>
#include <string.h>

#include "profile/table.h"
#include "ring/probe_type.h"
#include "site/site_text.h"

const char *spex_value_name(uint32_t probe_type, unsigned n) {
    static const char *const numbered[] = {"v0", "v1", "v2",  "v3",  "v4",  "v5",  "v6",  "v7",
                                           "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15"};
    switch (probe_type) {
    case SPEX_LAT:
    case SPEX_TPT:
    case SPEX_KERNEL:
    case SPEX_SPAN:
        return "time";
    case SPEX_LLC:
        return n == 0 ? "references" : "misses";
    case SPEX_FLT:
        return "faults";
    case SPEX_CTXSW:
        return "switches";
    case SPEX_PERFCNTR:
        return "events";
    default:
        return numbered[n % 16];
    }
}

const char *spex_profile_value_names(const struct spex_profile *profile,
                                     const struct spex_profile_probe *probe) {
    const char *names = NULL;
    for (size_t s = 0; probe->probe_type == SPEX_SNAPSHOT && s < profile->site_count; s++) {
        const struct spex_profile_site *site = &profile->sites[s];
        if (site->probe_type != SPEX_SNAPSHOT || site->probe_id != probe->probe_id)
            continue;
        if (strlen(site->parameters) == sizeof(site->parameters) - 1 ||
            (names && strcmp(names, site->parameters) != 0))
            return NULL;
        names = site->parameters;
    }
    return names;
}

const char *spex_profile_value_name(const char *names, uint32_t probe_type, unsigned n,
                                    char name[SPEX_PROFILE_FILE_BYTES]) {
    for (unsigned before = 0; names && before < n; before++)
        names = spex_parameters_of(names);
    if (!names || !*names)
        return spex_value_name(probe_type, n);
    snprintf(name, SPEX_PROFILE_FILE_BYTES, "%.*s", (int)spex_argument_length(names), names);
    return name;
}
