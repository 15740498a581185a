/* SPDX-License-Identifier: MIT */
/* Probes with numbers, as in Go and Colmenares, "Enabling Performance Exploration and Analysis for
 * Multi-parametric Systems" (EWiLi'16), section 3 and Table 1; SPANs likewise. They are the probes
 * of probe.h, which includes this header; new programs take the macros there.
 *
 *     LAT_PROBE_BEGIN(QUERY, 1);
 *     run_query();
 *     LAT_PROBE_END(QUERY);
 *
 *   id  The probe's number, an integer constant of 0 to 65535. It is written as one token: 7, or
 *       QUERY where QUERY is a macro or an enumerator. END repeats the id of its BEGIN. A SNAPSHOT
 *       and a SPAN may have a name as a string literal in its place, and the scopes of probe.h an
 *       id in the place of the name.
 *   sc  The subsampling counter, as in probe.h.
 *
 * SPEX_NO_SHORT_NAMES leaves the names that begin with SPEX_. */
#ifndef SPEX_PAPER_H
#define SPEX_PAPER_H

#include <spex/probe.h>

#define SPEX_CNT_PROBE_BEGIN(id, sc) SPEX_BEGIN_ID_(spex_cnt_##id, cnt_, SPEX_CNT, id, sc)
#define SPEX_CNT_PROBE_END(id)       SPEX_END_(spex_cnt_##id, cnt_, id)
#define SPEX_LAT_PROBE_BEGIN(id, sc) SPEX_BEGIN_ID_(spex_lat_##id, lat_, SPEX_LAT, id, sc)
#define SPEX_LAT_PROBE_END(id)       SPEX_END_(spex_lat_##id, lat_, id)
#define SPEX_TPT_PROBE_BEGIN(id, sc) SPEX_BEGIN_ID_(spex_tpt_##id, tpt_, SPEX_TPT, id, sc)
#define SPEX_TPT_PROBE_END(id)       SPEX_END_(spex_tpt_##id, tpt_, id)
#define SPEX_LLC_PROBE_BEGIN(id, sc)                                                               \
    SPEX_COUNTER_BEGIN_ID_(spex_llc_##id, llc_, SPEX_LLC, id, sc, 0)
#define SPEX_LLC_PROBE_END(id)         SPEX_COUNTER_END_(spex_llc_##id, llc_, id)
#define SPEX_FLT_PROBE_BEGIN(id, sc)   SPEX_BEGIN_ID_(spex_flt_##id, flt_, SPEX_FLT, id, sc)
#define SPEX_FLT_PROBE_END(id)         SPEX_END_(spex_flt_##id, flt_, id)
#define SPEX_CTXSW_PROBE_BEGIN(id, sc) SPEX_BEGIN_ID_(spex_ctxsw_##id, ctxsw_, SPEX_CTXSW, id, sc)
#define SPEX_CTXSW_PROBE_END(id)       SPEX_END_(spex_ctxsw_##id, ctxsw_, id)
#define SPEX_PERFCNTR_PROBE_BEGIN(id, sc, pcid)                                                    \
    SPEX_COUNTER_BEGIN_ID_(spex_perfcntr_##id, perfcntr_, SPEX_PERFCNTR, id, sc, pcid)
#define SPEX_PERFCNTR_PROBE_END(id) SPEX_COUNTER_END_(spex_perfcntr_##id, perfcntr_, id)
#define SPEX_SNAPSHOT_PROBE(id, ...)                                                               \
    SPEX_SNAPSHOT_(id, SPEX_FIRST_(__VA_ARGS__, 0), #__VA_ARGS__, __VA_ARGS__)
#define SPEX_SPAN_PROBE_BEGIN(id, sc, key) SPEX_SPAN_BEGIN_(id, sc, key)
#define SPEX_SPAN_PROBE_END(id, key)       SPEX_SPAN_END_(id, key)

/* Chooses the event of a PERFCNTR by the processor's code: an expression with the value of
 * spex_perfcntr_set, or 0 without libspex. */
#define SPEX_SET_PERFCNTR(pcid, event, mask) SPEX_SET_PERFCNTR_(pcid, event, mask)

/* SPEX_PROBE_NAME(QUERY, "query"); at file scope, once for an id in a program or library: users see
 * the probes with this id under that name and select them by it. The name is a string literal of at
 * most 61 bytes. A probe of the same provider with that name is the same probe. */
#define SPEX_PROBE_NAME(id, text) SPEX_PROBE_NAME_(spex_name_##id##_, id, text)

/* The names of the paper. They are other words for the macros and not macros with arguments, so
 * that an id is still a token there. */
#ifndef SPEX_NO_SHORT_NAMES
#define CNT_PROBE_BEGIN      SPEX_CNT_PROBE_BEGIN
#define CNT_PROBE_END        SPEX_CNT_PROBE_END
#define LAT_PROBE_BEGIN      SPEX_LAT_PROBE_BEGIN
#define LAT_PROBE_END        SPEX_LAT_PROBE_END
#define TPT_PROBE_BEGIN      SPEX_TPT_PROBE_BEGIN
#define TPT_PROBE_END        SPEX_TPT_PROBE_END
#define LLC_PROBE_BEGIN      SPEX_LLC_PROBE_BEGIN
#define LLC_PROBE_END        SPEX_LLC_PROBE_END
#define FLT_PROBE_BEGIN      SPEX_FLT_PROBE_BEGIN
#define FLT_PROBE_END        SPEX_FLT_PROBE_END
#define CTXSW_PROBE_BEGIN    SPEX_CTXSW_PROBE_BEGIN
#define CTXSW_PROBE_END      SPEX_CTXSW_PROBE_END
#define PERFCNTR_PROBE_BEGIN SPEX_PERFCNTR_PROBE_BEGIN
#define PERFCNTR_PROBE_END   SPEX_PERFCNTR_PROBE_END
#define SPAN_PROBE_BEGIN     SPEX_SPAN_PROBE_BEGIN
#define SPAN_PROBE_END       SPEX_SPAN_PROBE_END
#define SNAPSHOT_PROBE       SPEX_SNAPSHOT_PROBE
#define SET_PERFCNTR         SPEX_SET_PERFCNTR
#define SET_PERFCNTR_NAME    SPEX_SET_PERFCNTR_NAME
#endif

#endif
