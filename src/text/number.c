/* SPDX-License-Identifier: MIT */
/* Parses numbers. The forms are checked before the C library converts, because its functions also
 * take blanks, signs, hexadecimal numbers and words. */
#include "text/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/plain_numbers.h"

/* A leading zero is refused, as are "-0" and "": each number has one form only. */
bool spex_number_integer(const char *text, int64_t *value) {
    const char *digits = text + (*text == '-');
    bool leading_zero = digits[0] == '0' && (digits[1] != '\0' || digits != text);
    if (*digits == '\0' || leading_zero || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    *value = strtoll(text, NULL, 10);
    return errno == 0;
}

/* Converts the digits without strtod, which expects the decimal point of the program's locale.
 * Takes at most 9 digits before the point, and uses 12 digits behind it. */
bool spex_number_seconds(const char *text, double *value) {
    size_t whole = strspn(text, "0123456789");
    size_t point = text[whole] == '.';
    size_t rest = point ? strspn(text + whole + 1, "0123456789") : 0;
    if (whole == 0 || (point && rest == 0) || text[whole + point + rest] != '\0' || whole > 9)
        return false;
    double digits = 0, scale = 1;
    for (size_t d = 0; d < whole + point + rest && scale < 1e12; d++) {
        if (text[d] == '.')
            continue;
        digits = digits * 10 + (text[d] - '0');
        scale *= d > whole ? 10 : 1;
    }
    *value = digits / scale;
    return true;
}

/* A digit must come first, or behind the minus: strtod would also take blanks, "inf" and "nan". */
bool spex_number_real(const char *text, double *value) {
    const char *digits = text + (*text == '-');
    SPEX_PLAIN_NUMBERS;
    char *end;
    if (*digits < '0' || *digits > '9' || digits[strspn(digits, "0123456789.eE+-")] != '\0')
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

/* 17 digits tell each double apart. */
const char *spex_double_text(double value, char text[SPEX_DOUBLE_TEXT_BYTES]) {
    if (isnan(value))
        return "nan";
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, SPEX_DOUBLE_TEXT_BYTES, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            break;
    }
    return text;
}
