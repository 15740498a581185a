/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/slots/slot_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>

#include "observe/objects/elf_file.h"
#include "observe/objects/mapped_objects.h"

/* Bytes of code that are looked through at most; a page; and those of an opcode in front of a displacement. */
#define CODE_BYTES_MOST (UINT64_C(1) << 30)
enum { PAGE = 4096, DISPLACEMENT = 4 };

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A section that lies within the file; NULL: there is none behind that. */
static Elf_Scn *next_section(const struct spex_elf_file *file, Elf_Scn *section, Elf64_Word type,
                             GElf_Shdr *header) {
    while ((section = elf_nextscn(file->elf, section)))
        if (gelf_getshdr(section, header) && header->sh_type == type &&
            !(header->sh_flags & SHF_COMPRESSED) && header->sh_offset <= file->bytes &&
            header->sh_size <= file->bytes - header->sh_offset)
            return section;
    return NULL;
}

static bool add_needed(struct spex_slot_object *object, const char *name) {
    char **grown = realloc(object->needed, (object->needed_count + 1) * sizeof(*grown));
    char *copy = strdup(name);
    if (grown)
        object->needed = grown;
    if (!grown || !copy) {
        free(copy);
        return false;
    }
    grown[object->needed_count++] = copy;
    return true;
}

/* Its name, and those of the objects that it needs. */
static bool read_names(const struct spex_elf_file *file, struct spex_slot_object *object) {
    GElf_Shdr header;
    Elf_Scn *section = next_section(file, NULL, SHT_DYNAMIC, &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    size_t count = data ? data->d_size / sizeof(Elf64_Dyn) : 0;
    for (size_t d = 0; d < count && d < INT32_MAX; d++) {
        GElf_Dyn entry;
        if (!gelf_getdyn(data, (int)d, &entry) || entry.d_tag == DT_NULL)
            break;
        const char *text = elf_strptr(file->elf, header.sh_link, entry.d_un.d_val);
        if (entry.d_tag == DT_NEEDED && text && !add_needed(object, text))
            return false;
        if (entry.d_tag == DT_SONAME && text) {
            free(object->name);
            object->name = strdup(text);
        }
        object->stays |= entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NODELETE);
    }
    return object->name != NULL;
}

/* The first segment with code, and where it is in the process. */
static bool read_code(const struct spex_elf_file *file, pid_t process,
                      struct spex_slot_object *object) {
    uint64_t address;
    for (size_t s = 0; s < file->segment_count; s++) {
        const Elf64_Phdr *segment = &file->segments[s];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        object->code = segment->p_vaddr;
        object->code_bytes = segment->p_filesz;
        object->code_offset = segment->p_offset;
        if (segment->p_filesz > CODE_BYTES_MOST || segment->p_offset > file->bytes ||
            segment->p_filesz > file->bytes - segment->p_offset ||
            spex_mapped_object_address(process, file->fd, segment->p_offset, &address) != 0)
            return false;
        object->base = address - segment->p_vaddr;
        return true;
    }
    return false;
}

static void free_object(struct spex_slot_object *object) {
    for (size_t n = 0; n < object->needed_count; n++)
        free(object->needed[n]);
    free(object->needed);
    free(object->file);
    free(object->name);
    if (object->fd >= 0)
        close(object->fd);
}

static bool is_program(pid_t process, int fd) {
    char path[64];
    struct stat program, file;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)process);
    return stat(path, &program) == 0 && fstat(fd, &file) == 0 && program.st_dev == file.st_dev &&
           program.st_ino == file.st_ino;
}

/* For spex_mapped_objects_visit. What cannot be read has no slots. */
static void take_file(void *user, const char *path, int fd, const char *unreadable) {
    struct spex_slot_objects *objects = user;
    struct spex_elf_file file;
    struct spex_error error;
    (void)unreadable;
    if (fd < 0 || spex_elf_file_open(fd, path, &file, &error) != 0)
        return;
    struct spex_slot_object object = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3),
                                      .file = strdup(last_part(path)),
                                      .name = strdup(""),
                                      .program = is_program(objects->process, fd)};
    struct spex_slot_object *grown =
        realloc(objects->items, (objects->count + 1) * sizeof(*objects->items));
    if (grown)
        objects->items = grown;
    object.stays = object.program;
    if (grown && object.fd >= 0 && object.file && object.name &&
        read_code(&file, objects->process, &object) && read_names(&file, &object))
        grown[objects->count++] = object;
    else
        free_object(&object);
    spex_elf_file_close(&file);
}

static bool needs(const struct spex_slot_object *object, const struct spex_slot_object *other) {
    for (size_t n = 0; n < object->needed_count; n++) {
        const char *needed = last_part(object->needed[n]);
        if (strcmp(needed, other->file) == 0 || strcmp(needed, other->name) == 0)
            return true;
    }
    return false;
}

/* What is loaded with the program is never unloaded: what it needs, and what that needs. */
static void find_staying(struct spex_slot_objects *objects) {
    bool more = true;
    while (more) {
        more = false;
        for (size_t o = 0; o < objects->count; o++)
            for (size_t other = 0; objects->items[o].stays && other < objects->count; other++)
                if (!objects->items[other].stays &&
                    needs(&objects->items[o], &objects->items[other]))
                    objects->items[other].stays = more = true;
    }
}

int spex_slot_objects_read(struct spex_slot_objects *objects, pid_t process, int memory,
                           struct spex_error *error) {
    *objects = (struct spex_slot_objects){.process = process, .memory = memory};
    int err = spex_mapped_objects_visit(process, take_file, objects, error);
    find_staying(objects);
    return err;
}

void spex_slot_objects_free(struct spex_slot_objects *objects) {
    for (size_t o = 0; o < objects->count; o++)
        free_object(&objects->items[o]);
    free(objects->items);
    *objects = (struct spex_slot_objects){.items = NULL};
}

/* What is told of the slots of an object. */
struct visit {
    const struct spex_slot_objects *objects;
    const struct spex_elf_file *file;
    struct spex_slot slot;
    void (*seen)(void *user, const struct spex_slot *slot);
    void *user;
    /* The page that was read last. */
    uint64_t page;
    uint8_t bytes[PAGE];
};

static bool use_of(uint32_t type, enum spex_slot_use *use) {
    *use = SPEX_SLOT_POINTER;
    switch (type) {
#ifdef __x86_64__
    case R_X86_64_JUMP_SLOT:
        *use = SPEX_SLOT_CALLED;
        return true;
    case R_X86_64_GLOB_DAT:
        *use = SPEX_SLOT_READ;
        return true;
    case R_X86_64_64:
    case R_X86_64_RELATIVE:
        return true;
#endif
    default:
        return false;
    }
}

/* The name of what a relocation is of; NULL: it cannot be told. */
static const char *name_of(const struct visit *visit, size_t symbols, uint64_t index) {
    GElf_Shdr header;
    GElf_Sym symbol;
    Elf_Scn *section = elf_getscn(visit->file->elf, symbols);
    if (!index)
        return "";
    if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM ||
        header.sh_offset > visit->file->bytes ||
        header.sh_size > visit->file->bytes - header.sh_offset || index > INT32_MAX)
        return NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    return data && gelf_getsym(data, (int)index, &symbol)
               ? elf_strptr(visit->file->elf, header.sh_link, symbol.st_name)
               : NULL;
}

/* Slots are next to each other. */
static bool read_value(struct visit *visit, const GElf_Rela *entry) {
    struct spex_slot *slot = &visit->slot;
    uint64_t page = slot->address & ~(uint64_t)(PAGE - 1);
    if (slot->use == SPEX_SLOT_POINTER && !GELF_R_SYM(entry->r_info)) {
        slot->value = slot->object->base + (uint64_t)entry->r_addend;
        return true;
    }
    if (slot->address % sizeof(slot->value) != 0)
        return false;
    if (visit->page != page &&
        pread(visit->objects->memory, visit->bytes, PAGE, (off_t)page) != PAGE)
        return false;
    visit->page = page;
    memcpy(&slot->value, visit->bytes + slot->address % PAGE, sizeof(slot->value));
    return true;
}

static void visit_table(struct visit *visit, Elf_Scn *section, const GElf_Shdr *header) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count =
        data && header->sh_entsize == sizeof(Elf64_Rela) ? data->d_size / sizeof(Elf64_Rela) : 0;
    for (size_t r = 0; r < count && r < INT32_MAX; r++) {
        GElf_Rela entry;
        struct spex_slot *slot = &visit->slot;
        if (!gelf_getrela(data, (int)r, &entry) ||
            !use_of((uint32_t)GELF_R_TYPE(entry.r_info), &slot->use))
            continue;
        slot->name = name_of(visit, header->sh_link, GELF_R_SYM(entry.r_info));
        slot->address = entry.r_offset + slot->object->base;
        if (slot->name && read_value(visit, &entry))
            visit->seen(visit->user, slot);
    }
}

void spex_slot_objects_visit(const struct spex_slot_objects *objects,
                             void (*seen)(void *user, const struct spex_slot *slot), void *user) {
    for (size_t o = 0; o < objects->count; o++) {
        struct spex_elf_file file;
        struct spex_error error;
        GElf_Shdr header;
        struct visit visit = {.objects = objects, .file = &file, .seen = seen, .user = user};
        visit.slot.object = &objects->items[o];
        if (spex_elf_file_open(objects->items[o].fd, objects->items[o].file, &file, &error) != 0)
            continue;
        for (Elf_Scn *section = NULL; (section = next_section(&file, section, SHT_RELA, &header));)
            if (header.sh_flags & SHF_ALLOC)
                visit_table(&visit, section, &header);
        spex_elf_file_close(&file);
    }
}

/* Whether the bytes in front of a displacement are those of call *…(%rip) or jmp *…(%rip). */
static bool goes_through(const uint8_t *displacement) {
    return displacement[-2] == 0xff && (displacement[-1] == 0x15 || displacement[-1] == 0x25);
}

/* A call or a jump; what has no displacement else is a nop in front of a function. */
static bool is_near(uint8_t opcode) {
    return opcode == 0xe8 || opcode == 0xe9;
}

size_t spex_slot_objects_references(const struct spex_slot_object *object, uint64_t address,
                                    size_t *other) {
    uint8_t *code = malloc(object->code_bytes + 1);
    ssize_t got =
        code ? pread(object->fd, code, object->code_bytes, (off_t)object->code_offset) : -1;
    size_t found = 0, bytes = got < 0 ? 0 : (size_t)got;
    uint64_t begin = object->code + object->base;
    *other = got < 0;
    for (size_t at = 2; at + DISPLACEMENT <= bytes; at++) {
        int32_t displacement;
        memcpy(&displacement, code + at, sizeof(displacement));
        if (begin + at + DISPLACEMENT + (uint64_t)(int64_t)displacement != address ||
            (!displacement && !is_near(code[at - 1])))
            continue;
        found++;
        *other += !goes_through(code + at);
    }
    free(code);
    return found;
}

/* Behind the end of a segment, what is left of its last page is mapped, too. */
static uint64_t room_of(const struct spex_slot_objects *objects,
                        const struct spex_slot_object *object, size_t bytes) {
    uint8_t there[PAGE], expected[PAGE];
    uint64_t into = (object->code_bytes + 15) & ~UINT64_C(15);
    uint64_t address = object->code + object->base + into;
    if ((PAGE - address % PAGE) % PAGE < bytes || bytes > PAGE)
        return 0;
    memset(expected, 0, bytes);
    if (pread(object->fd, expected, bytes, (off_t)(object->code_offset + into)) < 0 ||
        pread(objects->memory, there, bytes, (off_t)address) != (ssize_t)bytes)
        return 0;
    return memcmp(there, expected, bytes) == 0 ? address : 0;
}

uint64_t spex_slot_objects_room(const struct spex_slot_objects *objects, size_t bytes) {
    uint64_t room = 0;
    for (size_t o = 0; !room && o < objects->count; o++)
        if (objects->items[o].stays)
            room = room_of(objects, &objects->items[o], bytes);
    return room;
}
