/* rail/ucx_library.h - UCX, opened at run time: libpcie-ipc does not depend on it, so that
 * containers and login nodes need none.
 */
#ifndef PIPC_RAIL_UCX_LIBRARY_H
#define PIPC_RAIL_UCX_LIBRARY_H

#include <ucp/api/ucp.h>

#include "runtime/base/error.h"

/* Named as in ucp.h, without ucp_. */
typedef struct pipc__ucx_library {
    void (*get_version)(unsigned int *, unsigned int *, unsigned int *);
    ucs_status_t (*config_read)(const char *, const char *, ucp_config_t **);
    ucs_status_t (*config_modify)(ucp_config_t *, const char *, const char *);
    void (*config_release)(ucp_config_t *);
    ucs_status_t (*init_version)(unsigned int, unsigned int, const ucp_params_t *,
                                 const ucp_config_t *, ucp_context_h *);
    void (*cleanup)(ucp_context_h);
    ucs_status_t (*worker_create)(ucp_context_h, const ucp_worker_params_t *, ucp_worker_h *);
    void (*worker_destroy)(ucp_worker_h);
    ucs_status_t (*worker_query)(ucp_worker_h, ucp_worker_attr_t *);
    void (*worker_release_address)(ucp_worker_h, ucp_address_t *);
    ucs_status_t (*worker_get_efd)(ucp_worker_h, int *);
    ucs_status_t (*worker_arm)(ucp_worker_h);
    unsigned int (*worker_progress)(ucp_worker_h);
    ucs_status_t (*ep_create)(ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *);
    ucs_status_ptr_t (*ep_flush_nbx)(ucp_ep_h, const ucp_request_param_t *);
    ucs_status_ptr_t (*ep_close_nbx)(ucp_ep_h, const ucp_request_param_t *);
    void (*ep_print_info)(ucp_ep_h, FILE *);
    ucs_status_ptr_t (*tag_send_nbx)(ucp_ep_h, const void *, size_t, ucp_tag_t,
                                     const ucp_request_param_t *);
    ucs_status_ptr_t (*tag_recv_nbx)(ucp_worker_h, void *, size_t, ucp_tag_t, ucp_tag_t,
                                     const ucp_request_param_t *);
    ucs_status_t (*request_check_status)(void *);
    void (*request_cancel)(ucp_worker_h, void *);
    void (*request_free)(void *);
    const char *(*status_string)(ucs_status_t); /* of libucs */
} pipc__ucx_library_t;

/* Open libucp.so.0, or the file that PCIE_IPC_UCX names, for good. UCX neither prints nor catches
 * signals then, unless the user asked for it by UCX_LOG_LEVEL, UCX_HANDLE_ERRORS,
 * UCX_ERROR_SIGNALS or UCX_DEBUG_SIGNO, or the program itself has opened UCX before: then it is as
 * the program has it.
 */
pipc_status_t pipc__ucx_open(pipc__ucx_library_t *lib, pipc__error_t *err);

#endif
