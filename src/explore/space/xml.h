/* SPDX-License-Identifier: MIT */
/* Reading small XML files strictly: every element and attribute must be one that is known, and an
 * error says in which line and element and what was expected. Values are attributes; there is no
 * text. */
#ifndef SPEX_EXPLORE_SPACE_XML_H
#define SPEX_EXPLORE_SPACE_XML_H

#include <errno.h>
#include <stddef.h>

#include <libxml/tree.h>

#include "text/error.h"

/* Larger files are not read: nothing that people write comes near. */
#define SPEX_XML_BYTES_MAX (1 << 20)

struct spex_xml {
    const char *path; /* for messages; the caller's */
    char *text;       /* owned: the file as it was read */
    size_t length;
    xmlDoc *document;
    struct spex_error *error;
};

/* 0; -EINVAL for what is no XML; or as reading the file failed. */
int spex_xml_read_file(struct spex_xml *xml, const char *path, struct spex_error *error);

/* The same from memory; `path` is for messages. */
int spex_xml_read_text(struct spex_xml *xml, const char *path, const char *text,
                       struct spex_error *error);

void spex_xml_free(struct spex_xml *xml);

/* The document's element; -EINVAL when it is not called `name`. */
int spex_xml_root(struct spex_xml *xml, const char *name, const xmlNode **root);

/* The first child element, and the next sibling; NULL at the end. */
const xmlNode *spex_xml_child(const xmlNode *element);
const xmlNode *spex_xml_next(const xmlNode *element);

const char *spex_xml_name(const xmlNode *element);

/* -EINVAL unless every attribute is in `known`, which ends with NULL, and there is neither text
 * nor, without `children`, a child element. */
int spex_xml_check(struct spex_xml *xml, const xmlNode *element, const char *const *known,
                   int children);

/* An attribute's value, living as long as the document, or NULL. */
const char *spex_xml_attribute(const xmlNode *element, const char *name);

/* The same; -EINVAL when it is not there or empty. */
int spex_xml_required(struct spex_xml *xml, const xmlNode *element, const char *name,
                      const char **value);

/* Writes "path:line: <element>: …". */
__attribute__((format(printf, 3, 4))) void spex_xml_complain(struct spex_xml *xml,
                                                             const xmlNode *element,
                                                             const char *format, ...);

#define spex_xml_fail(xml, element, ...) (spex_xml_complain((xml), (element), __VA_ARGS__), -EINVAL)

#endif
