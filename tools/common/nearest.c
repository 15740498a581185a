/* SPDX-License-Identifier: MIT */
#include "tools/common/nearest.h"

#include <string.h>

/* Longer words are like nothing. */
enum { LETTERS_MAX = 32 };

static size_t least(size_t a, size_t b, size_t c) {
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* How many letters have to be added, left out or changed (Levenshtein). Two that have changed places
 * count once (Damerau, restricted). */
static size_t distance_of(const char *a, const char *b) {
    size_t rows[3][LETTERS_MAX + 1], width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= strlen(a); i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[strlen(a) % 3][width];
}

/* At most a third of the letters are others. */
struct spex_nearest spex_nearest_to(const char *typed) {
    return (struct spex_nearest){.typed = typed, .distance = strlen(typed) / 3 + 1};
}

void spex_nearest_look(struct spex_nearest *nearest, const char *word) {
    size_t letters = strlen(nearest->typed);
    if (letters > LETTERS_MAX || strlen(word) > LETTERS_MAX)
        return;
    size_t distance = letters > 1 && strncmp(nearest->typed, word, letters) == 0
                          ? 0
                          : distance_of(nearest->typed, word);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->found = word;
    }
}
