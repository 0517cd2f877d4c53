/* prolog/text_line.c - see text_line.h */
#include "prolog/text_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "prolog/text_entry.h"

#define HEX "0123456789abcdefABCDEF"
#define BLANK " \t"
#define HOST "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

/* ---- quoting --------------------------------------------------------------------------------- */

static const struct {
    const char *as;
    char is; /* '\0': nothing */
} entities[] = {
    {"&gt;", '>'},   {"&lt;", '<'},   {"&amp;", '&'},    {"&quot;", '"'},
    {"&nbsp;", ' '}, {"&#39;", '\''}, {"\xc2\xa0", ' '}, {"\xef\xbb\xbf", '\0'},
};

static void decode(char *line)
{
    char *out = line;

    for (const char *p = line; *p;) {
        size_t i = 0, n = sizeof(entities) / sizeof(entities[0]);
        while (i < n && strncmp(p, entities[i].as, strlen(entities[i].as)) != 0)
            i++;
        if (i == n) {
            *out++ = *p++;
            continue;
        }
        p += strlen(entities[i].as);
        if (entities[i].is)
            *out++ = entities[i].is;
    }
    *out = '\0';
}

/* "<pre>", "</code>", and no level of a kernel's log, "<4>" */
static char *after_tag(char *line)
{
    bool tag = *line == '<' && (isalpha((unsigned char)line[1]) || line[1] == '/');
    char *end = tag ? strchr(line, '>') : NULL;

    return end ? end + 1 : line;
}

char *pipc__text_plain(char *line)
{
    char *next;

    if (strpbrk(line, "&\xc2\xef"))
        decode(line);
    while ((next = after_tag(line)) != line)
        line = next;
    if (*line == '+')
        return line + 1;
    while (*line == '>') {
        line++;
        line += *line == ' ';
    }
    return line;
}

/* ---- whose it is ------------------------------------------------------------------------------
 */

/* The address at @text, and what follows it. */
static const char *address_at(const char *text, pipc__pci_addr_t *addr, bool *domain)
{
    size_t n = strspn(text, HEX ":.");
    char word[PIPC__NAME_MAX];

    if (n < 7 || n >= sizeof(word) || (text[n] && !strchr(BLANK, text[n])))
        return NULL;
    memcpy(word, text, n);
    word[n - (word[n - 1] == ':')] = '\0'; /* "41:00.0: ", as people write lists */
    const char *colon = strchr(word, ':');
    *domain = colon && strchr(colon + 1, ':');
    return pipc__pci_parse(word, addr) ? text + n : NULL;
}

/* "node7: ", as pdsh and clush put it before each line */
static const char *after_host(const char *line)
{
    size_t n = isalpha((unsigned char)*line) ? strspn(line, HOST) : 0;

    return n > 0 && line[n] == ':' && line[n + 1] == ' ' ? line + n + 2 : line;
}

const char *pipc__text_address(const char *line, pipc__pci_addr_t *addr)
{
    const char *start = line + strspn(line, BLANK);
    bool domain = false;
    const char *end = address_at(start, addr, &domain);

    if (end && (start == line || domain))
        return end;
    if (!end) {
        start = after_host(line);
        start += strspn(start, BLANK "-*|`");
        end = start > line ? address_at(start, addr, &domain) : NULL;
    }
    return end && pipc__text_has_class(end) ? end : NULL;
}

/* "-s 41:00.0", "-s 41:00", "-s0000:41:00.0" */
static bool slot(const char *line, pipc__pci_addr_t *addr)
{
    const char *s = strstr(line, " -s");
    char word[PIPC__NAME_MAX];

    if (!s)
        return false;
    s += strlen(" -s");
    s += strspn(s, BLANK "'\"");
    size_t n = strspn(s, HEX ":.");
    if (n < 4 || n + 2 >= sizeof(word))
        return false;
    memcpy(word, s, n);
    word[n] = '\0';
    if (!strchr(word, '.'))
        strcpy(word + n, ".0");
    return strchr(word, ':') && pipc__pci_parse(word, addr);
}

bool pipc__text_command(const char *line, pipc__pci_addr_t *addr, pipc__text_asked_t *asked)
{
    const char *set = strstr(line, "setpci "), *command = set ? set : strstr(line, "lspci ");

    *asked = PIPC__ASKED_NOTHING;
    if (!command || !slot(command, addr) || (set && strchr(set, '='))) /* it writes */
        return false;
    if (set && strcasestr(set, "VENDOR_ID"))
        *asked = PIPC__ASKED_VENDOR;
    else if (set && (strcasestr(set, "ECAP_ACS+6.w") || strcasestr(set, "ECAP_ACS+0x6.w")))
        *asked = PIPC__ASKED_ACS;
    return !set || *asked;
}

long pipc__text_answer(const char *line)
{
    const char *start = line + strspn(line, BLANK "=");
    start += strncmp(start, "0x", 2) == 0 ? 2 : 0;
    size_t n = strspn(start, HEX);

    if ((n != 4 && n != 8) || start[n + strspn(start + n, BLANK)] != '\0')
        return -1;
    return strtol(start, NULL, 16);
}
