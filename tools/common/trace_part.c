/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/common/trace_part.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "site/selection.h"
#include "text/number.h"
#include "tools/common/complain.h"

#define NS_PER_SECOND INT64_C(1000000000)

/* Parses the fraction of a second and "Z" behind a time. */
static bool fraction_parse(const char *text, double *fraction, bool *utc) {
    char digits[24] = "0";
    size_t length = *text == '.' ? 1 + strspn(text + 1, "0123456789") : 0;
    *fraction = 0;
    if (length == 1 || length + 2 > sizeof(digits))
        return false;
    memcpy(digits + 1, text, length);
    digits[1 + length] = '\0';
    *utc = text[length] == 'Z';
    return text[length + *utc] == '\0' && spex_number_seconds(digits, fraction);
}

/* Parses a time of the system's clock to nanoseconds since 1970, which a double does not hold
 * exactly. */
static bool wall_parse(const struct spex_recording *trace, const char *text, int64_t *ns) {
    time_t begin = (time_t)(trace->begin_realtime_ns / 1000000000u);
    struct tm time = {.tm_isdst = -1};
    double fraction;
    bool utc;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);
    if (!rest)
        rest = strptime(text, "%Y-%m-%d %H:%M:%S", &time);
    if (!rest) {
        const char *day_utc = strchr(text, 'Z');
        if (!(day_utc ? gmtime_r(&begin, &time) : localtime_r(&begin, &time)))
            return false;
        time.tm_isdst = -1;
        rest = strptime(text, "%H:%M:%S", &time);
    }
    if (!rest || !fraction_parse(rest, &fraction, &utc))
        return false;
    int64_t whole = utc ? timegm(&time) : mktime(&time);
    if (whole < 0 || whole > INT64_MAX / NS_PER_SECOND - 1)
        return false;
    *ns = whole * NS_PER_SECOND + llround(fraction * NS_PER_SECOND);
    return true;
}

int spex_trace_time(const struct spex_recording *trace, const char *text, uint64_t *ticks,
                    struct spex_error *error) {
    double seconds;
    int64_t ns;
    if (!spex_number_seconds(text, &seconds)) {
        if (!wall_parse(trace, text, &ns))
            return spex_fail(error, -EINVAL,
                             "seconds from the beginning of the trace were expected, or a time "
                             "such as 2026-11-23T07:39:30 or 07:39:30.5Z, not \"%s\"",
                             text);
        seconds = (double)(ns - (int64_t)trace->begin_realtime_ns) / NS_PER_SECOND;
    }
    double from_begin = fmax(seconds, 0) * trace->ticks_per_second;
    *ticks = from_begin < (double)(UINT64_MAX - trace->begin) ? trace->begin + (uint64_t)from_begin
                                                              : UINT64_MAX;
    return 0;
}

int spex_trace_part_open(const char *command, const char *path, const char *probes,
                         struct spex_recording **trace) {
    struct spex_selection selection = {0};
    struct spex_error error;
    if (probes && spex_selection_parse(probes, &selection, &error) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: -e: %s", command, error.text);
    int err = spex_recording_open(path, trace, &error);
    if (!err && probes)
        spex_recording_want(*trace, &selection);
    spex_selection_free(&selection);
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}

int spex_trace_part_limits(const char *command, const struct spex_recording *trace,
                           const char *from, const char *to, uint64_t *begin, uint64_t *end) {
    struct spex_error error;
    *begin = trace->begin;
    *end = trace->end + 1;
    if (from && spex_trace_time(trace, from, begin, &error) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: --from: %s", command, error.text);
    if (to && spex_trace_time(trace, to, end, &error) != 0)
        return spex_complain(SPEX_EXIT_USAGE, "%s: --to: %s", command, error.text);
    if (*end > trace->end + 1)
        *end = trace->end + 1;
    if (*begin >= *end)
        return spex_complain(SPEX_EXIT_FAILED,
                             "%s: the trace has nothing between these times: it "
                             "is %.3f s long",
                             command,
                             (double)(trace->end - trace->begin) / trace->ticks_per_second);
    if (*begin < trace->removed_until)
        spex_complain(
            0, "%s: records before %.3f s are missing: older files of the trace were removed",
            command, (double)(trace->removed_until - trace->begin) / trace->ticks_per_second);
    return SPEX_EXIT_OK;
}

bool spex_trace_part_split(char *text, const char **from, const char **to) {
    char *dots = strstr(text, "..");
    *from = *to = NULL;
    if (!dots)
        return false;
    *dots = '\0';
    *from = dots > text ? text : NULL;
    *to = dots[2] ? dots + 2 : NULL;
    return true;
}

int spex_trace_part_problems(const struct spex_recording *trace) {
    size_t count = trace->problems.count;
    for (size_t p = 0; p < count && p < SPEX_RECORDING_PROBLEMS_KEPT; p++)
        spex_complain(SPEX_EXIT_FAILED, "%s", trace->problems.kept[p].text);
    if (count > SPEX_RECORDING_PROBLEMS_KEPT)
        spex_complain(SPEX_EXIT_FAILED, "and %zu times more", count - SPEX_RECORDING_PROBLEMS_KEPT);
    return count ? SPEX_EXIT_FAILED : SPEX_EXIT_OK;
}

void spex_trace_part_ends(const struct spex_recording *trace) {
    for (size_t p = 0; p < trace->process_count; p++) {
        const struct spex_recording_process *process = &trace->processes[p];
        const char *why;
        const struct spex_recording_mark *ended = spex_journal_ended(&process->journal, &why);
        if (ended)
            spex_complain(0, "%s: recording ended after %.3f s: %s", process->name,
                          (double)spex_recording_ns(trace, ended->ticks) / 1e9, why);
        else if (!process->journal.finished)
            spex_complain(0, "%s: recording has no end: " SPEX_TRACE_UNFINISHED, process->name);
    }
}
