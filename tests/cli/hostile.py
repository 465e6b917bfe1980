"""Send hostile requests to a `joulemap view`: hostile.py ADDRESS. Prints what each got; the page must go on."""

import http.client
import resource
import socket
import sys
import time
from urllib.parse import urlsplit

CONNECTIONS = 10_000

address = urlsplit(sys.argv[1])
token = address.path.strip("/")
port = address.port
host = f"127.0.0.1:{port}"


def status(path, headers=None, method="GET", body=None):
    """Return the code of the answer to one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for key, value in {"Host": host, **(headers or {})}.items():
            if value is not None:
                connection.putheader(key, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read()
        if token.encode() in text and answer.status != 200:
            raise SystemExit(f"the answer {answer.status} to {path} holds the token")
        return answer.status
    except (http.client.HTTPException, OSError):
        return "closed"
    finally:
        connection.close()


def raw(text):
    """Return the code of the answer to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            connection.sendall(text)
            answer = connection.recv(4096)
        except OSError:
            return "closed"
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else "closed"


def wrong(text):
    """Return the token with its last digit changed."""
    return text[:-1] + ("0" if text[-1] != "0" else "1")


own = f"/{token}/"
cases = {
    "the page": status(own),
    "the page, as localhost": status(own, {"Host": f"localhost:{port}"}),
    "the state, from the page": status(own + "state", {"Origin": f"http://{host}"}),
    "no token": status("/"),
    "a wrong token": status(f"/{wrong(token)}/"),
    "a token that is too short": status(f"/{token[:-1]}/"),
    "a token that is too long": status(f"/{token}0/"),
    "data without a token": status("/data"),
    "another host (DNS rebinding)": status(own, {"Host": f"evil.example:{port}"}),
    "another port of the host": status(own, {"Host": "127.0.0.1:1"}),
    "no host": status(own, {"Host": None}),
    "another origin": status(own + "data", {"Origin": "https://evil.example"}),
    "no origin (a sandbox)": status(own + "data", {"Origin": "null"}),
    "POST": status(own + "data", method="POST", body=b"x", headers={"Content-Length": "1"}),
    "PUT": status(own, method="PUT", headers={"Content-Length": "0"}),
    "OPTIONS": status(own, method="OPTIONS"),
    "a path upwards": status(own + "../../../../etc/passwd"),
    "a path upwards, escaped": status(own + "%2e%2e/%2e%2e/etc/passwd"),
    "an absolute path": status(own + "/etc/passwd"),
    "a proxy's request": raw(f"GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()),
    "headers of a megabyte": status(own, {"X-Long": "x" * 1_000_000}),
    "an address of a megabyte": status(own + "data?phase=" + "x" * 1_000_000),
    "a phase of 2000 bytes": status(own + "data?phase=" + "x" * 2000),
    "a part that is none": status(own + "data?part=nothing"),
    "a time that ends before it begins": status(own + "data?from=2&to=1"),
    "a time that is no number": status(own + "data?from=nan"),
    "a process beyond all": status(own + "data?process=99999999999999999999"),
    "no HTTP": raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
}
for what, code in cases.items():
    print(f"{what}: {code}")

# ---- a flood, while a viewer's connection stays open
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, CONNECTIONS + 100), hard))
held_most = min(hard, CONNECTIONS + 100) - 100
viewer = http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def still_viewed():
    """Return whether the page that is open gets its answer."""
    viewer.request("GET", own + "state")
    answer = viewer.getresponse()
    answer.read()
    return answer.status == 200


assert still_viewed()
held = []
opened = 0
worst_s = 0.0
for i in range(CONNECTIONS):
    connection = socket.socket()
    connection.setblocking(False)
    connection.connect_ex(("127.0.0.1", port))  # not waited for: most find no place
    held.append(connection)
    opened += 1
    if len(held) > held_most:
        held.pop(0).close()
    if i % 1000 == 999:
        begin = time.monotonic()
        if not still_viewed():
            raise SystemExit("the open page was cut off")
        worst_s = max(worst_s, time.monotonic() - begin)
print(f"{opened} connections at once: the open page goes on")
begin = time.monotonic()
while status(own + "state") != 200:
    if time.monotonic() - begin > 60:
        raise SystemExit("no new page after a minute")
    time.sleep(0.1)
print("a new page is served while they are held")
print(f"answers took {worst_s:.3f} s at most, the new page {time.monotonic() - begin:.1f} s", file=sys.stderr)
