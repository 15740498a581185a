/* SPDX-License-Identifier: MIT */
/* The program's relocations name the symbols that the loader looks for. */
#define _GNU_SOURCE
#include "preload/program_symbols.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* Entries of the section .dynamic; addresses are in memory. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations;
    size_t bytes;
};

/* The loader of glibc adds the base to these addresses in place, that of musl does not. */
static const void *address_of(uintptr_t base, uintptr_t address) {
    return (const void *)(address < base ? base + address : address);
}

static void dynamic_read(uintptr_t base, const ElfW(Dyn) * at, struct dynamic *dynamic) {
    for (; at->d_tag != DT_NULL; at++) {
        if (at->d_tag == DT_SYMTAB)
            dynamic->symbols = address_of(base, at->d_un.d_ptr);
        else if (at->d_tag == DT_STRTAB)
            dynamic->names = address_of(base, at->d_un.d_ptr);
        else if (at->d_tag == DT_RELA)
            dynamic->relocations = address_of(base, at->d_un.d_ptr);
        else if (at->d_tag == DT_RELASZ)
            dynamic->bytes = at->d_un.d_val;
    }
}

static bool dynamic_refers(const struct dynamic *dynamic, const char *symbol) {
    if (!dynamic->symbols || !dynamic->names || !dynamic->relocations)
        return false;
    for (size_t r = 0; r < dynamic->bytes / sizeof(*dynamic->relocations); r++) {
        size_t s = ELF64_R_SYM(dynamic->relocations[r].r_info);
        if (s && strcmp(dynamic->names + dynamic->symbols[s].st_name, symbol) == 0)
            return true;
    }
    return false;
}

struct search {
    const char *symbol;
    bool found;
};

/* The program comes first. */
static int program_look(struct dl_phdr_info *info, size_t size, void *user) {
    struct search *search = user;
    (void)size;
    for (int p = 0; p < info->dlpi_phnum; p++) {
        struct dynamic dynamic = {.bytes = 0};
        if (info->dlpi_phdr[p].p_type != PT_DYNAMIC)
            continue;
        const void *at = (const void *)(info->dlpi_addr + info->dlpi_phdr[p].p_vaddr);
        dynamic_read(info->dlpi_addr, at, &dynamic);
        search->found = dynamic_refers(&dynamic, search->symbol);
    }
    return 1;
}

bool spex_program_refers(const char *symbol) {
    struct search search = {.symbol = symbol};
    dl_iterate_phdr(program_look, &search);
    return search.found;
}
