/* SPDX-License-Identifier: MIT */
/* Axes and labels of pictures, as commands for gnuplot. Bins are drawn at whole numbers and
 * labelled by their values, so that logarithmic scales and categories need nothing of their own. */
#include "explore/picture/picture_axis.h"

#include <math.h>
#include <string.h>

#include "measure/summary.h"

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

/* The distance of two numbers on an axis of so wide a range, as gnuplot chooses it: five to ten
 * numbers are on the axis. */
static double number_step(double range) {
    double power = pow(10, floor(log10(range))), first = range / power;
    return power * (first < 2 ? 0.2 : first < 5 ? 0.5 : 1);
}

/* gnuplot divides by powers of a thousand. Decimals must tell neighbouring numbers apart. */
void spex_script_numbers(const struct spex_script *script, const char *axis,
                         const struct spex_criterion *criterion, struct spex_axis_range range) {
    double greatest = fmax(fabs(range.low), fabs(range.high)), width = range.high - range.low;
    double scale = greatest > 0 ? pow(1000, floor(log10(greatest) / 3)) : 1;
    double decimals = width > 0 ? ceil(-log10(number_step(width) / scale) - 1e-9) : 0;
    fprintf(script->out, "set format %s '%%.%.0fs %%c%s'\n", axis, fmin(fmax(decimals, 0), 6),
            spex_criterion_unit(criterion));
}

void spex_script_criterion(const struct spex_script *script, const char *axis,
                           const struct spex_criterion *criterion, struct spex_axis_range range) {
    char text[512];
    spex_criterion_label(criterion, text, sizeof(text));
    fprintf(script->out, "set %slabel '", axis);
    spex_script_text(script, text);
    fputs("'\n", script->out);
    spex_script_numbers(script, axis, criterion, range);
}
