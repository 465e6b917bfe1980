"""The daemon of power caps: whom it serves, whom it refuses, and what the GPU is left at."""

from __future__ import annotations

import json
import os
import pwd
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from joulemap import caps
from joulemap._cli import native_folder

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="clients of other users take root to start")

ALLOWED, OTHER = 65533, 65534

# A client of another user: what it is told to send it sends, and gives back what it gets. Lines of JSON.
CLIENT = """
import json, os, socket, sys
os.setgroups(json.loads(sys.argv[3])); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
link = socket.socket(socket.AF_UNIX)
link.settimeout(20)
link.connect(sys.argv[2])
heard = b""
def answer():
    global heard
    while b"\\n" not in heard:
        try:
            piece = link.recv(65536)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return None
        heard += piece
    line, _, heard = heard.partition(b"\\n")
    return json.loads(line)
for line in sys.stdin:
    told = json.loads(line)
    try:
        link.sendall(told.encode())
    except BrokenPipeError:
        pass
    print(json.dumps(answer()), flush=True)
"""

POLICY = {"allow": [{"users": [ALLOWED], "boards": [0], "low_w": 300, "high_w": 600, "longest_s": 3600}]}


class Client:
    """A connection of a process of another user."""

    def __init__(self, uid: int, path: Path, groups: list[int]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(uid), str(path), json.dumps(groups)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, text: str) -> None:
        assert self.process.stdin is not None
        print(json.dumps(text), file=self.process.stdin, flush=True)

    def answer(self) -> Any:
        """The answer to what began; None: it hung up."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def send(self, text: str) -> Any:
        self.begin(text)
        return self.answer()

    def ask(self, **request: Any) -> Any:
        return self.send(json.dumps(request) + "\n")

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate()


class Daemon:
    """The daemon with its folder, where every user may come in."""

    def __init__(self, folder: Path, uid: int = 0, environment: dict[str, str] | None = None) -> None:
        self.folder, self.socket, self.log = folder, folder / "socket", folder / "log"
        self.config = folder / "capd.json"
        self.config.write_text(json.dumps(POLICY))
        self.clients: list[Client] = []
        starts = len(self.lines("start"))
        joulemap = native_folder() / "joulemap"
        paths = ["--config", self.config, "--socket", self.socket, "--log", self.log]
        self.command = [str(word) for word in (joulemap, "capd", *paths)]
        self.process = subprocess.Popen(self.command, env={**os.environ, **(environment or {})}, user=uid)
        wait_until(lambda: len(self.lines("start")) > starts or self.process.poll() is not None)

    def client(self, uid: int = ALLOWED, groups: list[int] | None = None) -> Client:
        self.clients.append(Client(uid, self.socket, groups or []))
        return self.clients[-1]

    def policy(self, **rule: Any) -> None:
        """Change the rule, and have it read."""
        self.config.write_text(json.dumps({"allow": [{**POLICY["allow"][0], **rule}]}))
        reloads = len(self.lines("reload"))
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.lines("reload")) > reloads)

    def lines(self, event: str) -> list[dict[str, Any]]:
        text = self.log.read_text() if self.log.exists() else ""
        return [line for line in map(json.loads, text.splitlines()) if line["event"] == event]

    def end(self) -> None:
        for client in self.clients:
            client.end()
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def cap_w() -> float | None:
    return caps.show()[0].cap_w


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    monkeypatch.setenv("JOULEMAP_SIM", "h200,h200")
    with tempfile.TemporaryDirectory(prefix="capd-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setenv("JOULEMAP_CAPS_DIR", str(folder / "caps"))
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        with caps.lease(board=1):  # keeps both open, as a driver is kept open
            served = Daemon(folder)
            try:
                yield served
            finally:
                if served.process.poll() is None:
                    served.end()


TAKE = {"board": 0, "who": "train.py\n\x1b[31m", "for_ns": 0, "detached": False}


def test_an_allowed_user_sets_caps_in_bounds_and_what_was_found_is_put_back(daemon: Daemon) -> None:
    client, second = daemon.client(), daemon.client()
    (board,) = (board for board in caps.show() if board.index == 0)
    assert client.ask(may=board.uuid) == {"ok": True, "low_w": 300, "high_w": 600, "clocks": False}
    taken = client.ask(take=TAKE)
    assert (taken["ok"], taken["found_w"], taken["low_w"], taken["high_w"]) == (True, 700, 300, 600)
    assert client.ask(set_w=400) == {"ok": True, "enforced_w": 400}
    assert cap_w() == 400
    lease = caps.show()[0].lease
    assert lease is not None
    assert (lease.user_id, lease.process_id) == (ALLOWED, client.process.pid)
    assert 3500 < (lease.until_unix_ns or 0) * 1e-9 - time.time() <= 3600  # at most as long as it may

    soon = client.ask(set_w=500)
    assert soon["status"] == "BUSY"
    assert 0 < soon["wait_s"] <= 1
    assert cap_w() == 400
    for watts in (299, 601, 1e9):
        assert client.ask(set_w=watts)["status"] == "NO_PERMISSION"
    assert client.ask(clock_mhz=1000)["status"] == "NO_PERMISSION"
    refused = second.ask(take=TAKE)
    assert refused["status"] == "BUSY"
    assert "train.py" in refused["error"]
    assert second.ask(take={**TAKE, "board": 1})["status"] == "NO_PERMISSION"
    assert second.ask(take={**TAKE, "for_ns": 3601 * 10**9})["status"] == "NO_PERMISSION"

    client.end(signal.SIGKILL)
    wait_until(lambda: cap_w() == 700)
    wait_until(lambda: caps.show()[0].lease is None)
    assert second.ask(take=TAKE)["ok"] is True
    assert second.ask(end=True) == {"ok": True}
    assert [(line["cap_w"], line["status"]) for line in daemon.lines("set")] == [
        (400, "OK"),
        (500, "BUSY"),
        *((watts, "NO_PERMISSION") for watts in (299, 601, 1e9)),
    ]
    (first, *_) = daemon.lines("take")
    assert (first["uid"], first["pid"], first["found_w"]) == (ALLOWED, client.process.pid, 700)
    assert "\x1b" not in daemon.log.read_text()


def test_who_is_not_named_is_refused_and_root_is_not(daemon: Daemon) -> None:
    other, root = daemon.client(OTHER), daemon.client(0)
    refused = other.ask(take=TAKE)
    assert refused["status"] == "NO_PERMISSION"
    assert f"user {OTHER}" in refused["error"]
    assert other.ask(set_w=400)["status"] == "USAGE"
    assert root.ask(take=TAKE)["high_w"] == 700
    assert root.ask(set_w=650) == {"ok": True, "enforced_w": 650}
    (board,) = (board for board in caps.show() if board.index == 0)
    assert other.ask(restore=board.uuid)["status"] == "NO_PERMISSION"
    assert cap_w() == 650
    assert [line["status"] for line in daemon.lines("reset")] == ["NO_PERMISSION"]


def test_a_lease_that_outlives_its_client_is_its_users_to_end(daemon: Daemon) -> None:
    client = daemon.client()
    (board,) = (board for board in caps.show() if board.index == 0)
    assert client.ask(take={**TAKE, "detached": True, "for_ns": 600 * 10**9})["ok"] is True
    assert client.ask(set_w=450)["ok"] is True
    client.end()
    wait_until(lambda: bool(daemon.lines("leave")))
    assert cap_w() == 450
    assert daemon.client().ask(restore=board.uuid) == {"ok": True}
    wait_until(lambda: cap_w() == 700)


def test_who_talks_nonsense_or_not_at_all_is_hung_up_and_others_are_served(daemon: Daemon) -> None:
    half, silent = daemon.client(), daemon.client()
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as hanging, socket.socket(socket.AF_UNIX) as piece:
        for link in (hanging, piece):
            link.settimeout(60)
            link.connect(str(daemon.socket))
        piece.sendall(b'{"take": ')
        pieces = ('{"take": 1', "x" * 5000, '"\\u0000"\n', "\x00\xff\n", "[" * 4000 + "\n")
        for nonsense in ("nonsense\n", "[]\n", *pieces):
            if nonsense.endswith("\n") or len(nonsense) > 4096:
                assert daemon.client(OTHER).send(nonsense) is None
        no_requests: list[dict[str, object]] = [{}, {"take": {}}, {"set_w": -1}, {"set_w": "x"}, {"x": 1}]
        for no_request in [*no_requests, {"take": TAKE, "end": True}]:
            assert daemon.client().ask(**no_request)["status"] == "BAD_DATA"
        assert half.ask(take=TAKE)["ok"] is True
        assert half.ask(set_w=400)["ok"] is True
        assert cap_w() == 400
        assert half.send('{"set_w": ') is None  # it has a lease, and hangs in the midst of a line
        wait_until(lambda: cap_w() == 700)
        assert hanging.recv(1) == b""
        assert piece.recv(1) == b""
    assert time.monotonic() - began < 50
    assert silent.process.poll() is None
    why = {line["why"] for line in daemon.lines("refused")}
    assert {"no line of JSON, or one that is too long", "half a line, and no more", "it says nothing"} <= why


def test_a_thousand_connections_of_one_user_keep_nobody_else_out(daemon: Daemon) -> None:
    flood = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, resource, socket, sys\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))\n"
            f"os.setgroups([]); os.setgid({OTHER}); os.setuid({OTHER})\n"
            "links = [socket.socket(socket.AF_UNIX) for _ in range(1000)]\n"
            "for link in links: link.connect(sys.argv[1])\n"
            "print('there', flush=True)\n"
            "sys.stdin.read()\n",
            str(daemon.socket),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert flood.stdout is not None
        assert flood.stdout.readline() == "there\n"
        began = time.monotonic()
        client = daemon.client()
        assert client.ask(take=TAKE)["ok"] is True
        assert client.ask(set_w=400)["ok"] is True
        assert time.monotonic() - began < 20
    finally:
        flood.communicate()
    assert any(line["why"] == "too many clients of this user" for line in daemon.lines("refused"))
    assert len(daemon.lines("refused")) < 600  # of a thousand


def test_a_daemon_that_is_killed_leaves_no_cap(daemon: Daemon) -> None:
    client = daemon.client()
    assert client.ask(take=TAKE)["ok"] is True
    assert client.ask(set_w=400)["ok"] is True
    daemon.process.kill()
    daemon.process.wait()
    wait_until(lambda: cap_w() == 700)
    wait_until(lambda: caps.show()[0].lease is None)
    assert client.ask(set_w=500) is None
    again = Daemon(daemon.folder)  # over the socket that it left
    try:
        assert again.client().ask(take=TAKE)["ok"] is True
        second = subprocess.run(
            [native_folder() / "joulemap", "capd", "--config", again.config, "--socket", again.socket],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (second.returncode, "serves" in second.stderr) == (75, True)
    finally:
        again.end()
    client.end()


def test_a_new_policy_counts_from_sighup_on_and_a_bad_one_never(daemon: Daemon) -> None:
    client = daemon.client(OTHER)
    assert client.ask(take=TAKE)["status"] == "NO_PERMISSION"
    daemon.config.write_text('{"allow": [{"users": [')
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(daemon.lines("reload")) == 1)
    assert daemon.client().ask(take={**TAKE, "for_ns": 10**9})["ok"] is True
    daemon.config.write_text(json.dumps({"allow": [{**POLICY["allow"][0], "users": [OTHER]}]}))
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(daemon.lines("reload")) == 2)
    daemon.clients[-1].end()
    wait_until(lambda: caps.show()[0].lease is None)
    assert client.ask(take=TAKE)["ok"] is True
    assert daemon.client().ask(take=TAKE)["status"] == "NO_PERMISSION"
    assert [line["status"] for line in daemon.lines("reload")] == ["BAD_DATA", "OK"]


def test_programs_of_ordinary_users_ask_it_by_themselves(daemon: Daemon) -> None:
    program = (
        "import os, sys, joulemap, joulemap.caps\n"
        f"os.setgroups([]); os.setgid({ALLOWED}); os.setuid({ALLOWED})\n"
        "with joulemap.caps.lease() as lease:\n"
        "    print([lease.set(400), lease.set(500)])\n"  # the second one waits for its turn
        "    try:\n"
        "        lease.set(650)\n"
        "    except joulemap.Error as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "JOULEMAP_CAPD_SOCKET": str(daemon.socket)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.splitlines()[0] == "[400.0, 500.0]", done.stderr
    assert "from 300 to 600 W" in done.stdout
    (first, *_) = daemon.lines("set")
    assert (first["cap_w"], first["status"]) == (400, "OK")
    assert cap_w() == 700


def first_uuid() -> str:
    (board,) = (board for board in caps.show() if board.index == 0)
    return board.uuid


def test_who_may_no_longer_loses_the_lease_at_once(daemon: Daemon) -> None:
    client, standing = daemon.client(), daemon.client()
    assert client.ask(take=TAKE)["ok"] is True
    assert client.ask(set_w=400)["ok"] is True
    daemon.policy(users=[OTHER])
    wait_until(lambda: cap_w() == 700)
    assert client.ask(set_w=500) is None
    assert [line["status"] for line in daemon.lines("revoke")] == ["OK"]
    daemon.policy()
    assert daemon.client().ask(take={**TAKE, "detached": True})["ok"] is True
    client = daemon.clients[-1]
    wait_until(lambda: client.ask(set_w=400).get("ok") is True)
    daemon.policy(low_w=500)
    wait_until(lambda: client.ask(set_w=400)["status"] == "NO_PERMISSION")  # the bounds count that stand there now
    daemon.policy(users=[OTHER])
    wait_until(lambda: cap_w() == 700)  # one that was to outlive its client, too
    assert standing.process.poll() is None


def test_a_client_that_says_end_ends_what_was_to_outlive_it(daemon: Daemon) -> None:
    client = daemon.client()
    assert client.ask(take={**TAKE, "detached": True, "for_ns": 600 * 10**9})["ok"] is True
    assert client.ask(set_w=450)["ok"] is True
    assert client.ask(end=True) == {"ok": True}
    assert cap_w() == 700
    assert caps.show()[0].lease is None
    # Nor does it end another's, who took the GPU after its time was up.
    assert client.ask(take={**TAKE, "detached": True, "for_ns": 2 * 10**9})["ok"] is True
    wait_until(lambda: client.ask(set_w=450).get("ok") is True)
    wait_until(lambda: cap_w() == 700)
    root = daemon.client(0)
    wait_until(lambda: root.ask(take=TAKE).get("ok") is True)
    wait_until(lambda: root.ask(set_w=300).get("ok") is True)
    client.ask(end=True)
    assert cap_w() == 300


def test_the_shortest_time_is_not_any_time(daemon: Daemon) -> None:
    daemon.policy(longest_s=1e-12)
    client = daemon.client()
    if client.ask(take=TAKE).get("ok"):
        wait_until(lambda: caps.show()[0].lease is None)
        assert client.ask(set_w=400)["status"] == "NOT_FOUND"


def test_groups_are_those_that_the_process_has(daemon: Daemon) -> None:
    daemon.policy(users=[], groups=[54321])
    uuid = first_uuid()
    assert daemon.client(OTHER).ask(may=uuid)["status"] == "NO_PERMISSION"
    assert daemon.client(OTHER, [54320, 54321]).ask(may=uuid)["ok"] is True
    (name, group) = next((user, group) for user, group in memberships() if group != user.pw_gid)
    daemon.policy(users=[], groups=[group])
    assert daemon.client(name.pw_uid).ask(may=uuid)["status"] == "NO_PERMISSION"  # it let go of it


def memberships() -> Iterator[tuple[pwd.struct_passwd, int]]:
    """Users with their groups; root aside."""
    for user in pwd.getpwall():
        if user.pw_uid > 0:
            yield from ((user, group) for group in os.getgrouplist(user.pw_name, user.pw_gid))


def test_the_log_names_the_board_that_was_asked_for(daemon: Daemon) -> None:
    first, second = (board.uuid for board in sorted(caps.show(), key=lambda board: board.index))
    client, root = daemon.client(), daemon.client(0)
    assert client.ask(take=TAKE)["ok"] is True
    assert root.ask(restore=second)["ok"] is True  # the fixture's
    assert client.ask(restore=second)["status"] == "NO_PERMISSION"
    assert daemon.client(OTHER).ask(take=TAKE)["status"] == "NO_PERMISSION"
    assert [line["board"] for line in daemon.lines("reset")] == [second, second]
    assert ["found_w" in line for line in daemon.lines("reset")] == [False, False]
    assert [line["board"] for line in daemon.lines("take")] == [first, first]


def test_a_name_cannot_speak_to_a_terminal(daemon: Daemon) -> None:
    assert daemon.client().ask(take={**TAKE, "who": "a\x1b[2Jb\x9b2Jc\x7fd\n"})["ok"] is True
    lease = caps.show()[0].lease
    assert lease is not None
    assert lease.who == "a\ufffd[2Jb\ufffd2Jc\ufffdd\ufffd"


def test_put_back_counts_as_a_change(daemon: Daemon) -> None:
    client, second = daemon.client(), daemon.client()
    assert client.ask(take=TAKE)["ok"] is True
    assert client.ask(set_w=400)["ok"] is True
    time.sleep(0.9)
    assert client.ask(end=True)["ok"] is True
    assert second.ask(take=TAKE)["ok"] is True
    time.sleep(0.15)
    assert second.ask(set_w=400)["status"] == "BUSY"  # a second after the first change, not after the second


def test_who_waits_for_anothers_helper_is_not_taken_for_silent(daemon: Daemon) -> None:
    daemon.end()
    slow = Daemon(daemon.folder, environment={"JOULEMAP_SIM_FAULTS": "slow:nvmlDeviceSetPowerManagementLimit=6s#0"})
    try:
        waiting, uuid = slow.client(), first_uuid()
        assert waiting.ask(may=uuid)["ok"] is True
        taking = slow.client()
        taking.begin(json.dumps({"take": TAKE}) + "\n")
        wait_until(lambda: caps.show()[0].lease is not None)
        waiting.begin(json.dumps({"may": uuid}) + "\n")
        assert taking.answer()["ok"] is True
        assert waiting.answer()["ok"] is True
    finally:
        slow.end()


def connect_as(users: range, path: Path, each: int) -> list[socket.socket]:
    links = []
    for user in users:
        os.seteuid(user)
        try:
            for _ in range(each):
                links.append(socket.socket(socket.AF_UNIX))
                links[-1].connect(str(path))
        finally:
            os.seteuid(0)
    return links


def test_one_who_has_many_users_numbers_keeps_nobody_else_out(daemon: Daemon) -> None:
    links = connect_as(range(100_000, 100_020), daemon.socket, 20)
    try:
        wait_until(lambda: any("set nothing" in line["why"] for line in daemon.lines("refused")))
        assert daemon.client().ask(take=TAKE)["ok"] is True
    finally:
        for link in links:
            link.close()


def test_a_user_that_asks_for_much_leaves_others_their_turn(daemon: Daemon) -> None:
    daemon.policy(users=[ALLOWED, OTHER])
    assert daemon.client().ask(take=TAKE)["ok"] is True
    links = connect_as(range(ALLOWED, ALLOWED + 1), daemon.socket, 25)
    other = daemon.client(OTHER)
    uuid = first_uuid()
    assert other.ask(may=uuid)["ok"] is True
    for link in links:
        link.sendall((json.dumps({"take": TAKE}) + "\n").encode() * 16)  # a helper each
    wait_until(lambda: sum(line["status"] == "BUSY" for line in daemon.lines("take")) > 0)
    began = len(daemon.lines("take"))
    assert other.ask(may=uuid)["ok"] is True
    assert len(daemon.lines("take")) - began < 20
    for link in links:
        link.close()


def test_who_comes_after_many_others_does_not_wait_for_as_many_helpers(daemon: Daemon) -> None:
    daemon.end()
    slow = Daemon(daemon.folder, environment={"JOULEMAP_SIM_FAULTS": "slow:nvmlDeviceGetCount_v2=50ms"})
    try:
        slow.policy(users=[ALLOWED, OTHER])
        uuid = first_uuid()
        assert slow.client().ask(take=TAKE)["ok"] is True
        links = connect_as(range(ALLOWED, ALLOWED + 1), slow.socket, 25)
        for link in links:
            link.sendall((json.dumps({"take": TAKE}) + "\n").encode() * 24)
        links += connect_as(range(100_000, 100_001), slow.socket, 400)
        began = time.monotonic()
        assert slow.client(OTHER).ask(may=uuid)["ok"] is True
        assert time.monotonic() - began < 10
        for link in links:
            link.close()
    finally:
        slow.end()


def test_no_descriptors_left_is_no_reason_to_spin(daemon: Daemon) -> None:
    soft, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (16, hard))
    links = connect_as(range(1), daemon.socket, 30)
    time.sleep(0.5)
    before_s = processor_s(daemon.process.pid)
    time.sleep(2)
    assert processor_s(daemon.process.pid) - before_s < 0.5
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert daemon.client().ask(take=TAKE)["ok"] is True
    for link in links:
        link.close()


def processor_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_flood_of_refusals_hides_no_failure(daemon: Daemon) -> None:
    client = daemon.client()
    taken = client.ask(take=TAKE)
    assert taken["ok"] is True
    state = json.loads((daemon.folder / "caps" / f"{taken['uuid']}.json").read_text())
    os.kill(state["helper_pid"], signal.SIGKILL)
    done = threading.Event()
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(daemon.socket))

        def flood() -> None:
            while not done.is_set():
                link.sendall(b'{"x": 1}\n')
                link.recv(1 << 16)

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            for _ in range(3):  # one of them is late in its second
                wait_until(lambda: len(daemon.lines("refused")) % 50 == 0)
                time.sleep(0.3)
            assert client.ask(set_w=400)["status"] == "DEVICE_LOST"
        finally:
            done.set()
            thread.join()
    assert [line["status"] for line in daemon.lines("set")] == ["DEVICE_LOST"]


def test_what_was_left_is_put_back_at_the_start_and_logged(daemon: Daemon) -> None:
    client = daemon.client()
    taken = client.ask(take=TAKE)
    assert client.ask(set_w=400)["ok"] is True
    state = json.loads((daemon.folder / "caps" / f"{taken['uuid']}.json").read_text())
    (guard,) = (
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if f"guard\0{daemon.folder / 'caps'}\0{taken['uuid']}".encode() in cmdline(process)
    )
    for process in (guard, state["helper_pid"], daemon.process.pid):  # the helper has no time for another guard
        os.kill(process, signal.SIGSTOP)
    for process in (guard, state["helper_pid"], daemon.process.pid):
        os.kill(process, signal.SIGKILL)
    daemon.process.wait()
    again = Daemon(daemon.folder)
    try:
        assert cap_w() == 700
        (line,) = again.lines("restore")
        assert (line["board"], line["found_w"], line["cap_w"], line["status"]) == (taken["uuid"], 700, 400, "OK")
    finally:
        again.end()


def cmdline(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_daemon_does_not_ask_itself(daemon: Daemon) -> None:
    daemon.end()
    for path in (daemon.folder, daemon.folder / "caps", daemon.log, *daemon.folder.rglob("*")):
        os.chown(path, OTHER, -1)
    own = Daemon(daemon.folder, uid=OTHER, environment={"JOULEMAP_CAPD_SOCKET": str(daemon.folder / "socket")})
    try:
        began = time.monotonic()
        assert own.client().ask(take=TAKE)["ok"] is True
        assert time.monotonic() - began < 20
    finally:
        own.end()


def test_a_reload_while_it_starts_is_none_to_die_of(daemon: Daemon) -> None:
    daemon.end()
    process = subprocess.Popen(
        daemon.command,
        env={**os.environ, "JOULEMAP_SIM_FAULTS": "slow:nvmlDeviceGetCount_v2=2s"},
    )
    time.sleep(1)
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(daemon.lines("reload")) == 1 or process.poll() is not None)
    assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=60) == 0


def test_a_gpu_that_does_not_tell_its_uuid_is_not_served(daemon: Daemon) -> None:
    daemon.end()
    done = subprocess.run(
        [native_folder() / "joulemap", "capd", "--config", daemon.config, "--socket", daemon.socket],
        env={**os.environ, "JOULEMAP_SIM_FAULTS": "missing:nvmlDeviceGetUUID"},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert (done.returncode, "no GPU" in done.stderr) == (69, True), done


GOOD = POLICY["allow"][0]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (json.dumps(POLICY), 0, "1 rule, 1 user, 0 groups, and root"),
        ('{"allow": []}', 0, "root alone"),
        ("{", 65, "line 1"),
        ("[]", 65, 'no list "allow"'),
        ('{"allow": [], "deny": []}', 65, 'what is "deny"?'),
        ('{"allow": [{}]}', 65, "names nobody"),
        (json.dumps({"allow": [{**GOOD, "users": ["no such user"]}]}), 65, 'there is no user "no such user"'),
        (json.dumps({"allow": [{**GOOD, "users": [-1]}]}), 65, "there is no user -1"),
        (json.dumps({"allow": [{**GOOD, "groups": [1.5]}]}), 65, "there is no group 1.5"),
        (json.dumps({"allow": [{**GOOD, "boards": []}]}), 65, '"boards" names none'),
        (json.dumps({"allow": [{**GOOD, "users": "root", "groups": [1]}]}), 65, "are lists"),
        (json.dumps({"allow": [{**GOOD, "groups": "root"}]}), 65, "are lists"),
        (json.dumps({"allow": [GOOD, {**GOOD, "low_w": 700}]}), 65, 'rule 2 of "allow": "low_w"'),
        (json.dumps({"allow": [{**GOOD, "high_w": "600"}]}), 65, '"high_w" are watts'),
        (json.dumps({"allow": [{**GOOD, "longest_s": 0}]}), 65, '"longest_s" is a number of seconds'),
        (json.dumps({"allow": [{**GOOD, "clocks": 1}]}), 65, '"clocks" is true or false'),
        (json.dumps({"allow": [{**GOOD, "low": 1}]}), 65, 'what is "low"?'),
    ],
)
def test_a_policy_is_looked_through(tmp_path: Path, text: str, code: int, words: str) -> None:
    path = tmp_path / "capd.json"
    path.write_text(text)
    done = run_check(path)
    assert (done.returncode, words in done.stdout + done.stderr) == (code, True), done


def run_check(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [native_folder() / "joulemap", "capd", "--check", "--config", path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_policy_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "capd.json"
    assert run_check(path).returncode == 66
    path.write_text(json.dumps(POLICY))
    path.chmod(0o666)
    done = run_check(path)
    assert (done.returncode, "others may write" in done.stderr) == (77, True), done
