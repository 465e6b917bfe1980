/* Asking the daemon for a lease, or what one may. */
#include "cap/lease/daemon.h"

#include "base/clock.h"
#include "base/plain.h"
#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* It serves one after the other, and each may need a helper's start. */
#define ANSWER_NS (INT64_C(60) * JM_NS_PER_S)

const char *jm__capd_socket(void)
{
    const char *path = getenv("JOULEMAP_CAPD_SOCKET");
    return path != NULL && path[0] != '\0' ? path : "/run/joulemap/capd.sock";
}

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

bool jm__capd_is_to_ask(const char *sim)
{
    bool simulated = is_set(sim) || is_set(getenv("JOULEMAP_SIM")) || is_set(getenv("JOULEMAP_NVML"));
    if (geteuid() == 0 || (simulated && !is_set(getenv("JOULEMAP_CAPD_SOCKET")))) return false;
    return access(jm__capd_socket(), F_OK) == 0;
}

jm_status jm__capd_connect(jm__lease_link *link, jm_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = jm__capd_socket();
    *link = (jm__lease_link){.wire = {.fd = -1}};
    if (strlen(path) >= sizeof address.sun_path)
        return jm__fail(err, JM_USAGE, 0, NULL, "JOULEMAP_CAPD_SOCKET is longer than %zu bytes",
                        sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return jm__lease_link_over(link, fd, err);
    jm__fail(err, JM_NOT_FOUND, errno, "connect", "no `joulemap capd` serves %.100s: %s", path,
             strerror(errno));
    if (fd >= 0) close(fd);
    return jm__hint(err, JM_NOT_FOUND, "root starts it: docs/capd.md");
}

/* One question, one answer. */
static jm_status ask_once(jm__ask ask, const char *uuid, json_t **answer, jm_error *err)
{
    jm__lease_link link;
    jm__request request = {.ask = ask};
    snprintf(request.uuid, sizeof request.uuid, "%s", uuid);
    JM_TRY(jm__capd_connect(&link, err));
    jm_status status = jm__lease_link_ask(&link, &request, ANSWER_NS, answer, err);
    if (status == JM_OK) status = jm__answer_status(*answer, err);
    jm__lease_link_close(&link);
    return status;
}

bool jm__capd_may(const char *uuid, char *text, size_t size)
{
    json_t *answer = NULL;
    bool may = ask_once(JM_ASK_MAY, uuid, &answer, NULL) == JM_OK;
    if (may)
        jm__print(text, size, "joulemap capd: %.4g to %.4g W", jm__json_number(answer, "low_w"),
                  jm__json_number(answer, "high_w"));
    json_decref(answer);
    return may;
}

jm_status jm__capd_reset(const char *uuid, jm_error *err)
{
    json_t *answer = NULL;
    jm_status status = ask_once(JM_ASK_RESTORE, uuid, &answer, err);
    json_decref(answer);
    return status;
}
