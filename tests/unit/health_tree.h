/* tests/unit/health_tree.h - captured machines for the gate's tests: a few files in a folder
 */
#ifndef PIPC_TESTS_HEALTH_TREE_H
#define PIPC_TESTS_HEALTH_TREE_H

#include <stddef.h>

extern char tree[64]; /* the folder */

/* cmocka's set-up and tear-down. */
int tree_make(void **state);
int tree_remove(void **state);

typedef struct tree_link {
    int port; /* Express port type; -1: no capability */
    int max_width, max_gen, width, gen, target, aspm;
    int secondary; /* of a bridge */
} tree_link_t;

/* Config space of 256 bytes. */
void tree_config(unsigned char c[256], unsigned int vendor, unsigned int class_code,
                 const tree_link_t *link);

/* A device: its path below sys/devices/pci0000:00, as in "0000:00:01.0/0000:01:00.0", and as many
 * bytes of its config space (0: no such file). */
void tree_add(const char *path, unsigned int vendor, unsigned int class_code,
              const tree_link_t *link, size_t bytes);

/* A file below the folder, with the folders above it. */
void tree_put(const char *path, const void *bytes, size_t n);

/* A file of a device that tree_add() has made. */
void tree_fact(const char *path, const char *file, const char *text);

/* A root port and a GPU below it, whose link has @width lanes of 16, Gen1, Gen4 being possible. */
void tree_gpu(int number, int width);

/* Is the JSON in the file at @path what doc/pcie-ipc-health.schema.json says under this name? Fails
 * the test if not. */
void tree_is_valid(const char *path, const char *definition);

#endif
