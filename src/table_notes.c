/* SPDX-License-Identifier: MIT */
#include "table_notes.h"

#include <inttypes.h>

#include <spex/spex.h>

#include "probe_type.h"
#include "rings.h"
#include "sites.h"

static uint32_t types_of(const struct spex_tracer *tracer) {
    uint32_t types = 0;
    for (size_t p = 0; p < spex_tracer_probes(tracer); p++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(tracer, p, &metrics);
        types |= metrics.probe_type;
    }
    return types;
}

/* How records are made, and what one costs. */
static void print_engine(FILE *file, uint32_t types, double ticks_per_second) {
    fprintf(file, "rings: %s, %u CPUs, %.1f MiB reserved",
            spex_rings.commit == SPEX_COMMIT_RSEQ ? "restartable sequences" : "atomic instructions",
            spex_rings.cpus, (double)spex_rings_bytes() / (1 << 20));
    const char *between = "; a record costs";
    double skip = -1;
    for (uint32_t type = 1; type < 1u << SPEX_PROBE_TYPES; type <<= 1) {
        struct spex_cost cost;
        if (!(types & type) || spex_cost_get(type, &cost) != 0)
            continue;
        double ns = cost.record * 1e9 / ticks_per_second;
        fprintf(file, "%s %s %.3g %s", between, spex_probe_type_name(type),
                ns < 1000 ? ns : ns / 1000, ns < 1000 ? "ns" : "us");
        between = ",";
        skip = cost.skip > skip ? cost.skip : skip;
    }
    if (skip >= 0)
        fprintf(file, ", a skipped execution %.2g ns", skip * 1e9 / ticks_per_second);
    fputc('\n', file);
}

/* What the values of a probe are, where that is not plain. */
static void print_counter(FILE *file, uint32_t type, unsigned pcid) {
    char text[512];
    if (spex_describe(type, pcid, text, sizeof(text)) != 0)
        return;
    fprintf(file, "%s: %s\n", spex_probe_type_name(type), text);
}

static void print_counters(FILE *file, uint32_t types) {
    uint32_t pcids = 0;
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (spex_site_info(s)->probe_type == SPEX_PERFCNTR)
            pcids |= 1u << spex_site_info(s)->detail;
    for (uint32_t type = SPEX_LLC; type <= SPEX_CTXSW; type <<= 1)
        if (types & type)
            print_counter(file, type, 0);
    for (unsigned pcid = 0; types & SPEX_PERFCNTR && pcid < SPEX_PERFCNTRS; pcid++)
        if (pcids & 1u << pcid)
            print_counter(file, SPEX_PERFCNTR, pcid);
}

static void print_marks(FILE *file, const struct spex_tracer *tracer) {
    static const char *const texts[SPEX_MARKS] = {
        "include the making ready of their thread or counter",
        "have values estimated from a part of the time, as counters were shared",
        "have no values, as their counter was not available",
    };
    for (size_t p = 0; p < spex_tracer_probes(tracer); p++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(tracer, p, &metrics);
        for (unsigned m = 0; m < SPEX_MARKS; m++)
            if (metrics.marked[m])
                fprintf(file, "probe %u %s: %" PRIu64 " of %" PRIu64 " records %s\n",
                        metrics.probe_id, spex_probe_type_name(metrics.probe_type),
                        metrics.marked[m], metrics.records, texts[m]);
    }
}

void spex_table_notes(FILE *file, const struct spex_tracer *tracer, double ticks_per_second) {
    uint32_t types = types_of(tracer);
    print_engine(file, types, ticks_per_second);
    print_counters(file, types);
    print_marks(file, tracer);
}
