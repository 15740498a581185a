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

static struct spex_record record_of(uint32_t f, enum spex_probe_type type,
                                    const struct spex_site_record *site) {
    return (struct spex_record){.timestamp = site->ns,
                                .probe_type = type,
                                .thread_id = site->thread,
                                .weight = 1,
                                .probe_id = (uint16_t)f,
                                .cpu_id = (uint16_t)site->cpu};
}

static void add(struct spex_attachment *attachment, const struct spex_record *record) {
    attachment->produced++;
    spex_tracer_add(attachment->tracer, record, 1);
    if (attachment->options.record)
        attachment->options.record(attachment->options.user, record);
}

/* Adds the arguments of an execution that begins. */
static void add_arguments(struct spex_attachment *attachment, uint32_t f,
                          const struct spex_site_record *begin) {
    const struct spex_arguments *arguments = &attachment->functions.items[f].arguments;
    struct spex_record one = record_of(f, SPEX_SNAPSHOT, begin);
    for (unsigned a = 0; a < arguments->count && a < SPEX_MAX_FIELDS; a++) {
        one.fields[a] = (uint64_t)spex_argument_value(&arguments->items[a], begin->registers);
        one.kinds |= (uint32_t)SPEX_KIND_SIGNED << 2 * a;
        one.field_count++;
    }
    if (one.field_count)
        add(attachment, &one);
}

/* Tells whoever wants to know of an execution. */
static void tell_execution(const struct spex_attachment *attachment, uint32_t f, uint64_t took,
                           const struct spex_site_record *end, const uint64_t *registers) {
    const struct spex_process_function *function = &attachment->functions.items[f];
    double values[SPEX_ARGUMENTS_MAX];
    if (!attachment->options.execution)
        return;
    for (unsigned a = 0; a < function->arguments.count; a++)
        values[a] = (double)spex_argument_value(&function->arguments.items[a], registers);
    const struct spex_function_execution execution = {.function = function,
                                                      .seconds = (double)took / 1e9,
                                                      .arguments = values,
                                                      .weight = fmax(attachment->of[f].weight, 1),
                                                      .end = (double)end->ns / 1e9,
                                                      .thread = end->thread};
    attachment->options.execution(attachment->options.user, &execution);
}

/* Adds the time of one that ends, and tells of it. */
static void add_time(struct spex_attachment *attachment, uint32_t f, uint64_t took,
                     const struct spex_site_record *end, const uint64_t *registers) {
    const struct spex_process_function *function = &attachment->functions.items[f];
    double empty = attachment->costs.empty[function->placement.begin.hit];
    uint64_t ns = (double)took > empty ? took - (uint64_t)empty : 0;
    struct spex_record one = record_of(f, SPEX_LAT, end);
    one.field_count = 1;
    one.fields[0] = ns;
    add(attachment, &one);
    tell_execution(attachment, f, ns, end, registers);
}

static void take_record(struct spex_attachment *attachment, const struct spex_site_record *record) {
    uint32_t f = attachment->site_functions[record->site % SPEX_SITES_MAX];
    const struct spex_attached_function *one = &attachment->of[f];
    const struct spex_place *entry = &attachment->functions.items[f].placement.begin;
    uint64_t took, registers[SPEX_ARGUMENTS_MAX];
    if (record->site > one->site) {
        if (spex_pairing_end(attachment->pairing, f, record->stack_pointer, record->ns, &took,
                             registers))
            add_time(attachment, f, took, record, registers);
        return;
    }
    if (one->over_ns && record->ns > one->over_ns)
        return;
    add_arguments(attachment, f, record);
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
