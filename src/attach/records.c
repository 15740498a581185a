/* SPDX-License-Identifier: MIT */
/* Records of sites become times of functions. */
#include "attach/attached.h"

/* Records that were lost may be the ends of executions that are open. */
static void look_for_losses(struct spex_attachment *attachment) {
    uint64_t lost = 0;
    for (size_t f = 0; f < attachment->count; f++) {
        struct spex_attached_function *one = &attachment->of[f];
        uint64_t of_one = 0;
        for (unsigned s = 0; s < one->sites; s++)
            of_one += attachment->options.kind->lost(attachment->sites, one->site + s);
        one->lost = of_one;
        lost += of_one;
    }
    if (lost > attachment->lost)
        spex_pairing_forget(attachment->pairing);
    attachment->lost = lost;
}

static void take_record(struct spex_attachment *attachment, const struct spex_site_record *record) {
    uint32_t f = attachment->site_functions[record->site % SPEX_SITES_MAX];
    const struct spex_place *entry = &attachment->functions.items[f].placement.begin;
    uint64_t into = record->site - attachment->of[f].site, took;
    attachment->produced++;
    uint64_t over_ns = attachment->of[f].over_ns;
    if (into == 0 && over_ns && record->ns > over_ns)
        return;
    if (into == 0) {
        spex_pairing_begin(attachment->pairing, f, record->stack_pointer + (uint64_t)entry->sunk,
                           record->ns);
        return;
    }
    if (!spex_pairing_end(attachment->pairing, f, record->stack_pointer, record->ns, &took))
        return;
    double empty = attachment->costs.empty[entry->hit];
    uint64_t ns = (double)took > empty ? took - (uint64_t)empty : 0;
    const struct spex_record one = {.probe_type = SPEX_LAT,
                                    .probe_id = (uint16_t)f,
                                    .weight = 1,
                                    .field_count = 1,
                                    .fields = {ns}};
    spex_tracer_add(attachment->tracer, &one, 1);
}

void spex_attached_take_records(struct spex_attachment *attachment) {
    enum { AT_A_TIME = 256 };
    struct spex_site_record records[AT_A_TIME];
    size_t got;
    do {
        got = attachment->options.kind->records(attachment->sites, records, AT_A_TIME);
        for (size_t r = 0; r < got; r++)
            take_record(attachment, &records[r]);
    } while (got == AT_A_TIME);
    look_for_losses(attachment);
}
