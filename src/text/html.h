/* SPDX-License-Identifier: MIT */
/* Escapes text for HTML and XML. */
#ifndef SPEX_TEXT_HTML_H
#define SPEX_TEXT_HTML_H

#include <stdio.h>

/* Writes a text so that a browser shows it unchanged, in elements and in attributes; bytes that are
 * not UTF-8 and control characters become U+FFFD. */
void spex_html_text(FILE *out, const char *text);

/* Like printf; the whole result is escaped. */
__attribute__((format(printf, 2, 3))) void spex_html_format(FILE *out, const char *format, ...);

#endif
