/* comm/tables.h - the table file of this machine: where it lies, whether it is to be believed.
 */
#ifndef PIPC_COMM_TABLES_H
#define PIPC_COMM_TABLES_H

#include "runtime/comm/request.h"
#include "runtime/plan/shape.h"
#include "runtime/tune/file.h"
#include "runtime/xchg/record.h"

#define PIPC__TABLE_PATH 512 /* bytes of a path, its end included */

/* What a table must have been measured on to be good for the ranks of recs[n], which stand as
 * @shape says and may use @sms multiprocessors, in pipc_comm_config_t's terms, on a communicator of
 * so many @nodes; of several, how the own one's ranks stand is left out, so that nodes need not be
 * alike. NCCL's version is left open (""). Pure. */
void pipc__tables_key(pipc__table_key_t *key, const pipc__record_t *recs, int n,
                      const pipc__shape_t *shape, int nodes, int sms);

/* What the machine says of itself beside its GPU's @gpu ("" on a CPU), for the record: the kind of
 * GPU or CPU, and the NVIDIA driver. Read below @root (NULL: the live machine). */
void pipc__tables_machine(char name[PIPC__RECORD_GPU], char driver[PIPC__RECORD_DRIVER],
                          const char *gpu, const char *root);

/* The lanes of the link that the GPU @bdf has now, read below @root; 0 where sysfs can't tell. */
uint32_t pipc__tables_width(const char *bdf, const char *root);

/* Find and read the table for @key: what the environment's PCIE_IPC_TABLE names ("none": no file),
 * used whatever its key; else TOPOLOGY.table in the user's folder, else in the site's. A file of a
 * folder is passed over when its key is another one.
 * True: @file is read, without times, and from[] is its path. False: there is none; why[cap] is ""
 * where nothing speaks against that, else one line. True with a line in why: the file is used in
 * spite of it. */
bool pipc__tables_find(pipc__table_file_t *file, const pipc__table_key_t *key,
                       pipc__getenv_t lookup, char from[PIPC__TABLE_PATH], char *why, size_t cap);

/* Is there one that might be it? Of @key the topology alone is known yet, so one that was measured
 * elsewhere counts, too. */
bool pipc__tables_look(pipc__table_file_t *file, const pipc__table_key_t *key,
                       pipc__getenv_t lookup);

/* Read the file at @path. Run by root, it must be root's, and no one else may write it. */
pipc_status_t pipc__tables_read(pipc__table_file_t *file, const char *path, bool want_times,
                                pipc__error_t *err);

/* The user's folder, $XDG_CONFIG_HOME/pcie-ipc/tables or below $HOME/.config; and the site's. False
 * where there is none. */
bool pipc__tables_folder(char folder[PIPC__TABLE_PATH], bool site, pipc__getenv_t lookup);

#endif
