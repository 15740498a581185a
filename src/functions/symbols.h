/* SPDX-License-Identifier: MIT */
/* The symbols in an ELF file of this process's kind. Nothing in the file is trusted. */
#ifndef SPEX_FUNCTIONS_SYMBOLS_H
#define SPEX_FUNCTIONS_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spex_symbols {
    void *map;
    size_t bytes;
    const ElfW(Sym) * symbols;
    size_t count;
    const char *names;
    size_t names_bytes; /* the last is a 0 */
};

/* That of all symbols (SHT_SYMTAB), or of those that are linked when it is loaded (SHT_DYNSYM). 0; -ENOENT: it has no
 * such table; -ENOEXEC: it is no such file; or as opening it failed. To be closed after 0. */
int spex_symbols_open(struct spex_symbols *symbols, const char *path, uint32_t type);
void spex_symbols_close(struct spex_symbols *symbols);

/* "" where its name is not in the file. */
const char *spex_symbol_name(const struct spex_symbols *symbols, const ElfW(Sym) * symbol);

/* Whether something there calls what is so named elsewhere. */
bool spex_symbols_refer_to(const struct spex_symbols *symbols, const char *name);

#endif
