/* topo/xml.h - XML that came from anywhere, by expat, with bounds */
#ifndef PIPC_TOPO_XML_H
#define PIPC_TOPO_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/error.h"

#define PIPC__XML_DEPTH_MAX 256 /* elements in elements */

typedef struct pipc__xml {
    const char *path; /* for error texts */
    /* An element begins at @line, ends. @attributes: name, value, name, value, NULL. start()
     * returns a status and fills @err as "line N: ...", which ends the parse. Both NULL: look only
     * whether the text is well-formed. */
    pipc_status_t (*start)(void *user, const char *name, const char **attributes, int line,
                           pipc__error_t *err);
    void (*end)(void *user, const char *name);
    void *user;
} pipc__xml_t;

/* Was this built with expat? If not, pipc__xml_parse() is PIPC_ERR_UNSUPPORTED. */
bool pipc__xml_can_parse(void);

/* Parse text[len]. PIPC_ERR_INVALID, and @err names the file and the line, when it is not
 * well-formed, nests deeper than PIPC__XML_DEPTH_MAX or defines entities, which nothing that we
 * read needs and which can make gigabytes of a few lines. Nothing is loaded from elsewhere. */
pipc_status_t pipc__xml_parse(const pipc__xml_t *xml, const char *text, size_t len,
                              pipc__error_t *err);

/* The value of an attribute, or NULL. */
const char *pipc__xml_get(const char **attributes, const char *name);

#endif
