/* SPDX-License-Identifier: MIT */
#include "text/csv_cell.h"

#include <math.h>
#include <string.h>

#include "text/plain_numbers.h"
#include "text/quantity.h"

void spex_csv_cell_text(FILE *out, const char *text) {
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void spex_csv_cell_number(FILE *out, double number) {
    SPEX_PLAIN_NUMBERS;
    if (isfinite(number))
        fprintf(out, "%.*g", SPEX_PLAIN_DIGITS, number);
}
