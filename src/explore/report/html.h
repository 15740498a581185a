/* SPDX-License-Identifier: MIT */
/* Text into HTML. */
#ifndef SPEX_EXPLORE_REPORT_HTML_H
#define SPEX_EXPLORE_REPORT_HTML_H

#include <stdio.h>

/* As people see it, whatever it contains; bytes that are no UTF-8 and control characters become
 * U+FFFD. */
void spex_html_text(FILE *out, const char *text);

/* Like printf; what it makes is escaped as a whole. */
__attribute__((format(printf, 2, 3))) void spex_html_format(FILE *out, const char *format, ...);

#endif
