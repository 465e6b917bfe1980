// Idle time by its cause.
import * as format from "./format.ts";
import { h, section } from "./dom.ts";
import { placeCell } from "./table.ts";
import { treeOf } from "./tree.ts";
import type { Lines } from "./data.ts";

/** The column of the layer after a gap. */
const LEFT = 6;

/** The gaps inside the row of idle time at the top; null: there is no such row. */
export function gapsOf(lines: Lines): { idle: number; gaps: number[] } | null {
    const tree = treeOf(lines);
    const idle = tree.roots.find((i) => lines.kind[i] === "idle");
    if (idle === undefined) return null;
    return { idle, gaps: tree.children[idle]!.filter((i) => lines.kind[i] === "gap") };
}

function row(lines: Lines, i: number, whole: number | null, places: boolean): HTMLElement {
    const energy = lines.energy_j[i]!;
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", String(Math.max(0, Math.min(1, whole && energy !== null ? energy / whole : 0))));
    return h(
        "tr",
        {},
        h("th", { scope: "row" }, lines.name[i]!),
        h("td", {}, lines.calls[i]! > 0 ? format.count(lines.calls[i]!) : "-"),
        h("td", {}, format.time(lines.busy_s[i]!)),
        h("td", {}, format.energyWithin(energy, lines.low_j[i]!, lines.high_j[i]!)),
        h("td", {}, format.watts(lines.power_w[i]!)),
        h("td", {}, h("span", { class: "share" }, bar, format.share(lines.share[i]!))),
        places ? h("td", { class: "left" }, placeCell(lines.mostly_before[i]!, lines.mostly_share[i]!)) : null,
    );
}

export function idleSection(lines: Lines, waits: string[]): HTMLElement | null {
    const found = gapsOf(lines);
    if (found === null) return null;
    const whole = lines.energy_j[found.idle]!;
    const places = found.gaps.some((i) => lines.mostly_before[i] !== null);
    const titles = ["cause", "gaps", "time", "energy", "power", "share", ...(places ? ["mostly before"] : [])];
    return section(
        "idle",
        "Idle by cause",
        h(
            "div",
            { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of idle time" },
            h(
                "table",
                {},
                h("caption", {}, "Time without a kernel, by its cause"),
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        ...titles.map((title, i) =>
                            h("th", { scope: "col", class: i === 0 || i === LEFT ? "left" : null }, title),
                        ),
                    ),
                ),
                h(
                    "tbody",
                    {},
                    ...found.gaps.map((i) => row(lines, i, whole, places)),
                    row(lines, found.idle, whole, places),
                ),
            ),
        ),
        ...waits.map((sentence) => h("p", {}, sentence)),
    );
}
