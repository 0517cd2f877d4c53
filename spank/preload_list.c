/* spank/preload_list.c - see preload_list.h */
#include "spank/preload_list.h"

#include <stdio.h>
#include <string.h>

#define SEPARATORS " :"

/* The place of @path in @list; NULL. */
static const char *find(const char *list, const char *path)
{
    size_t n = strlen(path), len;

    for (list += strspn(list, SEPARATORS); *list; list += len, list += strspn(list, SEPARATORS)) {
        len = strcspn(list, SEPARATORS);
        if (len == n && !strncmp(list, path, n))
            return list;
    }
    return NULL;
}

bool pipc__preload_with(const char *list, const char *path, char *buf, size_t cap)
{
    if (find(list, path))
        return false;
    int n = snprintf(buf, cap, "%s%s%s", list, *list ? ":" : "", path);
    return n > 0 && (size_t)n < cap;
}

bool pipc__preload_without(const char *list, const char *path, char *buf, size_t cap)
{
    const char *at = find(list, path), *rest;

    if (!at || strlen(list) >= cap)
        return false;
    rest = at + strlen(path);
    rest += strspn(rest, SEPARATORS);
    while (at > list && strchr(SEPARATORS, at[-1]))
        at--;
    int head = (int)(at - list);
    snprintf(buf, cap, "%.*s%s%s", head, list, head && *rest ? ":" : "", rest);
    return true;
}
