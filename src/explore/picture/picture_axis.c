/* SPDX-License-Identifier: MIT */
#include "explore/picture/picture_axis.h"

#include <string.h>

void spex_script_parameter(const struct spex_script *script,
                           const struct spex_parameter *parameter) {
    char text[256];
    spex_parameter_heading(parameter, text, sizeof(text));
    spex_script_text(script, text);
}

static size_t longest_label(const struct spex_bins *bins) {
    char text[64];
    size_t longest = 0;
    for (size_t b = 0; b < bins->count; b++) {
        spex_bin_middle_text(bins, b, text, sizeof(text));
        size_t length = strlen(text);
        longest = length > longest ? length : longest;
    }
    return longest;
}

void spex_script_bins(const struct spex_script *script, const char *axis,
                      const struct spex_bins *bins, size_t width) {
    bool lying = axis[0] == 'x';
    size_t labels = lying ? width / (longest_label(bins) + 2) : width / 2;
    labels = labels > 1 ? labels : 2;
    size_t every = (bins->count + labels - 1) / labels;
    char text[64];
    fprintf(script->out, "set %slabel '", axis);
    spex_script_parameter(script, bins->parameter);
    fprintf(script->out, "'\nset %stics (", axis);
    for (size_t b = 0; b < bins->count; b += every) {
        spex_bin_middle_text(bins, b, text, sizeof(text));
        fprintf(script->out, "%s'", b ? ", " : "");
        spex_script_text(script, text);
        fprintf(script->out, "' %zu", b);
    }
    fprintf(script->out, ") out nomirror scale 0.5\nset %srange [-0.5:%zu.5]\n", axis,
            bins->count - 1);
}

void spex_script_criterion(const struct spex_script *script, const char *axis,
                           const struct spex_criterion *criterion) {
    char text[512];
    spex_criterion_label(criterion, text, sizeof(text));
    fprintf(script->out, "set %slabel '", axis);
    spex_script_text(script, text);
    fputs("'\n", script->out);
}
