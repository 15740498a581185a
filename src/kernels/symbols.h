/* SPDX-License-Identifier: MIT */
/* Reads the symbols of an ELF file of this process's class and byte order. Nothing in the file is
 * trusted: all offsets are checked. */
#ifndef SPEX_KERNELS_SYMBOLS_H
#define SPEX_KERNELS_SYMBOLS_H

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
    /* Bytes of `names`; the last is 0. */
    size_t names_bytes;
};

/* Maps the file and finds a table: that of all symbols (SHT_SYMTAB), or that of the symbols that
 * are linked when the file is loaded (SHT_DYNSYM). 0; -ENOENT: the file has no such table;
 * -ENOEXEC: it is no such file; or the error of opening it. To be closed after 0. */
int spex_symbols_open(struct spex_symbols *symbols, const char *path, uint32_t type);
void spex_symbols_close(struct spex_symbols *symbols);

/* The symbol's name; "" if it lies outside of the file. */
const char *spex_symbol_name(const struct spex_symbols *symbols, const ElfW(Sym) * symbol);

/* Whether the file refers to a symbol of this name that another file defines. */
bool spex_symbols_refer_to(const struct spex_symbols *symbols, const char *name);

#endif
