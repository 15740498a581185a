/* SPDX-License-Identifier: MIT */
/* What all formats tell of a series. */
#include <string.h>

#include "ring/probe_type.h"
#include "tools/serve/metrics_writer.h"

void spex_metrics_labels(const struct spex_metrics_of *of,
                         void (*take)(void *user, const char *name, const char *value),
                         void *user) {
    const struct spex_sums_probe *probe = of->probe;
    char called[SPEX_PROBE_TEXT_BYTES];
    if (!of->program)
        return;
    take(user, "program", of->program->name);
    if (!probe)
        return;
    spex_probe_called(NULL, probe->name, probe->id, called, sizeof(called));
    take(user, "probe", called);
    take(user, "type", spex_probe_type_name(probe->type));
    if (probe->provider[0] && strcmp(probe->provider, of->program->name) != 0)
        take(user, "provider", probe->provider);
}

size_t spex_metrics_slowest_bucket(const struct spex_metrics_out *out,
                                   const struct spex_sums_probe *probe) {
    size_t b = probe->slowest.seconds > 0 ? 0 : SPEX_SUMS_BUCKETS;
    while (b < SPEX_SUMS_BOUNDS && (probe->slowest.seconds > spex_sums_bounds[b] ||
                                    !spex_sums_bound_is_of(b, out->buckets)))
        b++;
    return b;
}
