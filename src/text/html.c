/* SPDX-License-Identifier: MIT */
/* Escapes text for HTML and XML. Texts come from stores and programs, so they may hold markup or bytes
 * that are not UTF-8; neither may change the page. */
#include "text/html.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The length of the UTF-8 sequence that begins here; 0 when it is not valid (RFC 3629): a stray or
 * missing continuation byte, an overlong form, a surrogate, or a value above U+10FFFF; also of U+FFFE
 * and U+FFFF, which no XML may have. Reads no further than the terminating 0, which is no
 * continuation byte. */
static size_t utf8_sequence_bytes(const unsigned char *text) {
    unsigned char c = text[0];
    size_t length = c < 0x80                ? 1
                    : c >= 0xc2 && c < 0xe0 ? 2
                    : (c & 0xf0) == 0xe0    ? 3
                    : c >= 0xf0 && c < 0xf5 ? 4
                                            : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (c == 0xe0 && text[1] < 0xa0) || (c == 0xf0 && text[1] < 0x90);
    bool beyond = (c == 0xed && text[1] >= 0xa0) || (c == 0xf4 && text[1] >= 0x90);
    bool none = c == 0xef && text[1] == 0xbf && text[2] >= 0xbe;
    return overlong || beyond || none ? 0 : length;
}

/* Length 0: a byte that is not UTF-8. "\xef\xbf\xbd" is U+FFFD. */
static void write_character(FILE *out, const unsigned char *text, size_t length) {
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *found = length == 1 ? strchr(special, text[0]) : NULL;
    bool control = length == 1 && (text[0] < ' ' || text[0] == 0x7f) && !strchr("\t\n", text[0]);
    if (found)
        fputs(names[found - special], out);
    else if (length == 0 || control)
        fputs("\xef\xbf\xbd", out);
    else
        fwrite(text, 1, length, out);
}

void spex_html_text(FILE *out, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t length = utf8_sequence_bytes(at);
        write_character(out, at, length);
        at += length ? length : 1;
    }
}

/* A result longer than the buffer is cut. A character that is cut becomes U+FFFD. */
void spex_html_format(FILE *out, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    spex_html_text(out, text);
}
