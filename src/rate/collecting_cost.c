/* SPDX-License-Identifier: MIT */
/* Intervals with few records give the cost of waking without records; it is subtracted from
 * intervals with many, and what is left, over the records, is the cost of a record. */
#include "rate/collecting_cost.h"

#include "base/grown.h"

/* Seconds of CPU time that an interval must have: collectors note theirs only every few passes. */
#define SECONDS_LEAST 500e-6

/* An interval with at least so many records tells the cost of a record; one with fewer tells the
 * cost without records. */
#define RECORDS_LEAST 100.0

/* Share of the former sums that is forgotten with each interval. */
#define FORGOTTEN 0.25

void spex_collecting_begin(struct spex_collecting *collecting, uint64_t ns) {
    *collecting = (struct spex_collecting){.ns = ns};
}

/* An interval goes on until enough CPU time has been noted in it. */
void spex_collecting_note(struct spex_collecting *collecting, double now, uint64_t records,
                          uint64_t ns) {
    double taken = (double)spex_grown(collecting->records, records);
    double seconds = (double)spex_grown(collecting->ns, ns) / 1e9, elapsed = now - collecting->at;
    if (seconds < SECONDS_LEAST || !(elapsed > 0))
        return;
    collecting->at = now;
    collecting->records = records;
    collecting->ns = ns;
    if (taken < RECORDS_LEAST) {
        collecting->rest += (seconds / elapsed - collecting->rest) * FORGOTTEN;
        return;
    }
    seconds -= collecting->rest * elapsed;
    collecting->sum_seconds += (seconds > 0 ? seconds : 0) - collecting->sum_seconds * FORGOTTEN;
    collecting->sum_records += taken - collecting->sum_records * FORGOTTEN;
    collecting->record = collecting->sum_seconds / collecting->sum_records;
}
