/* SPDX-License-Identifier: MIT */
/* With TEST_COMMA in the environment, the test is a program whose locale has a decimal comma: made
 * for it, as none may be installed. All that the test expects is to hold as without. It is left out
 * (77) where no locale can be made. */
#ifndef SPEX_TEST_COMMA_LOCALE_H
#define SPEX_TEST_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of all categories but that of numbers the plain ones, which localedef makes in a moment. It warns
 * that some are missing, and fails then, though it has made the others (-c). */
static const char comma_script[] =
    "cd \"$LOCPATH\" && {\n"
    "  printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \".\"\\ngrouping 3\\nEND "
    "LC_NUMERIC\\n'\n"
    "  for category in CTYPE COLLATE TIME MONETARY MESSAGES; do\n"
    "    printf 'LC_%s\\ncopy \"POSIX\"\\nEND LC_%s\\n' $category $category\n"
    "  done\n"
    "} >source && localedef -c -i ./source -f ANSI_X3.4-1968 ./comma >told 2>&1";

__attribute__((constructor)) static void comma_locale_set(void) {
    char folder[] = "/tmp/spex-locale-XXXXXX", clean[64], number[8];
    if (!getenv("TEST_COMMA") || !mkdtemp(folder))
        return;
    setenv("LOCPATH", folder, 1);
    setenv("LC_ALL", "comma", 1);
    bool made = system(comma_script) != -1 && setlocale(LC_ALL, "");
    snprintf(clean, sizeof(clean), "rm -r %s", folder);
    if (system(clean) != 0 || !made) {
        fputs("SKIP: no locale with a decimal comma can be made: localedef failed\n", stderr);
        _exit(77);
    }
    snprintf(number, sizeof(number), "%.1f", 0.5);
    if (strcmp(number, "0,5") != 0)
        abort();
}

#endif
