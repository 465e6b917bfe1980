/* HTTP on 127.0.0.1, for the page alone: who may ask, and for what. */
#ifndef VIEW_SERVER_H
#define VIEW_SERVER_H

#include "view/command/answers.h"

#include <stdint.h>

/* The address: "http://127.0.0.1:PORT/TOKEN/". */
enum { VIEW_ADDRESS_MAX = 128 };

typedef struct view_server view_server;

/* Listen. `port`: 0 for one that is free. `page` is what the browser gets first; it and `answers` must
 * outlive the server. */
jm_status view_server_start(view_server **out, uint16_t port, view_answers *answers, const char *page,
                            jm_error *err);

/* The address with the token, for who may see everything. */
void view_server_address(const view_server *server, char address[VIEW_ADDRESS_MAX]);

/* Another one, which leads there once: for a command line, which all users of the machine can read. */
void view_server_address_once(const view_server *server, char address[VIEW_ADDRESS_MAX]);

/* Waits for answers that are being made. */
void view_server_stop(view_server *server);

#endif
