/* SPDX-License-Identifier: MIT */
/* The progress line of an exploration: a bar, the trials, the time left and the best result. */
#include "tools/common/progress.h"

#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "text/characters.h"

/* BAR_LEAST: the bar gives way to the text behind it down to so many cells. LINE_SECONDS: from one
 * line to the next where there is no terminal. FAILURES_TOLD: failures that are printed. */
#define BAR_CELLS     24
#define BAR_LEAST     6
#define LINE_SECONDS  10
#define FAILURES_TOLD 5

void spex_progress_bar_init(struct spex_progress_bar *bar, FILE *out) {
    *bar = (struct spex_progress_bar){.out = out, .terminal = isatty(fileno(out)) == 1};
}

static void left_text(unsigned long seconds, char *text, size_t size) {
    if (seconds >= 3600)
        snprintf(text, size, "%lu:%02lu:%02lu left", seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
    else
        snprintf(text, size, "%lu:%02lu left", seconds / 60, seconds % 60);
}

/* The time left, estimated by the mean time of the trials so far. */
static void time_left_text(const struct spex_progress *progress, char *text, size_t size) {
    uint64_t left = progress->trials_expected > progress->trials
                        ? progress->trials_expected - progress->trials
                        : 0;
    if (progress->seconds_per_trial <= 0)
        snprintf(text, size, "time left unknown");
    else
        left_text((unsigned long)(progress->seconds_per_trial * (double)left + 0.5), text, size);
}

/* `cells` has room for BAR_CELLS + 1. */
static void cells_fill(char *cells, size_t count, uint64_t done, uint64_t all) {
    size_t full = all ? (size_t)((double)done / (double)all * (double)count) : 0;
    memset(cells, '.', count);
    memset(cells, '#', full < count ? full : count);
    cells[count] = '\0';
}

/* The columns that a line may have. In the last one a terminal may wrap. */
static size_t line_columns(const struct spex_progress_bar *bar) {
    return spex_terminal_width(bar->out, spex_text_width()) - 1;
}

/* "12/48 trials, 1:05 left, best 812/s: threads=4". */
static void progress_text(const struct spex_progress *progress, char *text, size_t size) {
    char left[48], of[32] = "", best[640] = "no result yet";
    time_left_text(progress, left, sizeof(left));
    if (progress->trials_expected)
        snprintf(of, sizeof(of), "/%llu", (unsigned long long)progress->trials_expected);
    if (progress->have_best)
        snprintf(best, sizeof(best), "best %s: %s", progress->best_figure, progress->best);
    snprintf(text, size, "%llu%s trials, %s, %s", (unsigned long long)progress->trials, of, left,
             best);
}

/* "[####....] " and the text, in so many columns where the bar can make room. */
static void progress_line(const struct spex_progress *progress, size_t columns, char *line,
                          size_t size) {
    char cells[BAR_CELLS + 1], text[896];
    progress_text(progress, text, sizeof(text));
    size_t taken = spex_characters(text) + strlen("[] "), count = BAR_LEAST;
    if (columns > taken + BAR_LEAST)
        count = columns - taken < BAR_CELLS ? columns - taken : BAR_CELLS;
    cells_fill(cells, count, progress->trials, progress->trials_expected);
    snprintf(line, size, "[%s] %s", cells, text);
}

/* Reports the first failures as they come; the others are in the report. */
static void tell_failures(struct spex_progress_bar *bar, const struct spex_progress *progress) {
    if (progress->failed == bar->failed)
        return;
    if (bar->failed < FAILURES_TOLD) {
        spex_progress_bar_end(bar);
        fprintf(bar->out, "trial %llu failed: %s\n", (unsigned long long)progress->trials,
                progress->last_failure);
        if (progress->failed >= FAILURES_TOLD)
            fputs("further failures are in the report\n", bar->out);
    }
    bar->failed = (unsigned long)progress->failed;
}

/* The first line comes in any case; the last one is the command's verdict. */
static bool is_line_due(struct spex_progress_bar *bar, const struct spex_progress *progress) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!progress->running || (bar->last.tv_sec && now.tv_sec - bar->last.tv_sec < LINE_SECONDS))
        return false;
    bar->last = now;
    return true;
}

/* Returns to the beginning of the line and erases it. */
static const char erase[] = "\r\033[K";

/* A line that is longer than the terminal would wrap and could not be erased. `line` has room for
 * an ellipsis. */
static void line_draw(struct spex_progress_bar *bar, char *line) {
    spex_characters_cut(line, line_columns(bar));
    fprintf(bar->out, "%s%s", erase, line);
    fflush(bar->out);
    bar->shown = true;
}

void spex_progress_bar_show(void *user, const struct spex_progress *progress) {
    struct spex_progress_bar *bar = user;
    char line[1024];
    tell_failures(bar, progress);
    progress_line(progress, bar->terminal ? line_columns(bar) : SIZE_MAX, line, sizeof(line));
    if (bar->terminal) {
        line_draw(bar, line);
    } else if (is_line_due(bar, progress)) {
        fprintf(bar->out, "%s\n", line);
        fflush(bar->out);
    }
}

static double seconds_between(const struct timespec *from, const struct timespec *to) {
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

bool spex_progress_bar_is_due(struct spex_progress_bar *bar, double *seconds) {
    struct timespec now;
    if (!bar->terminal)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!bar->begun.tv_sec)
        bar->begun = now;
    *seconds = seconds_between(&bar->begun, &now);
    if (*seconds < 1 || seconds_between(&bar->last, &now) < 0.1)
        return false;
    bar->last = now;
    return true;
}

void spex_progress_bar_part(struct spex_progress_bar *bar, uint64_t done, uint64_t all) {
    char cells[BAR_CELLS + 1], left[48], line[128];
    double seconds, part = (double)done / (double)all;
    if (!all || !done || !spex_progress_bar_is_due(bar, &seconds))
        return;
    cells_fill(cells, BAR_CELLS, done, all);
    left_text((unsigned long)(seconds * (1 - part) / part + 0.5), left, sizeof(left));
    snprintf(line, sizeof(line), "[%s] %.0f %%, %s", cells, part * 100, left);
    line_draw(bar, line);
}

void spex_progress_bar_text(struct spex_progress_bar *bar, const char *text) {
    char line[256];
    snprintf(line, sizeof(line) - strlen("…"), "%s", text);
    if (bar->terminal)
        line_draw(bar, line);
}

void spex_progress_bar_end(struct spex_progress_bar *bar) {
    if (bar->shown)
        fputs(erase, bar->out);
    bar->shown = false;
}
