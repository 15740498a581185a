/* SPDX-License-Identifier: MIT */
/* gnuplot places what it calls hypertext, a text for each point, and calls a script of its own to show it:
 *
 *     <g onmousemove="gnuplot_svg.showHypertext(evt,'TEXT')" onmouseout="…"><title> </title>
 *     <use … transform='translate(X,Y) …'/></g>
 *
 * The text is escaped for XML. */
#define _GNU_SOURCE
#include "explore/picture/picture_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void spex_script_values_begin(const struct spex_script *script, const char *name, size_t number) {
    if (!script->png)
        fprintf(script->out, "$%s%zu << EOD\n", name, number);
}

/* gnuplot fails on an empty block, and crashes on one without a number: a point that is on no axis. */
void spex_script_values_end(const struct spex_script *script) {
    if (!script->png)
        fputs("-1e300 0 \"\"\nEOD\n", script->out);
}

/* Pixels of a square of gnuplot's size 1. */
#define SQUARE_PIXELS 9

void spex_script_values_plot(const struct spex_script *script, const char *name, size_t number,
                             double pixels) {
    if (!script->png)
        fprintf(script->out,
                ", $%s%zu using 1:2:3 noautoscale with labels hypertext point pt 5 ps %.2f "
                "lc rgb '#ff000000' notitle",
                name, number, pixels / SQUARE_PIXELS);
}

/* Between quotes, within which gnuplot takes a backslash for the beginning of something else. */
void spex_script_value(const struct spex_script *script, double x, double y, const char *text) {
    if (script->png || !isfinite(x) || !isfinite(y))
        return;
    fprintf(script->out, "%.17g %.17g \"", x, y);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        fputc(c < ' ' ? ' ' : c == '"' ? '\'' : c == '\\' ? '/' : c, script->out);
    }
    fputs("\"\n", script->out);
}

/* As many can be gone through by keyboard; of more a table tells more quickly. */
enum { TABBED_MOST = 64 };

static const char before[] = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'";
static const char between[] = "')\" onmouseout=\"gnuplot_svg.hideHypertext()\"><title> </title>";

/* The value at `at`: its text, its elements, and what follows. False: it is none. */
struct value {
    const char *text, *elements, *rest;
    size_t text_bytes;
};

static bool value_at(const char *at, struct value *value) {
    value->text = at + strlen(before);
    const char *end = strstr(value->text, between);
    value->elements = end ? end + strlen(between) : NULL;
    value->rest = end ? strstr(value->elements, "</g>") : NULL;
    value->text_bytes = end ? (size_t)(end - value->text) : 0;
    return value->rest && !memchr(value->text, '<', value->text_bytes);
}

/* The note is beside the point, at the side where there is more room. */
static void write_note(FILE *out, const struct value *value, double width) {
    static const char place[] = "translate(";
    const char *at =
        memmem(value->elements, (size_t)(value->rest - value->elements), place, strlen(place));
    if (!at)
        return;
    char *end;
    double x = strtod(at + strlen(place), &end), y = *end ? strtod(end + 1, NULL) : 0;
    bool late = x > width / 2;
    fprintf(out, "<text class=\"note\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%.*s</text>",
            late ? x - 8 : x + 8, fmax(y - 8, 14), late ? "end" : "start", (int)value->text_bytes,
            value->text);
}

static void write_value(FILE *out, const struct value *value, bool notes, bool tabbed,
                        double width) {
    fprintf(out, "<g class=\"value\"");
    if (notes)
        fprintf(out, " tabindex=\"%d\"", tabbed ? 0 : -1);
    fprintf(out, "><title>%.*s</title>", (int)value->text_bytes, value->text);
    fwrite(value->elements, 1, (size_t)(value->rest - value->elements), out);
    if (notes)
        write_note(out, value, width);
}

static size_t count_values(const char *svg) {
    size_t count = 0;
    while ((svg = strstr(svg, before))) {
        svg += strlen(before);
        count++;
    }
    return count;
}

static double width_of(const char *svg) {
    const char *width = strstr(svg, "width=\"");
    return width ? strtod(width + strlen("width=\""), NULL) : 0;
}

char *spex_picture_values(const char *svg, bool notes) {
    char *text = NULL;
    size_t bytes = 0;
    bool tabbed = count_values(svg) <= TABBED_MOST;
    double width = width_of(svg);
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    struct value value;
    for (const char *at; (at = strstr(svg, before)) && value_at(at, &value); svg = value.rest) {
        fwrite(svg, 1, (size_t)(at - svg), out);
        write_value(out, &value, notes, tabbed, width);
    }
    fputs(svg, out);
    bool failed = ferror(out);
    if (fclose(out) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}
