/* SPDX-License-Identifier: MIT */
/* Lines are looked at as they end, with each expression; JSON is kept and read at the end. */
#define _GNU_SOURCE
#include "explore/trial/output_figures.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/output_pattern.h"
#include "explore/trial/json_figure.h"
#include "measure/criterion.h"
#include "text/number.h"

/* The longest text of a number. */
enum { NUMBER_BYTES = 64 };

/* Where a line ends: also where a program writes over it, as progress bars do. */
static bool ends_line(char c) {
    return c == '\n' || c == '\r';
}

struct expression {
    bool compiled;
    regex_t pattern;
    bool found;
    char last[NUMBER_BYTES]; /* the last match of its group, cut */
};

struct spex_output_figures {
    const struct spex_space *space;
    struct expression expressions[SPEX_CRITERIA_MAX];
    bool lines, json; /* what criteria look at */
    size_t line_length;
    char line[SPEX_OUTPUT_LINE_BYTES + 1];
    char *document;
    size_t document_length, document_room;
    bool document_long; /* there was more than is kept */
    bool no_memory;     /* for the document */
};

static int expression_open(struct spex_output_figures *figures, size_t c,
                           struct spex_error *error) {
    const struct spex_criterion *criterion = &figures->space->criteria[c];
    struct expression *expression = &figures->expressions[c];
    enum spex_criterion_source source = spex_criterion_source(criterion);
    figures->json |= source == SPEX_FROM_JSON;
    if (source != SPEX_FROM_OUTPUT)
        return 0;
    int err = spex_output_pattern(&expression->pattern, criterion->metric, error);
    expression->compiled = !err;
    figures->lines = true;
    return err;
}

int spex_output_figures_open(const struct spex_space *space, struct spex_output_figures **out,
                             struct spex_error *error) {
    struct spex_output_figures *figures = *out = calloc(1, sizeof(*figures));
    if (!figures)
        return spex_fail(error, -ENOMEM, "out of memory");
    figures->space = space;
    int err = 0;
    for (size_t c = 0; c < space->criterion_count && !err; c++)
        err = expression_open(figures, c, error);
    return err;
}

void spex_output_figures_close(struct spex_output_figures *figures) {
    for (size_t c = 0; figures && c < SPEX_CRITERIA_MAX; c++)
        if (figures->expressions[c].compiled)
            regfree(&figures->expressions[c].pattern);
    if (figures)
        free(figures->document);
    free(figures);
}

/* All matches of a line but empty ones, of which the last one stays. */
static void expression_search(struct expression *expression, const char *line) {
    regmatch_t match[2];
    for (int flags = 0; *line && regexec(&expression->pattern, line, 2, match, flags) == 0;
         flags = REG_NOTBOL) {
        bool empty = match[0].rm_eo == match[0].rm_so;
        if (!empty && match[1].rm_so >= 0) {
            expression->found = true;
            snprintf(expression->last, sizeof(expression->last), "%.*s",
                     (int)(match[1].rm_eo - match[1].rm_so), line + match[1].rm_so);
        }
        line += match[0].rm_eo;
        line += empty && *line;
    }
}

/* The line has ended. A 0 in it would end it for the search. */
static void line_end(struct spex_output_figures *figures) {
    if (!figures->line_length)
        return;
    for (size_t i = 0; i < figures->line_length; i++)
        if (!figures->line[i])
            figures->line[i] = ' ';
    figures->line[figures->line_length] = '\0';
    figures->line_length = 0;
    for (size_t c = 0; c < figures->space->criterion_count; c++)
        if (figures->expressions[c].compiled)
            expression_search(&figures->expressions[c], figures->line);
}

static void lines_add(struct spex_output_figures *figures, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (ends_line(text[i]))
            line_end(figures);
        else if (figures->line_length < SPEX_OUTPUT_LINE_BYTES)
            figures->line[figures->line_length++] = text[i];
}

/* Makes room for twice as much. */
static void document_grow(struct spex_output_figures *figures, size_t wanted) {
    char *more = realloc(figures->document, 2 * wanted);
    if (more) {
        figures->document = more;
        figures->document_room = 2 * wanted;
    }
    figures->no_memory |= !more;
}

/* What has become too long is dropped as a whole: a part of a document is none. */
static void document_add(struct spex_output_figures *figures, const char *text, size_t length) {
    size_t wanted = figures->document_length + length;
    figures->document_long |= wanted > SPEX_OUTPUT_JSON_BYTES;
    if (!figures->document_long && wanted > figures->document_room)
        document_grow(figures, wanted);
    if (figures->document_long || figures->no_memory)
        return;
    memcpy(figures->document + figures->document_length, text, length);
    figures->document_length = wanted;
}

void spex_output_figures_add(void *user, const char *text, size_t length) {
    struct spex_output_figures *figures = user;
    if (figures->lines)
        lines_add(figures, text, length);
    if (figures->json)
        document_add(figures, text, length);
}

static int expression_value(const struct expression *expression, const char *pattern, double *value,
                            struct spex_error *error) {
    if (!expression->found)
        return spex_fail(error, -ENODATA,
                         "a line that matches output=\"%.120s\" was expected in its output",
                         pattern);
    if (!spex_number_real(expression->last, value))
        return spex_fail(error, -ENODATA,
                         "output=\"%.120s\" found \"%s\", where a number was expected", pattern,
                         expression->last);
    return 0;
}

int spex_output_figures_end(struct spex_output_figures *figures, struct spex_measured *measured,
                            struct spex_error *error) {
    const struct spex_space *space = figures->space;
    struct spex_json_figure document = {.root = NULL};
    int err = 0;
    line_end(figures);
    if (figures->no_memory)
        return spex_fail(error, -ENOMEM, "out of memory");
    if (figures->json && figures->document_long)
        err = spex_fail(error, -ENODATA, "JSON of at most %d MiB was expected as its output",
                        SPEX_OUTPUT_JSON_BYTES >> 20);
    else if (figures->json)
        err = spex_json_figure_open(&document, figures->document, figures->document_length, error);
    for (size_t c = 0; c < space->criterion_count && !err; c++) {
        const char *metric = space->criteria[c].metric;
        enum spex_criterion_source source = spex_criterion_source(&space->criteria[c]);
        if (source == SPEX_FROM_OUTPUT)
            err = expression_value(&figures->expressions[c], metric, &measured[c].value, error);
        else if (source == SPEX_FROM_JSON)
            err = spex_json_figure_value(&document, metric, &measured[c].value, error);
    }
    spex_json_figure_close(&document);
    return err;
}

void spex_output_end_add(void *user, const char *text, size_t length) {
    struct spex_output_end *end = user;
    size_t room = sizeof(end->text);
    if (length > room) {
        text += length - room;
        length = room;
    }
    size_t keep = end->length < room - length ? end->length : room - length;
    memmove(end->text, end->text + end->length - keep, keep);
    memcpy(end->text + keep, text, length);
    end->length = keep + length;
}

static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* The longest number that a text of at most so many bytes begins with; 0: it begins with none. */
static size_t number_at(const char *text, size_t length, double *number) {
    char copy[NUMBER_BYTES];
    length = length < sizeof(copy) - 1 ? length : sizeof(copy) - 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    length = strspn(copy, "0123456789.eE+-");
    for (copy[length] = '\0'; length && !spex_number_real(copy, number);)
        copy[--length] = '\0';
    return length;
}

bool spex_output_end_number(const struct spex_output_end *end, double *number) {
    bool found = false;
    for (size_t i = 0; i < end->length; i++) {
        double here;
        if (i && in_word(end->text[i - 1]))
            continue;
        size_t length = number_at(end->text + i, end->length - i, &here);
        if (!length)
            continue;
        *number = here;
        found = true;
        i += length - 1;
    }
    return found;
}
