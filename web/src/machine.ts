// The machine of the run, and the quality of its data.
import * as format from "./format.ts";
import { h, name, section } from "./dom.ts";
import type { Known, Run } from "./data.ts";

function pairs(items: readonly (readonly [string, string | null])[]): HTMLElement {
    return h(
        "dl",
        { class: "facts" },
        ...items.flatMap(([title, text]) => [
            h("dt", {}, title),
            h("dd", {}, text === null || text === "" ? "not known" : name(text)),
        ]),
    );
}

function real(value: unknown, show: (value: number) => string): string {
    return typeof value === "number" ? show(value) : "not known";
}

function boards(run: Run): HTMLElement {
    const titles = ["GPU", "UUID", "PCI", "driver", "limit", "energy", "gain of its sensor"];
    return h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of GPUs" },
        h(
            "table",
            {},
            h("caption", {}, "GPUs"),
            h(
                "thead",
                {},
                h(
                    "tr",
                    {},
                    ...titles.map((title, i) => h("th", { scope: "col", class: i < 4 ? "left" : null }, title)),
                ),
            ),
            h(
                "tbody",
                {},
                ...run.machine.boards.map((board) =>
                    h(
                        "tr",
                        {},
                        h(
                            "th",
                            { scope: "row" },
                            `${board.index}: ${board.name}${board.simulated ? " (simulated)" : ""}`,
                        ),
                        h("td", { class: "left" }, board.uuid || "-"),
                        h("td", { class: "left" }, board.pci || "-"),
                        h("td", { class: "left" }, board.driver || "-"),
                        h("td", {}, format.watts(board.power_limit_w)),
                        h("td", {}, format.energy(board.energy_j)),
                        h(
                            "td",
                            {},
                            board.gain_u === null ? "not known" : `±${(100 * board.gain_u).toFixed(1)} % (standard)`,
                        ),
                    ),
                ),
            ),
        ),
    );
}

export function machineSection(run: Run): HTMLElement {
    const { summary, machine } = run;
    const q = summary.quality;
    const quality: [string, string | null][] = [
        ["sensors", q.sensors.join("; ")],
        ["readings", real(q["readings"], format.count)],
        ["residual", real(q["residual_w"], (w) => `${w.toFixed(1)} W (root mean square)`)],
        ["chi2/n", real(q["chi2_n"], (x) => `${x.toPrecision(3)} (1 is ideal)`)],
        [
            "closure",
            real(
                summary["closure"],
                (x) =>
                    `the fit by itself comes to ${(100 * Math.abs(x)).toFixed(2)} % ${x < 0 ? "less" : "more"} than the total`,
            ),
        ],
        ["gaps", real(q["gaps"], (n) => `${format.count(n)}, ${real(q["gap_s"], format.time)}`)],
        ["lost records", real(q["lost_records"], format.count)],
        ["throttled", real(q["throttled_share"], (x) => `${format.share(x)} of the time`)],
        ["clock", real(q["clock_mhz"], format.megahertz)],
        ["temperature", real(q["temperature_c"], (t) => `${t.toFixed(0)} °C`)],
        ["power limit", real(q["power_limit_w"], format.watts)],
        ["cost of sampling", real(summary.overhead["cpu_s"], (s: number) => `${format.time(s as Known)} of CPU`)],
    ];
    return section(
        "run",
        "Run and quality",
        pairs([
            ["started", machine.start_unix_s === null ? null : format.moment(machine.start_unix_s)],
            ...machine.facts,
        ]),
        boards(run),
        h("h3", {}, "Quality"),
        pairs(quality),
        h("h3", {}, "Notes"),
        q.notes.length === 0
            ? h("p", {}, "None.")
            : h("ul", { class: "notes" }, ...q.notes.map((note) => h("li", {}, note))),
    );
}
