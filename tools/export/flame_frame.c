/* SPDX-License-Identifier: MIT */
#include "tools/export/flame_frame.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "text/html.h"
#include "text/quantity.h"

/* The widest that letters of the frames' fonts are, in pixels. */
#define GLYPH 7.5

/* Letters in front of "…" at least. */
enum { LETTERS_LEAST = 3, NAME_BYTES = 256 };

static size_t columns_of(char byte) {
    unsigned char first = (unsigned char)byte;
    return (first & 0xc0) == 0x80 ? 0 : first >= 0xe1 ? 2 : 1;
}

/* The script does the same. */
void spex_flame_name_put(FILE *out, const char *name, double pixels) {
    char begin[NAME_BYTES];
    double room = floor((pixels - 8) / GLYPH);
    size_t columns = 0, bytes = 0, used = 0;
    for (const char *at = name; *at; at++)
        columns += columns_of(*at);
    if ((double)columns <= room) {
        spex_html_text(out, name);
        return;
    }
    if (room < LETTERS_LEAST + 1)
        return;
    for (; name[bytes] && bytes + 1 < sizeof(begin); bytes++) {
        used += columns_of(name[bytes]);
        if ((double)used > room - 1)
            break;
        begin[bytes] = name[bytes];
    }
    begin[bytes] = '\0';
    spex_html_text(out, begin);
    fputs("…", out);
}

/* "\nexecutions: 3.4 k (12 %), itself 1.2 k" */
static void value_put(FILE *out, const struct spex_flame_frame *frame, unsigned measure,
                      const char *name, const char *unit) {
    char text[64];
    fprintf(out, "\n%s: %s", name,
            spex_quantity_text(frame->values[measure], NAN, unit, text, sizeof(text)));
    spex_html_format(out, " (%s)",
                     spex_percent_text(frame->shares[measure], 3, text, sizeof(text)));
    if (frame->own)
        fprintf(out, ", itself %s",
                spex_quantity_text(frame->own[measure], NAN, unit, text, sizeof(text)));
}

/* "\nitself, a second: 12 ms, before 8.1 ms" */
static void pace_put(FILE *out, const char *name, double now, double before, const char *unit) {
    char now_text[64], before_text[64];
    fprintf(out, "\n%s, a second: %s, before %s", name,
            spex_quantity_text(now, NAN, unit, now_text, sizeof(now_text)),
            spex_quantity_text(before, NAN, unit, before_text, sizeof(before_text)));
}

void spex_flame_frame_put(FILE *out, const struct spex_flame_frame *frame) {
    const struct spex_stack_change *change = frame->change;
    fprintf(out, "<svg class=\"%s\" x=\"%.7g%%\" y=\"%" PRIu32 "\" width=\"%.7g%%\" height=\"%d\"",
            frame->class, 100 * frame->begin, frame->row * SPEX_FLAME_ROW, 100 * frame->width,
            SPEX_FLAME_ROW);
    fprintf(out, " data-v=\"%" PRId32 " %.9g %.9g\"><title>", frame->caller,
            frame->values[SPEX_FLAME_TIME], frame->values[SPEX_FLAME_EXECUTIONS]);
    spex_html_text(out, frame->name);
    value_put(out, frame, SPEX_FLAME_TIME, "time", "s");
    value_put(out, frame, SPEX_FLAME_EXECUTIONS, "executions", "");
    if (change) {
        pace_put(out, "itself", change->now.seconds, change->before.seconds, "s");
        fputs(change->grade ? "" : " (may be chance)", out);
        pace_put(out, "executions", change->now.executions, change->before.executions, "");
    }
    fprintf(out, "</title><rect width=\"100%%\" height=\"%d\"/><text x=\"4\" y=\"13\">",
            SPEX_FLAME_ROW - 1);
    spex_flame_name_put(out, frame->name, frame->width * SPEX_FLAME_WIDTH);
    fputs("</text></svg>\n", out);
}
