/* SPDX-License-Identifier: MIT */
/* Axes and labels of pictures, as commands for gnuplot. Bins are drawn at whole numbers and
 * labelled by their values, so that logarithmic scales and categories need nothing of their own. */
#include "explore/picture/picture_axis.h"

#include <math.h>
#include <string.h>

#define LABEL_BYTES 64

void spex_script_parameter(const struct spex_script *script,
                           const struct spex_parameter *parameter) {
    char text[256];
    spex_parameter_heading(parameter, text, sizeof(text));
    spex_script_text(script, text);
}

/* In bytes, which for values are nearly always characters. */
static size_t longest_label(const struct spex_bins *bins) {
    char text[LABEL_BYTES];
    size_t longest = 0;
    for (size_t b = 0; b < bins->count; b++) {
        spex_bin_middle_text(bins, b, text, sizeof(text));
        size_t length = strlen(text);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Labels of tics are formats for numbers, in which a doubled percent sign is one. */
static void write_tic(const struct spex_script *script, const char *label, size_t at) {
    char format[2 * LABEL_BYTES];
    size_t length = 0;
    for (; *label; label++) {
        format[length++] = *label;
        if (*label == '%')
            format[length++] = '%';
    }
    format[length] = '\0';
    fputc('\'', script->out);
    spex_script_text(script, format);
    fprintf(script->out, "' %zu", at);
}

/* Labels every n-th bin so that labels do not overlap, two at least. */
void spex_script_bins(const struct spex_script *script, const char *axis,
                      const struct spex_bins *bins, size_t width) {
    bool lying = axis[0] == 'x';
    size_t labels = lying ? width / (longest_label(bins) + 2) : width / 2;
    labels = labels > 1 ? labels : 2;
    size_t every = (bins->count + labels - 1) / labels;
    char text[LABEL_BYTES];
    fprintf(script->out, "set %slabel '", axis);
    spex_script_parameter(script, bins->parameter);
    fprintf(script->out, "'\nset %stics (", axis);
    for (size_t b = 0; b < bins->count; b += every) {
        spex_bin_middle_text(bins, b, text, sizeof(text));
        fputs(b ? ", " : "", script->out);
        write_tic(script, text, b);
    }
    fprintf(script->out, ") out nomirror scale 0.5\nset %srange [-0.5:%zu.5]\n", axis,
            bins->count - 1);
}

/* gnuplot divides by powers of a thousand. About five numbers are on an axis, so that their step is
 * a fifth of the range, and decimals must tell them apart. */
void spex_script_numbers(const struct spex_script *script, const char *axis,
                         const struct spex_criterion *criterion, double low, double high) {
    double greatest = fmax(fabs(low), fabs(high)), step = (high - low) / 5;
    double scale = greatest > 0 ? pow(1000, floor(log10(greatest) / 3)) : 1;
    double decimals = step > 0 ? ceil(-log10(step / scale)) : 0;
    fprintf(script->out, "set format %s '%%.%.0fs %%c%s'\n", axis, fmin(fmax(decimals, 0), 6),
            spex_criterion_unit(criterion));
}

void spex_script_criterion(const struct spex_script *script, const char *axis,
                           const struct spex_summary *summary, size_t criterion) {
    const struct spex_criterion *of = &summary->space->criteria[criterion];
    double low = INFINITY, high = -INFINITY;
    char text[512];
    for (size_t g = 0; g < summary->count; g++)
        if (summary->groups[g].trials) {
            low = fmin(low, summary->groups[g].criteria[criterion].low);
            high = fmax(high, summary->groups[g].criteria[criterion].high);
        }
    spex_criterion_label(of, text, sizeof(text));
    fprintf(script->out, "set %slabel '", axis);
    spex_script_text(script, text);
    fputs("'\n", script->out);
    spex_script_numbers(script, axis, of, low, high);
}
