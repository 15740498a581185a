/* SPDX-License-Identifier: MIT */
/* Any file as a configuration: refused with one line, or every parameter in it can be asked for. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <spex/config.h>

#include "memory_file.h"

static void ask(const struct spex_config *config, const char *name) {
    char why[64] = "";
    int64_t value = 0;
    const char *text = spex_config_text(config, name);
    int err = spex_config_integer(config, name, -5, 5, &value, why, sizeof(why));
    FUZZ_CHECK(text ? err == 0 || err == -EINVAL : err == -ENOENT);
    FUZZ_CHECK((err == 0) == (*why == '\0'));
    if (err == 0) {
        FUZZ_CHECK(value >= -5 && value <= 5 && strtoll(text, NULL, 10) == value);
        FUZZ_CHECK(strlen(text) == (value < 0 ? 2 : 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"threads", "cache", "mode", "a", "", "'\"<&"};
    struct spex_config *config;
    char why[512] = "";
    int err = spex_config_read(memory_file(data, size), &config, why, sizeof(why));
    if (err) {
        FUZZ_CHECK(!config && (err == -EINVAL || err == -EFBIG));
        FUZZ_CHECK(*why && !strchr(why, '\n'));
        return 0;
    }
    FUZZ_CHECK(*why == '\0');
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        ask(config, names[n]);
    spex_config_free(config);
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        "<?xml version='1.0' encoding='UTF-8'?>\n<configuration space='sqlite'>\n"
        "  <parameter name='threads' value='4'/>\n  <parameter name='cache' value='-5'/>\n"
        "  <parameter name='mode' value='&lt;&amp;&quot;'/>\n</configuration>\n",
        "<configuration space=''><parameter name='a' value=''/></configuration>",
        "<configuration/>",
    };
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {"<configuration space='s'>",
                                  "</configuration>",
                                  "<parameter ",
                                  "name='a' ",
                                  "value='1' ",
                                  "/>",
                                  ">",
                                  "'",
                                  "\"",
                                  " ",
                                  "\n",
                                  "-",
                                  "0",
                                  "5",
                                  "6",
                                  "9223372036854775808",
                                  "&amp;",
                                  "&#10;",
                                  "&#x1f600;",
                                  "&a;",
                                  "<!--",
                                  "-->",
                                  "<![CDATA[",
                                  "]]>",
                                  "<?",
                                  "?>",
                                  "<!DOCTYPE a>",
                                  "xmlns='u' ",
                                  "a:",
                                  "encoding='UTF-16'",
                                  "\xc3\xa9",
                                  "\xff",
                                  NULL};
