/* What others may have put where leases are written down, or may say over a lease's socket: a state, requests
 * and answers. An error that says what is wrong, or something that is written and read again alike.
 *
 * The first byte says which; the rest are the bytes. */
#include "fuzz.h"

#include "cap/lease/state.h"
#include "cap/lease/transport.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void check_state(const uint8_t *data, size_t size)
{
    jm__lease_state state;
    jm_error err = {0};
    jm_status status = jm__lease_state_parse(&state, (const char *)data, size, "state.json", &err);
    FUZZ_PROMISE(status == err.status);
    if (status != JM_OK) {
        FUZZ_PROMISE(strstr(err.text, "state.json") != NULL);
        return;
    }
    FUZZ_PROMISE(isfinite(state.info.found_w) && state.info.found_w > 0);
    FUZZ_PROMISE(memchr(state.uuid, '\0', sizeof state.uuid) != NULL);
    FUZZ_PROMISE(memchr(state.info.who, '\0', sizeof state.info.who) != NULL);
}

/* Said again, it is the same. */
static void check_request(const json_t *object)
{
    jm__request request, again;
    jm_error err = {0};
    if (jm__request_read(&request, object, &err) != JM_OK) {
        FUZZ_PROMISE(err.status == JM_BAD_DATA && err.text[0] != '\0');
        return;
    }
    FUZZ_PROMISE(request.kind != JM_REQUEST_SET || request.number > 0);
    FUZZ_PROMISE(request.for_ns >= 0);
    json_t *said = jm__request_json(&request);
    FUZZ_PROMISE(said != NULL && jm__request_read(&again, said, &err) == JM_OK);
    FUZZ_PROMISE(again.kind == request.kind && again.for_ns == request.for_ns && again.pid == request.pid);
    FUZZ_PROMISE(strcmp(again.uuid, request.uuid) == 0 && strcmp(again.who, request.who) == 0);
    json_decref(said);
}

static void check_answer(const json_t *object)
{
    jm_cap_board board;
    jm_error err = {0};
    bool back;
    jm_status status = jm__answer_status(object, &err);
    FUZZ_PROMISE(status == JM_OK || err.status == status);
    (void)jm__answer_over(object, &back);
    jm__answer_board_read(&board, object);
    FUZZ_PROMISE(memchr(board.uuid, '\0', sizeof board.uuid) != NULL);
}

/* As it comes over a socket: many lines, or a piece of one. */
static void check_lines(const uint8_t *data, size_t size)
{
    int ends[2];
    json_t *object;
    jm__transport_result result;
    FUZZ_PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    size_t most = size < 60000 ? size : 60000; /* what a socket holds */
    FUZZ_PROMISE(send(ends[1], data, most, MSG_NOSIGNAL) == (ssize_t)most);
    close(ends[1]);
    jm__transport transport = {.fd = ends[0]};
    while ((result = jm__transport_receive(&transport, &object, 0)) == JM_TRANSPORT_LINE) {
        FUZZ_PROMISE(json_is_object(object));
        check_request(object);
        check_answer(object);
        json_decref(object);
    }
    FUZZ_PROMISE(result == JM_TRANSPORT_CLOSED || result == JM_TRANSPORT_GARBAGE);
    FUZZ_PROMISE(object == NULL && transport.count <= sizeof transport.bytes);
    close(ends[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    if (data[0] == 's')
        check_state(data + 1, size - 1);
    else
        check_lines(data + 1, size - 1);
    return 0;
}
