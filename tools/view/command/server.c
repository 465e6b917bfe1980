/* The server: libmicrohttpd speaks HTTP, and this refuses whoever is not the page.
 *
 * A request must come to 127.0.0.1 under that name (another name is DNS rebinding), from no other origin,
 * with the token in its path, and read only. Paths are a fixed few; none leads to a file. */
#include "view/command/server.h"

#include "cli/verb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TOKEN_BYTES = 16,
    TOKEN_LENGTH = 2 * TOKEN_BYTES,
    CONNECTIONS_MAX = 256,
    CONNECTION_BYTES = 16384, /* of a request's headers, and of an answer's */
    STRANGER_S = 2,           /* a connection that sends nothing useful ends after it */
    VIEWER_S = 120
};

struct view_server {
    struct MHD_Daemon *daemon;
    view_answers *answers;
    const char *page;
    uint16_t port;
    char token[TOKEN_LENGTH + 1], once[TOKEN_LENGTH + 1];
    atomic_bool once_used;
};

/* ---- answers to the network */

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned code, const char *type,
                                 char *text_take, size_t length, const char *const *headers)
{
    static const char *const usual[][2] = {{"Cache-Control", "no-store"},
                                           {"X-Content-Type-Options", "nosniff"},
                                           {"Referrer-Policy", "no-referrer"},
                                           {"Cross-Origin-Resource-Policy", "same-origin"},
                                           {"Cross-Origin-Opener-Policy", "same-origin"},
                                           {"Content-Security-Policy", "frame-ancestors 'none'"}};
    struct MHD_Response *response = MHD_create_response_from_buffer(length, text_take, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(text_take);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        MHD_add_response_header(response, usual[i][0], usual[i][1]);
    for (size_t i = 0; headers != NULL && headers[i] != NULL; i += 2)
        MHD_add_response_header(response, headers[i], headers[i + 1]);
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_copy(struct MHD_Connection *connection, unsigned code, const char *type,
                                 const char *text, const char *const *headers)
{
    char *copy = strdup(text);
    return copy != NULL ? send_text(connection, code, type, copy, strlen(copy), headers) : MHD_NO;
}

/* Says no more than that, and ends the connection. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *why)
{
    static const char *const last[] = {"Connection", "close", NULL};
    return send_copy(connection, code, "text/plain; charset=utf-8", why, last);
}

static enum MHD_Result send_error(struct MHD_Connection *connection, const jm_error *err)
{
    bool theirs = err->status == JM_USAGE || err->status == JM_NOT_FOUND;
    char text[sizeof err->text], hint[sizeof err->hint];
    jm_text_printable(text, sizeof text, err->text);
    jm_text_printable(hint, sizeof hint, err->hint);
    json_t *object = json_pack("{ss ss}", "error", text, "hint", hint);
    char *body = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (body == NULL) return MHD_NO;
    return send_text(connection, theirs ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_INTERNAL_SERVER_ERROR,
                     "application/json", body, strlen(body), NULL);
}

/* ---- who asks */

/* In a time that does not depend on where they differ. */
static bool is_token(const char *text, size_t length, const char *token)
{
    unsigned char difference = 0;
    if (length != TOKEN_LENGTH) return false;
    for (size_t i = 0; i < TOKEN_LENGTH; i++)
        difference |= (unsigned char)(text[i] ^ token[i]);
    return difference == 0;
}

static bool is_ours(const char *value, const char *before, uint16_t port)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    char own[64];
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(own, sizeof own, "%s%s:%u", before, hosts[i], (unsigned)port);
        if (strcmp(value, own) == 0) return true;
    }
    return false;
}

/* NULL: it may. */
static const char *objection_to(const view_server *s, struct MHD_Connection *connection)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    if (host == NULL || !is_ours(host, "", s->port))
        return "this server answers to its own address alone: 127.0.0.1, and its port\n";
    if (origin != NULL && !is_ours(origin, "http://", s->port))
        return "this server answers its own page alone\n";
    return NULL;
}

/* ---- what is asked for */

static bool get_text(struct MHD_Connection *connection, const char *key, char *out, size_t size)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
    size_t length = value != NULL ? strlen(value) : 0;
    if (length >= size) return false;
    memset(out, 0, size);
    if (length > 0) memcpy(out, value, length);
    return true;
}

static bool get_number(struct MHD_Connection *connection, const char *key, long long *out)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
    char *end;
    *out = -1;
    if (value == NULL) return true;
    errno = 0;
    *out = strtoll(value, &end, 10);
    return end != value && *end == '\0' && errno == 0 && *out >= 0 && *out <= INT32_MAX;
}

static bool get_seconds(struct MHD_Connection *connection, const char *key, double *out)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
    char *end;
    *out = NAN;
    if (value == NULL) return true;
    *out = strtod(value, &end);
    return end != value && *end == '\0' && isfinite(*out);
}

static bool get_time(struct MHD_Connection *connection, view_query *q)
{
    if (!get_seconds(connection, "from", &q->from_s) || !get_seconds(connection, "to", &q->to_s))
        return false;
    if (isnan(q->from_s) && isnan(q->to_s)) return true;
    if (isnan(q->from_s)) q->from_s = -INFINITY;
    if (isnan(q->to_s)) q->to_s = INFINITY;
    return q->from_s < q->to_s;
}

/* The index of the text among `texts`; `usual` if there is none, -1 if it is none of them. */
static int get_choice(struct MHD_Connection *connection, const char *key, const char *const *texts, int usual)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
    if (value == NULL) return usual;
    for (int i = 0; texts[i] != NULL; i++)
        if (strcmp(texts[i], value) == 0) return i;
    return -1;
}

/* The key that is wrong; NULL: none. */
static const char *read_query(struct MHD_Connection *connection, view_query *q)
{
    static const char *const parts[] = {
#define X(name, text) text,
        VIEW_PART_MAP(X)
#undef X
            NULL};
    static const char *const keys[] = {
#define X(name, text) text,
        JM_BY_MAP(X)
#undef X
            NULL};
    memset(q, 0, sizeof *q);
    int part = get_choice(connection, "part", parts, VIEW_PART_REPORT);
    int by = get_choice(connection, "by", keys, JM_BY_LAYER);
    if (part < 0) return "part";
    if (by < 0 || by == JM_BY_SPAN) return "by";
    q->part = (view_part)part;
    q->by = (jm_by)by;
    if (!get_time(connection, q)) return "from and to";
    if (!get_number(connection, "process", &q->process)) return "process";
    if (!get_number(connection, "board", &q->board)) return "board";
    if (!get_text(connection, "phase", q->phase, sizeof q->phase)) return "phase";
    if (!get_text(connection, "layer", q->layer, sizeof q->layer)) return "layer";
    return q->part == VIEW_PART_LAYER && q->layer[0] == '\0' ? "layer" : NULL;
}

static enum MHD_Result send_data(view_server *s, struct MHD_Connection *connection)
{
    view_query q;
    char *text, tag[32];
    size_t length;
    unsigned long long version;
    jm_error err = {0};
    const char *wrong = read_query(connection, &q);
    if (wrong != NULL) {
        err.status = JM_USAGE;
        snprintf(err.text, sizeof err.text, "the request's %s is wrong", wrong);
        return send_error(connection, &err);
    }
    if (view_answer(s->answers, &q, &text, &length, &version, &err) != JM_OK)
        return send_error(connection, &err);
    bool file = q.part == VIEW_PART_PAGE;
    const char *const headers[] = {"ETag", tag, file ? "Content-Disposition" : NULL,
                                   "attachment; filename=\"joulemap.html\"", NULL};
    snprintf(tag, sizeof tag, "\"%016llx\"", version);
    return send_text(connection, MHD_HTTP_OK, file ? "text/html; charset=utf-8" : "application/json", text,
                     length, headers);
}

static enum MHD_Result send_state(view_server *s, struct MHD_Connection *connection)
{
    char text[80];
    bool live;
    unsigned long long version = view_answers_version(s->answers, &live);
    snprintf(text, sizeof text, "{\"version\":\"%016llx\",\"live\":%s}", version, live ? "true" : "false");
    return send_copy(connection, MHD_HTTP_OK, "application/json", text, NULL);
}

static enum MHD_Result send_there(view_server *s, struct MHD_Connection *connection)
{
    char path[TOKEN_LENGTH + 3];
    const char *const headers[] = {"Location", path, NULL};
    if (atomic_exchange(&s->once_used, true)) return refuse(connection, MHD_HTTP_FORBIDDEN, "used already\n");
    snprintf(path, sizeof path, "/%s/", s->token);
    return send_copy(connection, MHD_HTTP_SEE_OTHER, "text/plain", "", headers);
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *http, const char *upload, size_t *upload_size,
                              void **seen)
{
    static int begun;
    view_server *s = context;
    (void)http;
    (void)upload;
    (void)upload_size;
    const char *objection = objection_to(s, connection);
    if (objection != NULL) return refuse(connection, MHD_HTTP_FORBIDDEN, objection);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "this server is read only\n");
    size_t length = strcspn(path + 1, "/");
    if (path[0] == '/' && path[1 + length] == '\0' && is_token(path + 1, length, s->once))
        return send_there(s, connection);
    if (path[0] != '/' || path[1 + length] != '/' || !is_token(path + 1, length, s->token))
        return refuse(connection, MHD_HTTP_FORBIDDEN,
                      "the address lacks the token that joulemap view printed\n");
    if (*seen == NULL) { /* the headers are here; what follows them comes first */
        *seen = &begun;
        MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)VIEWER_S);
        return MHD_YES;
    }
    const char *name = path + length + 2;
    if (name[0] == '\0') return send_copy(connection, MHD_HTTP_OK, "text/html; charset=utf-8", s->page, NULL);
    if (strcmp(name, "data") == 0) return send_data(s, connection);
    if (strcmp(name, "state") == 0) return send_state(s, connection);
    return refuse(connection, MHD_HTTP_NOT_FOUND, "nothing is here\n");
}

/* ---- start and stop */

/* Not by getrandom(), which old C libraries lack. */
static bool make_token(char token[TOKEN_LENGTH + 1])
{
    unsigned char bytes[TOKEN_BYTES];
    int source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (source < 0) return false;
    bool read_all = read(source, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
    close(source);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return read_all;
}

static jm_status fail_to_listen(uint16_t port, int code, jm_error *err)
{
    const char *hint = code == EADDRINUSE ? "leave --port out: a free one is taken" : "";
    return cli_set_error(err, jm_status_of_errno(code), hint, "cannot listen on port %u of 127.0.0.1: %s",
                         (unsigned)port, strerror(code));
}

/* A socket that listens on *port of 127.0.0.1, for 0 on a free one, which *port becomes; -1: errno. */
static int listen_on(uint16_t *port)
{
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening < 0) return -1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on,
               sizeof on); /* the port of a server that just ended */
    if (bind(listening, (struct sockaddr *)&address, length) == 0 && listen(listening, SOMAXCONN) == 0 &&
        getsockname(listening, (struct sockaddr *)&address, &length) == 0) {
        *port = ntohs(address.sin_port);
        return listening;
    }
    int code = errno;
    close(listening);
    errno = code;
    return -1;
}

jm_status view_server_start(view_server **out, uint16_t port, view_answers *answers, const char *page,
                            jm_error *err)
{
    *out = NULL;
    view_server *s = calloc(1, sizeof *s);
    if (s == NULL) return cli_set_error(err, JM_NO_MEMORY, "", "out of memory");
    s->answers = answers;
    s->page = page;
    s->port = port;
    if (!make_token(s->token) || !make_token(s->once)) {
        free(s);
        return cli_set_error(err, JM_IO, "", "no random numbers from /dev/urandom: %s", strerror(errno));
    }
    int listening = listen_on(&s->port);
    if (listening < 0) {
        int code = errno;
        free(s);
        return fail_to_listen(port, code, err);
    }
    s->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL, NULL, answer,
        s, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STRANGER_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    if (s->daemon == NULL) {
        close(listening);
        free(s);
        return cli_set_error(err, JM_IO, "", "libmicrohttpd cannot serve on port %u", (unsigned)port);
    }
    *out = s;
    return JM_OK;
}

void view_server_address(const view_server *s, char address[VIEW_ADDRESS_MAX])
{
    snprintf(address, VIEW_ADDRESS_MAX, "http://127.0.0.1:%u/%s/", (unsigned)s->port, s->token);
}

void view_server_address_once(const view_server *s, char address[VIEW_ADDRESS_MAX])
{
    snprintf(address, VIEW_ADDRESS_MAX, "http://127.0.0.1:%u/%s", (unsigned)s->port, s->once);
}

void view_server_stop(view_server *s)
{
    MHD_stop_daemon(s->daemon);
    free(s);
}
