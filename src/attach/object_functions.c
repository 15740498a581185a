/* SPDX-License-Identifier: MIT */
#include "attach/object_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>

#include "attach/code/decode.h"
#include "observe/objects/elf_file.h"
#include "text/printable.h"

/* The code of an object at most: above that of the largest browsers. */
#define TEXT_BYTES_MAX (UINT64_C(1) << 30)

/* Symbols are added to the room that is left. */
struct reading {
    const struct spex_elf_file *file;
    struct spex_object_functions *functions;
    size_t room;
};

/* Reads the first segment with code. A part of it that the file lacks is left out. */
static int read_text(const struct spex_elf_file *file, struct spex_object_functions *functions,
                     struct spex_error *error) {
    const Elf64_Phdr *segment = file->segments;
    size_t left = file->segment_count;
    while (left && (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)))
        left--, segment++;
    if (!left || !segment->p_filesz)
        return 0;
    if (segment->p_filesz > TEXT_BYTES_MAX || segment->p_offset > file->bytes ||
        segment->p_vaddr > UINT64_MAX - segment->p_filesz)
        return spex_fail(error, -EINVAL, "%s has code outside of the file", file->name);
    uint64_t there = file->bytes - segment->p_offset;
    functions->code.size = segment->p_filesz < there ? segment->p_filesz : there;
    functions->text = malloc(functions->code.size + 1);
    if (!functions->text)
        return spex_fail(error, -ENOMEM, "out of memory");
    functions->code.address = segment->p_vaddr;
    functions->code.bytes = functions->text;
    functions->offset = segment->p_offset;
    functions->code.size =
        spex_elf_file_at(file, segment->p_vaddr, functions->text, functions->code.size);
    return 0;
}

static bool is_code(const struct spex_object_functions *functions, uint64_t address) {
    return address - functions->code.address < functions->code.size;
}

/* What the segment has no room for belongs to no function. */
static uint64_t size_within(const struct spex_object_functions *functions, const GElf_Sym *symbol) {
    uint64_t most = functions->code.address + functions->code.size - symbol->st_value;
    return symbol->st_size < most ? symbol->st_size : most;
}

/* Takes a symbol of a function that the object defines. */
static int take_symbol(struct reading *reading, const GElf_Sym *symbol, const char *name,
                       struct spex_error *error) {
    struct spex_object_functions *functions = reading->functions;
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF || !name ||
        !*name || !is_code(functions, symbol->st_value))
        return 0;
    if (functions->count == SPEX_OBJECT_SYMBOLS_MAX)
        return spex_fail(error, -E2BIG, "%s has more than %d functions", reading->file->name,
                         SPEX_OBJECT_SYMBOLS_MAX);
    if (functions->count == reading->room) {
        size_t room = reading->room ? 2 * reading->room : 1024;
        struct spex_object_function *grown = realloc(functions->items, room * sizeof(*grown));
        if (!grown)
            return spex_fail(error, -ENOMEM, "out of memory");
        functions->items = grown;
        reading->room = room;
    }
    char *copy = strndup(name, strcspn(name, "@"));
    if (!copy)
        return spex_fail(error, -ENOMEM, "out of memory");
    spex_make_printable(copy);
    functions->items[functions->count++] =
        (struct spex_object_function){.name = copy,
                                      .address = symbol->st_value,
                                      .size = size_within(functions, symbol),
                                      .resolver = type == STT_GNU_IFUNC};
    return 0;
}

/* A table that libelf cannot read is left out. */
static int take_table(struct reading *reading, Elf_Scn *section, const GElf_Shdr *header,
                      struct spex_error *error) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count =
        data && header->sh_entsize == sizeof(Elf64_Sym) ? data->d_size / sizeof(Elf64_Sym) : 0;
    for (size_t s = 0; s < count && s < INT32_MAX; s++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)s, &symbol))
            continue;
        const char *name = elf_strptr(reading->file->elf, header->sh_link, symbol.st_name);
        int err = take_symbol(reading, &symbol, name, error);
        if (err)
            return err;
    }
    return 0;
}

/* The size of a table is checked because libelf reads all of it. */
static int read_symbols(struct reading *reading, struct spex_error *error) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(reading->file->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_flags & SHF_COMPRESSED ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
            header.sh_offset > reading->file->bytes ||
            header.sh_size > reading->file->bytes - header.sh_offset)
            continue;
        int err = take_table(reading, section, &header, error);
        if (err)
            return err;
    }
    return 0;
}

static int by_address(const void *a, const void *b) {
    const struct spex_object_function *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    int names = strcmp(one->name, other->name);
    return names ? names : (one->size < other->size) - (one->size > other->size);
}

/* Both tables of an object have most of its functions. */
static void drop_doubles(struct spex_object_functions *functions) {
    size_t kept = 0;
    for (size_t f = 0; f < functions->count; f++) {
        struct spex_object_function *item = &functions->items[f];
        functions->preempted |= strcmp(item->name, "runtime.asyncPreempt") == 0;
        struct spex_object_function *last = kept ? &functions->items[kept - 1] : NULL;
        if (last && last->address == item->address && strcmp(last->name, item->name) == 0) {
            last->resolver |= item->resolver;
            free(item->name);
        } else {
            functions->items[kept++] = *item;
        }
    }
    functions->count = kept;
}

int spex_object_functions_read(int fd, const char *name, struct spex_object_functions *functions,
                               struct spex_error *error) {
    struct spex_elf_file file;
    *functions = (struct spex_object_functions){.items = NULL};
    int err = spex_elf_file_open(fd, name, &file, error);
    if (err)
        return err;
    struct reading reading = {.file = &file, .functions = functions};
    err = read_text(&file, functions, error);
    if (!err)
        err = read_symbols(&reading, error);
    spex_elf_file_close(&file);
    if (err) {
        spex_object_functions_free(functions);
        return err;
    }
    if (functions->count)
        qsort(functions->items, functions->count, sizeof(*functions->items), by_address);
    drop_doubles(functions);
    return 0;
}

void spex_object_functions_free(struct spex_object_functions *functions) {
    for (size_t f = 0; f < functions->count; f++)
        free(functions->items[f].name);
    free(functions->items);
    free(functions->text);
    spex_near_jumps_free(&functions->jumps);
    *functions = (struct spex_object_functions){.items = NULL};
}

size_t spex_object_functions_at(const struct spex_object_functions *functions, uint64_t address) {
    size_t low = 0, high = functions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions->items[middle].address >= address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct spex_code code_of(const struct spex_object_functions *functions, uint64_t address,
                                uint64_t size) {
    size_t most;
    const uint8_t *bytes = spex_object_functions_bytes(functions, address, &most);
    return (struct spex_code){bytes, address, size < most ? size : most};
}

/* What the callbacks of a placement need. */
struct place_of {
    const struct spex_object_functions *functions;
    uint64_t address, end;
};

/* Compilers put what is seldom executed elsewhere, as a function called NAME.cold. */
static bool is_part(const struct spex_object_function *function) {
    const char *cold = strstr(function->name, ".cold");
    return cold && cold != function->name && (cold[5] == '\0' || cold[5] == '.');
}

/* The function whose code the address is in, by the nearest symbol at it or before; NULL: none. */
static const struct spex_object_function *function_around(
    const struct spex_object_functions *functions, uint64_t address) {
    size_t f = spex_object_functions_at(functions, address);
    if (f < functions->count && functions->items[f].address == address)
        return &functions->items[f];
    return f ? &functions->items[f - 1] : NULL;
}

static enum spex_beyond beyond(void *user, uint64_t address, struct spex_code *part) {
    const struct place_of *of = user;
    const struct spex_object_function *function = function_around(of->functions, address);
    if (!is_code(of->functions, address) || !function)
        return SPEX_BEYOND_UNKNOWN;
    if (is_part(function) && address - function->address < function->size) {
        *part = code_of(of->functions, function->address, function->size);
        return SPEX_BEYOND_PART;
    }
    return function->address == address ? SPEX_BEYOND_FUNCTION : SPEX_BEYOND_UNKNOWN;
}

/* A short jump reaches 128 bytes from its end. */
enum { SHORT_REACH = 130 };

/* Whether code from `at` up to `end` may jump above `from`, up to `to`. What cannot be decoded may. */
static bool jumps_into(const struct spex_object_functions *functions, uint64_t at, uint64_t end,
                       uint64_t from, uint64_t to) {
    while (at < end) {
        struct spex_instruction instruction;
        struct spex_code code = code_of(functions, at, UINT64_MAX);
        if (!spex_decode(code.bytes, code.size, at, &instruction))
            return true;
        bool jump = instruction.flow == SPEX_FLOW_JUMP || instruction.flow == SPEX_FLOW_BRANCH;
        if (jump && instruction.target > from && instruction.target <= to)
            return true;
        at += instruction.bytes;
    }
    return false;
}

/* Whether another function begins there, which the first one goes on as. */
static bool begins_another(const struct spex_object_functions *functions, uint64_t from,
                           uint64_t to) {
    size_t next = spex_object_functions_at(functions, from + 1);
    return functions->items && next < functions->count && functions->items[next].address <= to;
}

/* By near jumps from anywhere, and short ones from the neighbours. Where instructions begin is known
 * of functions before, and at the end of this one. */
static bool reached(void *user, uint64_t from, uint64_t to) {
    const struct place_of *of = user;
    const struct spex_object_functions *functions = of->functions;
    uint64_t first = functions->code.address, last = first + functions->code.size;
    uint64_t near = of->address - first > SHORT_REACH ? of->address - SHORT_REACH : first;
    const struct spex_object_function *before = function_around(functions, near);
    uint64_t begin = before ? before->address : of->address;
    uint64_t far = last - to > SHORT_REACH ? to + SHORT_REACH : last;
    return spex_near_jumps_reach(&functions->jumps, from, to) ||
           begins_another(functions, from, to) ||
           jumps_into(functions, begin, of->address, from, to) ||
           (of->end < far && jumps_into(functions, of->end, far, from, to));
}

/* Where a symbol has no size, the next one may begin within the function. */
int spex_object_functions_place(struct spex_object_functions *functions, size_t index,
                                struct spex_placement *placement) {
    const struct spex_object_function *function = &functions->items[index];
    if (!functions->jumps_found) {
        int err = spex_near_jumps_find(&functions->jumps, &functions->code);
        if (err)
            return err;
        functions->jumps_found = true;
    }
    struct place_of of = {functions, function->address, function->address + function->size};
    const struct spex_function_code code = {
        .code = code_of(functions, function->address, function->size ? function->size : UINT64_MAX),
        .bounded = function->size > 0,
        .user = &of,
        .beyond = beyond,
        .reached = reached};
    spex_place(&code, placement);
    /* Of a part its function may have addresses in a table. */
    if (is_part(function))
        placement->patch.refused = "it is a part of another function";
    if (functions->preempted)
        placement->patch.refused = "it is of Go, where it may be left at any instruction";
    return 0;
}

/* The first instruction at an address or behind it, of the function that has it by its size; 0: it is of none, or cannot
 * be decoded. */
static uint64_t instruction_from(const struct spex_object_functions *functions, uint64_t address) {
    const struct spex_object_function *function = function_around(functions, address);
    if (!function || !is_code(functions, address) ||
        (function->size && address - function->address >= function->size))
        return 0;
    uint64_t at = function->address;
    while (at < address) {
        struct spex_instruction instruction;
        struct spex_code code = code_of(functions, at, UINT64_MAX);
        if (!spex_decode(code.bytes, code.size, at, &instruction))
            return 0;
        at += instruction.bytes;
    }
    return at;
}

bool spex_object_functions_is_instruction(const struct spex_object_functions *functions,
                                          uint64_t address) {
    return address && instruction_from(functions, address) == address;
}

/* Without a size the next function may have begun, of which nothing is known. */
bool spex_object_functions_is_within(const struct spex_object_functions *functions,
                                     uint64_t address) {
    const struct spex_object_function *function = function_around(functions, address);
    uint64_t from = function && function->size ? instruction_from(functions, address) : address;
    return from && from != address;
}
