/* SPDX-License-Identifier: MIT */
/* BEGIN and END of the sites that the compiler has put into a program. They do what the macros of
 * spex/probe.h and spex/kernel.h do, and are called only while a site is on. */
#include <spex/detail/compiled.h>

uint32_t spex_compiled_begin(struct spex_site *site, struct spex_compiled *frame) {
    frame->site = site;
    switch (spex_site_type_(site)) {
    case SPEX_KERNEL:
        frame->as.kernel = (struct spex_kernel_span){0, 0, 0, 0};
        if (spex_kernel_begin_(site, &frame->as.kernel))
            spex_kernel_begun_(site, &frame->as.kernel, frame->parameters);
        return frame->as.kernel.before;
    case SPEX_LAT:
        frame->as.span = spex_lat_begin_(spex_sample_(site));
        return frame->as.span.weight;
    case SPEX_CNT:
        frame->as.span = spex_cnt_begin_(spex_sample_(site));
        return frame->as.span.weight;
    default:
        return 0;
    }
}

uint32_t spex_compiled_step(struct spex_site *site) {
    struct spex_kernel_span span;
    spex_kernel_enter_(&span, spex_load_relaxed(&site->probe_id));
    return span.before | SPEX_COMPILED_ENTERED;
}

uint32_t spex_compiled_enter(struct spex_site *region, struct spex_region_pass *pass) {
    *pass = (struct spex_region_pass){.site = region};
    return spex_region_enter_(pass);
}

void spex_compiled_leave(const struct spex_region_pass *pass) {
    spex_region_leave_(pass);
}

/* A kernel that is on enters its node whether it makes a record or not, as anywhere. */
uint32_t spex_compiled_begin_slow(struct spex_site *site, struct spex_compiled *frame,
                                  struct spex_region_pass *pass) {
    uint32_t sampled = spex_region_sample_(pass, site);
    frame->site = site;
    switch (spex_site_type_(site)) {
    case SPEX_KERNEL:
        frame->as.kernel = (struct spex_kernel_span){0, sampled, 0, 0};
        if (!sampled && !spex_site_on_(site))
            return 0;
        spex_kernel_enter_(&frame->as.kernel, spex_load_relaxed(&site->probe_id));
        if (sampled)
            spex_kernel_begun_(site, &frame->as.kernel, frame->parameters);
        return frame->as.kernel.before;
    case SPEX_LAT:
        frame->as.span = spex_lat_begin_(sampled);
        return frame->as.span.weight;
    case SPEX_CNT:
        frame->as.span = spex_cnt_begin_(sampled);
        return frame->as.span.weight;
    default:
        return 0;
    }
}

void spex_compiled_end(struct spex_compiled *frame) {
    switch (spex_site_type_(frame->site)) {
    case SPEX_KERNEL:
        spex_kernel_end_(frame->site, &frame->as.kernel, frame->parameters);
        return;
    case SPEX_LAT:
        spex_lat_end_(frame->site, frame->as.span);
        return;
    case SPEX_CNT:
        spex_cnt_end_(frame->site, frame->as.span);
        return;
    default:
        return;
    }
}
