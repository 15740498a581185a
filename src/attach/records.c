/* SPDX-License-Identifier: MIT */
/* Records of sites become times of functions. */
#include "attach/attached.h"

#include <math.h>

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

/* Adds the arguments of an execution that begins. */
static void add_arguments(struct spex_attachment *attachment, uint32_t f,
                          const uint64_t *registers) {
    const struct spex_arguments *arguments = &attachment->functions.items[f].arguments;
    struct spex_record one = {.probe_type = SPEX_SNAPSHOT, .probe_id = (uint16_t)f, .weight = 1};
    for (unsigned a = 0; a < arguments->count && a < SPEX_MAX_FIELDS; a++) {
        one.fields[a] = (uint64_t)spex_argument_value(&arguments->items[a], registers);
        one.kinds |= (uint32_t)SPEX_KIND_SIGNED << 2 * a;
        one.field_count++;
    }
    if (one.field_count)
        spex_tracer_add(attachment->tracer, &one, 1);
}

/* Adds the time of one that ends. */
static void add_time(struct spex_attachment *attachment, uint32_t f, uint64_t took,
                     const uint64_t *registers) {
    const struct spex_process_function *function = &attachment->functions.items[f];
    double empty = attachment->costs.empty[function->placement.begin.hit],
           values[SPEX_ARGUMENTS_MAX];
    uint64_t ns = (double)took > empty ? took - (uint64_t)empty : 0;
    const struct spex_record one = {.probe_type = SPEX_LAT,
                                    .probe_id = (uint16_t)f,
                                    .weight = 1,
                                    .field_count = 1,
                                    .fields = {ns}};
    spex_tracer_add(attachment->tracer, &one, 1);
    for (unsigned a = 0; a < function->arguments.count; a++)
        values[a] = (double)spex_argument_value(&function->arguments.items[a], registers);
    if (attachment->options.execution)
        attachment->options.execution(attachment->options.user, function, (double)ns / 1e9, values,
                                      fmax(attachment->of[f].weight, 1));
}

static void take_record(struct spex_attachment *attachment, const struct spex_site_record *record) {
    uint32_t f = attachment->site_functions[record->site % SPEX_SITES_MAX];
    const struct spex_attached_function *one = &attachment->of[f];
    const struct spex_place *entry = &attachment->functions.items[f].placement.begin;
    uint64_t took, registers[SPEX_ARGUMENTS_MAX];
    attachment->produced++;
    if (record->site > one->site) {
        if (spex_pairing_end(attachment->pairing, f, record->stack_pointer, record->ns, &took,
                             registers))
            add_time(attachment, f, took, registers);
        return;
    }
    if (one->over_ns && record->ns > one->over_ns)
        return;
    add_arguments(attachment, f, record->registers);
    if (spex_attached_is_timed(one))
        spex_pairing_begin(attachment->pairing, f, record->stack_pointer + (uint64_t)entry->sunk,
                           record->ns, record->registers);
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
