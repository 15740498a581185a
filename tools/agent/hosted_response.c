/* SPDX-License-Identifier: MIT */
#include "tools/agent/hosted_response.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profile/figures.h"

/* Over a shorter time single executions decide. */
#define SECONDS_LEAST 0.2

static const struct spex_profile_row *row_of(const struct spex_profile *profile, uint16_t probe_id,
                                             uint32_t type) {
    for (size_t r = 0; r < profile->row_count; r++)
        if (profile->rows[r].probe.probe_id == probe_id &&
            profile->rows[r].probe.probe_type == type)
            return &profile->rows[r];
    return NULL;
}

static double metric_of(const char *metric, const struct spex_values *values) {
    return metric[0] == 'p' ? spex_values_quantile(values, strtod(metric + 1, NULL) / 100)
                            : values->mean;
}

static void measure(struct spex_hosted_response *response, const struct spex_fleet_policy *policy,
                    const struct spex_profile *profile, const struct spex_profile_probe *probe,
                    const struct spex_values *now, double seconds) {
    struct spex_values values = *now;
    response->throughput = fmax(spex_profile_executions(probe) - response->executions, 0) / seconds;
    spex_values_subtract(&values, response->before);
    double ticks = values.weight > 0 ? metric_of(policy->response.metric, &values) : NAN;
    if (isfinite(ticks) && profile->process.ticks_per_second > 0)
        response->response =
            spex_figures_corrected(profile, probe, ticks) / profile->process.ticks_per_second;
}

int spex_hosted_response_take(struct spex_hosted_response *response,
                              const struct spex_fleet_policy *policy,
                              const struct spex_profile *profile, uint16_t probe_id,
                              uint32_t type) {
    const struct spex_profile_row *row = row_of(profile, probe_id, type);
    const struct spex_values *now = row && row->probe.series ? row->values[0] : NULL;
    if (!now) {
        spex_hosted_response_free(response);
        return 0;
    }
    double on = spex_profile_counted_seconds(&row->probe), seconds = on - response->seconds;
    if (response->before && seconds > 0 && seconds < SECONDS_LEAST)
        return 0;
    response->response = response->throughput = NAN;
    if (response->before && seconds > 0)
        measure(response, policy, profile, &row->probe, now, seconds);
    if (!response->before)
        response->before = malloc(sizeof(*response->before));
    if (!response->before)
        return -ENOMEM;
    *response->before = *now;
    response->executions = spex_profile_executions(&row->probe);
    response->seconds = on;
    return 0;
}

void spex_hosted_response_free(struct spex_hosted_response *response) {
    free(response->before);
    *response = (struct spex_hosted_response){.response = NAN, .throughput = NAN};
}
