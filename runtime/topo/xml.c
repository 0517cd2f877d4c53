/* topo/xml.c - see xml.h */
#include "runtime/topo/xml.h"

#include <string.h>

#include "config.h"

const char *pipc__xml_get(const char **attributes, const char *name)
{
    for (; attributes[0]; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

#ifdef HAVE_EXPAT

#include <expat.h>

typedef struct parse {
    const pipc__xml_t *xml;
    XML_Parser parser;
    pipc__error_t why; /* without the file's name */
    pipc_status_t status;
    int depth;
} parse_t;

static void stop(parse_t *p, pipc_status_t status)
{
    p->status = status;
    XML_StopParser(p->parser, XML_FALSE);
}

static int line_of(const parse_t *p)
{
    return (int)XML_GetCurrentLineNumber(p->parser);
}

static void XMLCALL start(void *data, const XML_Char *name, const XML_Char **attributes)
{
    parse_t *p = data;
    pipc_status_t st = PIPC_OK;

    if (p->status) /* expat may call once more after a stop */
        return;
    if (++p->depth > PIPC__XML_DEPTH_MAX)
        st = pipc__fail(&p->why, PIPC_ERR_INVALID, "line %d: elements are nested deeper than %d",
                        line_of(p), PIPC__XML_DEPTH_MAX);
    else if (p->xml->start)
        st = p->xml->start(p->xml->user, name, attributes, line_of(p), &p->why);
    if (st)
        stop(p, st);
}

static void XMLCALL end(void *data, const XML_Char *name)
{
    parse_t *p = data;

    if (p->status)
        return;
    p->depth--;
    if (p->xml->end)
        p->xml->end(p->xml->user, name);
}

static void XMLCALL entity(void *data, const XML_Char *name, int is_parameter,
                           const XML_Char *value, int length, const XML_Char *base,
                           const XML_Char *system, const XML_Char *public, const XML_Char *notation)
{
    parse_t *p = data;

    (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system;
    (void)public, (void)notation;
    if (!p->status)
        stop(p, pipc__fail(&p->why, PIPC_ERR_INVALID,
                           "line %d: it defines entities, which no topology needs", line_of(p)));
}

bool pipc__xml_can_parse(void)
{
    return true;
}

pipc_status_t pipc__xml_parse(const pipc__xml_t *xml, const char *text, size_t len,
                              pipc__error_t *err)
{
    parse_t p = {.xml = xml, .parser = XML_ParserCreate(NULL)};

    if (!p.parser)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", xml->path);
    XML_SetUserData(p.parser, &p);
    XML_SetElementHandler(p.parser, start, end);
    XML_SetEntityDeclHandler(p.parser, entity);
    if (XML_Parse(p.parser, text, (int)len, 1) != XML_STATUS_OK && !p.status) {
        enum XML_Error why = XML_GetErrorCode(p.parser);
        p.status = why == XML_ERROR_NO_MEMORY ? PIPC_ERR_NOMEM : PIPC_ERR_INVALID;
        pipc__fail(&p.why, p.status, "line %d: XML: %s", line_of(&p), XML_ErrorString(why));
    }
    XML_ParserFree(p.parser);
    return p.status ? pipc__fail(err, p.status, "%s: %s", xml->path, p.why.text) : PIPC_OK;
}

#else

bool pipc__xml_can_parse(void)
{
    return false;
}

pipc_status_t pipc__xml_parse(const pipc__xml_t *xml, const char *text, size_t len,
                              pipc__error_t *err)
{
    (void)text;
    (void)len;
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                      "%s: this build can't read XML; install libexpat1-dev or expat-devel and "
                      "configure again",
                      xml->path);
}

#endif
