/* SPDX-License-Identifier: MIT */
/* The progress line of an exploration: a bar, the trials, the time left and the best result. */
#include "tools/common/progress.h"

#include <string.h>
#include <unistd.h>

#include "base/terminal.h"

/* LINE_SECONDS: from one line to the next where there is no terminal. FAILURES_TOLD: failures
 * that are printed. */
#define BAR_CELLS     24
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
static void cells_fill(char *cells, uint64_t done, uint64_t all) {
    size_t full = all ? (size_t)((double)done / (double)all * BAR_CELLS) : 0;
    memset(cells, '.', BAR_CELLS);
    memset(cells, '#', full < BAR_CELLS ? full : BAR_CELLS);
    cells[BAR_CELLS] = '\0';
}

/* "[####....] 12/48 trials, 1:05 left, best 812/s: threads=4". */
static void progress_line(const struct spex_progress *progress, char *line, size_t size) {
    char cells[BAR_CELLS + 1], left[48], best[640] = "no result yet";
    cells_fill(cells, progress->trials, progress->trials_expected);
    time_left_text(progress, left, sizeof(left));
    if (progress->have_best)
        snprintf(best, sizeof(best), "best %s: %s", progress->best_figure, progress->best);
    snprintf(line, size, "[%s] %llu/%llu trials, %s, %s", cells,
             (unsigned long long)progress->trials, (unsigned long long)progress->trials_expected,
             left, best);
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

/* The first and the last line come in any case. */
static bool is_line_due(struct spex_progress_bar *bar, const struct spex_progress *progress) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    bool last = !progress->running;
    if (!last && bar->last.tv_sec && now.tv_sec - bar->last.tv_sec < LINE_SECONDS)
        return false;
    bar->last = now;
    return true;
}

/* "\r\033[K" returns to the beginning of the line and erases it. A line that is longer than the
 * terminal would wrap and could not be erased. */
static void line_draw(struct spex_progress_bar *bar, const char *line) {
    fprintf(bar->out, "\r\033[K%.*s", (int)spex_terminal_width(bar->out, spex_text_width()) - 1,
            line);
    fflush(bar->out);
    bar->shown = true;
}

void spex_progress_bar_show(void *user, const struct spex_progress *progress) {
    struct spex_progress_bar *bar = user;
    char line[1024];
    tell_failures(bar, progress);
    progress_line(progress, line, sizeof(line));
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
    cells_fill(cells, done, all);
    left_text((unsigned long)(seconds * (1 - part) / part + 0.5), left, sizeof(left));
    snprintf(line, sizeof(line), "[%s] %.0f %%, %s", cells, part * 100, left);
    line_draw(bar, line);
}

void spex_progress_bar_text(struct spex_progress_bar *bar, const char *text) {
    if (bar->terminal)
        line_draw(bar, text);
}

void spex_progress_bar_end(struct spex_progress_bar *bar) {
    if (bar->shown)
        fputc('\n', bar->out);
    bar->shown = false;
}
