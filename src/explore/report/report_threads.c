/* SPDX-License-Identifier: MIT */
/* The part of the text report about numbers of threads: a table of the best objective by number of
 * threads, over all configurations and for each value of each category, and from which number on
 * more threads do not help. Empty for a space without a parameter of threads. */
#include "explore/report/report_parts.h"
#include "measure/criterion.h"
#include "profile/columns.h"

/* Adds the row of a thread count: the best of all, then the best with each category. */
static void add_thread_row(const struct spex_study *study, size_t t, struct spex_columns *columns) {
    const struct spex_space *space = &study->file->space;
    size_t threads = space->threads_parameter;
    char text[48];
    spex_columns_add(columns, "%s", space->parameters[threads].values[t].text);
    for (size_t p = space->parameter_count + 1; p-- > 0;) {
        size_t count = p == space->parameter_count ? 1 : space->parameters[p].count;
        if (p < space->parameter_count && space->parameters[p].kind != SPEX_CATEGORICAL)
            continue;
        for (size_t l = 0; l < count; l++) {
            const struct spex_group *best = spex_summary_best_of(&study->summary, threads, t, p, l);
            spex_columns_add(columns, "%s",
                             best ? spex_report_measured(study, best, 0, text, sizeof(text)) : "-");
        }
    }
}

/* The columns of print_thread_row, in the same order. */
static unsigned category_count(const struct spex_space *space) {
    size_t count = 0;
    for (size_t p = 0; p < space->parameter_count; p++)
        count += space->parameters[p].kind == SPEX_CATEGORICAL ? space->parameters[p].count : 0;
    return (unsigned)count;
}

/* The headings are the first row of a table without headings. */
static void add_thread_headings(const struct spex_space *space, struct spex_columns *columns) {
    spex_columns_add(columns, "%s", space->parameters[space->threads_parameter].name);
    spex_columns_add(columns, "any");
    for (size_t p = space->parameter_count; p-- > 0;) {
        const struct spex_parameter *parameter = &space->parameters[p];
        for (size_t l = 0; l < parameter->count && parameter->kind == SPEX_CATEGORICAL; l++)
            spex_columns_add(columns, "%s=%s", parameter->name, parameter->values[l].text);
    }
}

static void print_thread_table(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    struct spex_columns columns = {.columns = 2 + category_count(space)};
    add_thread_headings(space, &columns);
    for (size_t t = 0; t < space->parameters[space->threads_parameter].count; t++)
        add_thread_row(study, t, &columns);
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 0});
}

/* Nothing where the sentence is about all configurations. */
static void print_condition(const struct spex_space *space, size_t fixed, size_t level, FILE *out) {
    if (fixed < space->parameter_count)
        fprintf(out, " with %s=%s", space->parameters[fixed].name,
                space->parameters[fixed].values[level].text);
}

/* Sets the lowest and highest thread count with a result; false when there is none. */
static bool thread_range(const struct spex_study *study, size_t fixed, size_t level, size_t *low,
                         size_t *high) {
    size_t threads = study->file->space.threads_parameter;
    bool found = false;
    for (size_t t = 0; t < study->file->space.parameters[threads].count; t++) {
        if (!spex_summary_best_of(&study->summary, threads, t, fixed, level))
            continue;
        *low = found ? *low : t;
        *high = t;
        found = true;
    }
    return found;
}

/* Prints nothing with results for fewer than two numbers of threads, of which nothing follows. */
static void print_knee(const struct spex_study *study, size_t fixed, size_t level, FILE *out) {
    const struct spex_space *space = &study->file->space;
    const struct spex_parameter *threads = &space->parameters[space->threads_parameter];
    size_t knee = spex_summary_knee(&study->summary, fixed, level);
    size_t low = 0, high = 0;
    if (!thread_range(study, fixed, level, &low, &high) || low == high)
        return;
    if (knee == threads->count) {
        fprintf(out, "more threads still help at %s=%s, the most tried", threads->name,
                threads->values[high].text);
        print_condition(space, fixed, level, out);
        fputc('\n', out);
        return;
    }
    fprintf(out, "more threads stop helping from %s=%s", threads->name, threads->values[knee].text);
    print_condition(space, fixed, level, out);
    fprintf(out, " (beyond it the best is less than %.0f %% better)\n", SPEX_KNEE_TOLERANCE * 100);
}

void spex_report_threads(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    size_t threads = space->threads_parameter;
    if (threads == space->parameter_count)
        return;
    char name[SPEX_CRITERION_TEXT_BYTES];
    spex_criterion_name(space->criteria, name, sizeof(name));
    fprintf(out, "\nbest measured %s by %s\n",
            spex_space_of_command(space) ? name : space->criteria[0].metric,
            space->parameters[threads].name);
    print_thread_table(study, out);
    fputc('\n', out);
    print_knee(study, space->parameter_count, 0, out);
    for (size_t p = space->parameter_count; p-- > 0;)
        for (size_t l = 0; l < space->parameters[p].count; l++)
            if (space->parameters[p].kind == SPEX_CATEGORICAL)
                print_knee(study, p, l, out);
}
