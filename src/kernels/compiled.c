/* SPDX-License-Identifier: MIT */
/* BEGIN and END of the sites that the compiler has put into a program. They do what the macros of
 * spex/probe.h and spex/kernel.h do, and are called only while a site is on. */
#include <spex/detail/compiled.h>

uint32_t spex_compiled_begin(struct spex_site *site, union spex_compiled *state,
                             const uint64_t *parameters) {
    switch (spex_site_type_(site)) {
    case SPEX_KERNEL:
        state->kernel = (struct spex_kernel_span){0, 0, 0, 0};
        if (spex_kernel_begin_(site, &state->kernel))
            spex_kernel_begun_(site, &state->kernel, parameters);
        return state->kernel.before;
    case SPEX_LAT:
        state->span = spex_lat_begin_(spex_sample_(site));
        return state->span.weight;
    case SPEX_CNT:
        state->span = spex_cnt_begin_(spex_sample_(site));
        return state->span.weight;
    default:
        return 0;
    }
}

uint32_t spex_compiled_enter(struct spex_site *region, struct spex_region_pass *pass) {
    *pass = (struct spex_region_pass){.site = region};
    return spex_region_enter_(pass);
}

void spex_compiled_leave(const struct spex_region_pass *pass) {
    spex_region_leave_(pass);
}

/* A kernel that is on enters its node whether it makes a record or not, as anywhere. */
uint32_t spex_compiled_begin_slow(struct spex_site *site, union spex_compiled *state,
                                  const uint64_t *parameters, struct spex_region_pass *pass) {
    uint32_t sampled = spex_region_sample_(pass, site);
    switch (spex_site_type_(site)) {
    case SPEX_KERNEL:
        state->kernel = (struct spex_kernel_span){0, sampled, 0, 0};
        if (!sampled && !spex_site_on_(site))
            return 0;
        spex_kernel_enter_(&state->kernel, spex_load_relaxed(&site->probe_id));
        if (sampled)
            spex_kernel_begun_(site, &state->kernel, parameters);
        return state->kernel.before;
    case SPEX_LAT:
        state->span = spex_lat_begin_(sampled);
        return state->span.weight;
    case SPEX_CNT:
        state->span = spex_cnt_begin_(sampled);
        return state->span.weight;
    default:
        return 0;
    }
}

void spex_compiled_end(struct spex_site *site, union spex_compiled *state, uint64_t *parameters) {
    switch (spex_site_type_(site)) {
    case SPEX_KERNEL:
        spex_kernel_end_(site, &state->kernel, parameters);
        return;
    case SPEX_LAT:
        spex_lat_end_(site, state->span);
        return;
    case SPEX_CNT:
        spex_cnt_end_(site, state->span);
        return;
    default:
        return;
    }
}
