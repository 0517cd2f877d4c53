/* spank/wishes.c - see wishes.h */
#include "spank/wishes.h"

#include <string.h>
#include <strings.h>

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* As Slurm reads --gpu-bind. */
static bool begins_in_any_case(const char *text, const char *with)
{
    return !strncasecmp(text, with, strlen(with));
}

bool pipc__wish_cpu_value(const char *value)
{
    static const char *const loud[] = {"verbose", "quiet", "v", "q", NULL};

    for (const char *const *l = loud; *l; l++) {
        size_t n = strlen(*l);
        if (strncmp(value, *l, n) || (value[n] && value[n] != ','))
            continue;
        value += n;
        break;
    }
    return value[*value == ','] != '\0';
}

/* getopt takes any unique beginning of a name. */
static bool is_cpu_bind(const char *word)
{
    return begins(word, "--cpu-b") || begins(word, "--cpu_b");
}

static size_t count(const char *words, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += words[i] == '\0';
    return n;
}

bool pipc__wish_cpu_words(const char *words, size_t len, size_t command)
{
    size_t n = count(words, len), own = n > command ? n - command : 0;
    const char *word = words;

    for (size_t i = 0; i < own; i++, word += strlen(word) + 1) {
        const char *value = strchr(word, '=');
        if (!is_cpu_bind(word))
            continue;
        if (value)
            value++;
        else if (i + 1 < own)
            value = word + strlen(word) + 1;
        if (value && pipc__wish_cpu_value(value))
            return true;
    }
    return false;
}

bool pipc__wish_mem(const char *type)
{
    return *type != '\0';
}

bool pipc__wish_gpu(const char *tres)
{
    static const char *const ordered[] = {"map_gpu:", "mask_gpu:", /* until Slurm 23.02 */
                                          "map:",     "mask:",     "closest", NULL};
    const char *gpu = strstr(tres, "gpu:");

    if (!gpu)
        return false;
    gpu += 4;
    if (begins_in_any_case(gpu, "verbose,"))
        gpu += 8;
    for (const char *const *o = ordered; *o; o++)
        if (begins_in_any_case(gpu, *o))
            return true;
    return false;
}
